"""The file that names webhooks, checked: who is told what, and which hosts may be called at all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from omnigraph.base.errors import BadInput
from omnigraph.yaml_text import read_yaml

_NAME = re.compile(r"[a-zA-Z0-9-]{1,64}")
_MIN_SECRET_LETTERS = 16
_FILE = {"version", "allow", "webhooks"}
_HOOK = {"name", "url", "secret_env", "secret_file", "events", "graphs", "branches"}
_ALLOWED = {"host", "private", "insecure"}
_PORTS = {"http": 80, "https": 443}
EVENT_KINDS = ("proposal", "commit")
"""How the names of events begin."""


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """A host that may be called."""

    host: str
    private: bool = False
    """Whether it may lie in a private network, or on this machine."""
    insecure: bool = False
    """Whether it may be called without TLS."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where some events are sent."""

    name: str
    url: str
    secret: bytes
    allowed: AllowedHost
    events: tuple[str, ...] = ("proposal.*",)
    graphs: tuple[str, ...] = ("*",)
    branches: tuple[str, ...] = ("main",)
    """Whose commits are sent."""

    @property
    def host(self) -> str:
        """The name of the host."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port."""
        parts = urlsplit(self.url)
        return parts.port or _PORTS[parts.scheme]

    def wants_graph(self, graph: str) -> bool:
        """Return whether events of a graph are sent."""
        return any(fnmatchcase(graph, pattern) for pattern in self.graphs)

    @property
    def follows(self) -> frozenset[str]:
        """What must be looked at for the events that are wanted: proposals, commits."""
        return frozenset(kind for kind in EVENT_KINDS if any(_may_match(item, kind) for item in self.events))

    def wants_branch(self, branch: str) -> bool:
        """Return whether commits of a branch are sent."""
        return any(fnmatchcase(branch, pattern) for pattern in self.branches)

    def wants(self, event: str) -> bool:
        """Return whether events of a kind are sent."""
        return any(fnmatchcase(event, pattern) for pattern in self.events)


def read_webhooks(path: Path) -> tuple[Webhook, ...]:
    """Return the webhooks of a file, or say what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the webhooks {path} cannot be read: {error}", path=str(path)) from error
    document = read_yaml(text, str(path)).value
    _check_members(document, _FILE, f"{path}")
    if document.get("version") != 1:
        raise BadInput(f"{path}: version is {document.get('version')!r}: it must be 1")
    allowed = {item.host: item for item in map(_read_allowed, _list(document, "allow", str(path)))}
    hooks = tuple(_read_hook(item, allowed) for item in _list(document, "webhooks", str(path)))
    names = [hook.name for hook in hooks]
    if len(set(names)) < len(names):
        raise BadInput(f"{path}: two webhooks have one name")
    return hooks


def _read_allowed(item: Any) -> AllowedHost:
    if isinstance(item, str):
        item = {"host": item}
    _check_members(item, _ALLOWED, "allow")
    host = item.get("host")
    if not isinstance(host, str) or not host or "*" in host or "/" in host:
        raise BadInput(f"allow has the host {host!r}: give the name of one host, such as hooks.example.com")
    return AllowedHost(host.lower(), item.get("private") is True, item.get("insecure") is True)


def _read_hook(item: Any, allowed: Mapping[str, AllowedHost]) -> Webhook:
    _check_members(item, _HOOK, "webhooks")
    name, url = item.get("name"), item.get("url")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadInput(f"a webhook is called {name!r}: use 1 to 64 of the letters a-z, A-Z, 0-9 and -")
    where = f"webhook {name!r}"
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in _PORTS or not parts.hostname or parts.username or parts.fragment:
        raise BadInput(f"{where}: url is {url!r}: give https://HOST/PATH, without a user")
    host = allowed.get(parts.hostname.lower())
    if host is None:
        raise BadInput(f"{where}: the host {parts.hostname!r} is not among those of `allow`")
    if parts.scheme == "http" and not host.insecure:
        raise BadInput(f"{where}: http is not encrypted: use https, or say `insecure: true` in `allow`")
    events = _patterns(item, "events", ("proposal.*",), where)
    for pattern in events:
        if not any(_may_match(pattern, kind) for kind in EVENT_KINDS):
            raise BadInput(f"{where}: no event is called {pattern!r}: they begin with proposal. or commit.")
    return Webhook(
        name,
        str(url),
        _read_secret(item, where),
        host,
        events,
        _patterns(item, "graphs", ("*",), where),
        _patterns(item, "branches", ("main",), where),
    )


def _read_secret(item: Mapping[str, Any], where: str) -> bytes:
    env, file = item.get("secret_env"), item.get("secret_file")
    if (env is None) == (file is None):
        raise BadInput(f"{where}: say where its secret is: secret_env or secret_file")
    try:
        found = os.environ.get(str(env), "") if file is None else Path(str(file)).read_text().strip()
    except OSError as error:
        raise BadInput(f"{where}: its secret cannot be read: {error}") from error
    if len(found) < _MIN_SECRET_LETTERS:
        raise BadInput(
            f"{where}: its secret has fewer than {_MIN_SECRET_LETTERS} characters, or is not there"
        )
    return found.encode()


def _patterns(item: Mapping[str, Any], name: str, default: tuple[str, ...], where: str) -> tuple[str, ...]:
    given = item.get(name, list(default))
    if not isinstance(given, list) or not given or not all(isinstance(text, str) for text in given):
        raise BadInput(f"{where}: {name} is {given!r}: give a list of names; * stands for anything")
    return tuple(given)


def _list(data: Mapping[str, Any], name: str, where: str) -> list[Any]:
    given = data.get(name, [])
    if not isinstance(given, list):
        raise BadInput(f"{where}: {name} must be a list")
    return given


def _may_match(pattern: str, kind: str) -> bool:
    """Return whether a pattern may be that of an event of a kind, as far as its beginning tells."""
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return fixed.startswith(f"{kind}.") or (fixed != pattern and f"{kind}.".startswith(fixed))


def _check_members(data: Any, known: set[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise BadInput(f"{where}: it must be a mapping")
    unknown = sorted(set(data) - known)
    if unknown:
        raise BadInput(f"{where}: {unknown[0]!r} is not known: use {', '.join(sorted(known))}")
