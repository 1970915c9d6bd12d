"""`config.yaml`: who is working, which servers and clusters there are, profiles, defaults and aliases."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from omnigraph.base.errors import NotFound
from omnigraph.cli.config.document import Entry, read_document
from omnigraph.cli.config.home import find_home

FILE_NAME = "config.yaml"
RESULT_FORMATS = ("table", "kv", "csv", "jsonl", "json")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLACES = ("server", "cluster", "store")
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class GraphPlace:
    """Where graphs are: a server, a cluster or a store; and which graph unless one is named."""

    server: str | None = None
    cluster: str | None = None
    store: str | None = None
    default_graph: str | None = None


@dataclass(frozen=True)
class Alias:
    """A stored query of a server, under a name of the user's, with some of its parameters."""

    name: str
    server: str
    query: str
    graph: str | None = None
    args: tuple[str, ...] = ()
    """The parameters that words after the name stand for, in order."""
    params: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None


@dataclass(frozen=True)
class Configuration:
    """What the file says; a file that is not there says nothing."""

    actor: str | None = None
    servers: Mapping[str, str] = field(default_factory=dict)
    """Addresses of servers by name."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, GraphPlace] = field(default_factory=dict)
    defaults: GraphPlace = GraphPlace()
    output: str | None = None
    table_width: int | None = None
    table_overflow: str = "wrap"
    aliases: Mapping[str, Alias] = field(default_factory=dict)

    def profile(self, name: str) -> GraphPlace:
        """Return a profile."""
        return _find(self.profiles, name, "profile", "profiles")

    def alias(self, name: str) -> Alias:
        """Return an alias."""
        return _find(self.aliases, name, "alias", "aliases")

    def cluster_root(self, name: str) -> str:
        """Return where a cluster is: under its name here, or the address itself."""
        return self.clusters.get(name, name)


def read_configuration(warn: Callable[[str], None]) -> Configuration:
    """Read the user's file: `warn` is told what has no meaning, a mistake is an error with its line."""
    document = read_document(find_home() / FILE_NAME, warn)
    if document is None:
        return Configuration()
    top = document.known("operator", "servers", "clusters", "profiles", "defaults", "aliases")
    empty: dict[str, Entry] = {}
    actor = top["operator"].known("actor").get("actor") if "operator" in top else None
    servers = top["servers"].each(_read_server) if "servers" in top else {}
    clusters = top["clusters"].each(_read_cluster) if "clusters" in top else {}
    given = (
        top["defaults"].known("output", "server", "store", "default_graph", "table_width", "table_overflow")
        if "defaults" in top
        else empty
    )
    if "server" in given and "store" in given:
        raise given["store"].refuse("cannot be beside defaults.server: give one of them")
    defaults = GraphPlace(
        **{name: given[name].text() for name in ("server", "store", "default_graph") if name in given}
    )
    return Configuration(
        actor=None if actor is None else actor.text(),
        servers=servers,
        clusters=clusters,
        profiles=top["profiles"].each(_read_profile) if "profiles" in top else {},
        defaults=defaults,
        output=given["output"].one_of(*RESULT_FORMATS) if "output" in given else None,
        table_width=given["table_width"].count(20) if "table_width" in given else None,
        table_overflow=given["table_overflow"].one_of("wrap", "truncate")
        if "table_overflow" in given
        else "wrap",
        aliases=top["aliases"].each(_read_alias) if "aliases" in top else {},
    )


def _read_server(name: str, entry: Entry) -> str:
    _check_name(name, entry)
    members = entry.known("url")
    if "url" not in members:
        raise entry.refuse("has no url")
    url = members["url"].text()
    if not url.startswith(("http://", "https://")):
        raise members["url"].refuse(f"is {url!r}: it must begin with http:// or https://")
    return url


def _read_cluster(name: str, entry: Entry) -> str:
    _check_name(name, entry)
    members = entry.known("root")
    if "root" not in members:
        raise entry.refuse("has no root")
    return members["root"].text()


def _read_profile(name: str, entry: Entry) -> GraphPlace:
    _check_name(name, entry)
    members = entry.known(*_PLACES, "default_graph")
    if len(members.keys() & set(_PLACES)) != 1:
        raise entry.refuse(f"must have exactly one of {', '.join(_PLACES)}")
    if "store" in members and "default_graph" in members:
        raise members["default_graph"].refuse("has no meaning beside store, which is one graph")
    return GraphPlace(**{key: value.text() for key, value in members.items()})


def _read_alias(name: str, entry: Entry) -> Alias:
    _check_name(name, entry)
    members = entry.known("server", "graph", "query", "args", "params", "format")
    for needed in ("server", "query"):
        if needed not in members:
            raise entry.refuse(f"has no {needed}")
    params: Any = {}
    if "params" in members:
        members["params"].members()  # says what is wrong
        params = members["params"].value()
    args = tuple(item.text() for item in members["args"].items()) if "args" in members else ()
    if len(set(args)) != len(args):
        raise members["args"].refuse("has a name twice")
    return Alias(
        name,
        members["server"].text(),
        members["query"].text(),
        members["graph"].text() if "graph" in members else None,
        args,
        params,
        members["format"].one_of(*RESULT_FORMATS) if "format" in members else None,
    )


def is_name(name: str) -> bool:
    """Return whether something can be called so."""
    return _NAME.fullmatch(name) is not None


def _check_name(name: str, entry: Entry) -> None:
    if not is_name(name):
        raise entry.refuse("has a name that cannot be used: letters, digits, '.', '_' and '-'")


def _find(among: Mapping[str, _Kind], name: str, kind: str, plural: str) -> _Kind:
    found = among.get(name)
    if found is None:
        known = ", ".join(sorted(among)) or "none"
        raise NotFound(f"there is no {kind} {name!r} in {find_home() / FILE_NAME}: {plural} are {known}")
    return found
