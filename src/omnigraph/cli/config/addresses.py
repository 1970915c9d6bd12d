"""Which graph a command is about, from what was typed, the environment and the configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

import typer

from omnigraph.base.errors import NotFound
from omnigraph.cli.config.clusters import list_cluster_graphs, root_of_graph
from omnigraph.cli.config.configuration import Configuration, GraphPlace
from omnigraph.cli.config.credentials import find_token
from omnigraph.cli.config.flags import AddressFlags

PROFILE_VARIABLE = "OMNIGRAPH_PROFILE"
_WEB = ("http://", "https://")
_GRAPHS = "/graphs/"


@dataclass(frozen=True, slots=True)
class GraphAddress:
    """The graph that a command is about: where it is stored, or where it is served."""

    uri: str
    token: str | None = field(default=None, repr=False)

    @property
    def is_served(self) -> bool:
        """Whether a server has it."""
        return is_web(self.uri)

    @property
    def is_local(self) -> bool:
        """Whether it is stored on this machine's disks: by a bare path, or file://."""
        return "://" not in self.uri or self.uri.startswith("file://")


def is_web(address: str) -> bool:
    """Return whether an address is a server's."""
    return address.lower().startswith(_WEB)


def choose_place(scope: AddressFlags, configuration: Callable[[], Configuration]) -> GraphPlace | None:
    """Return where graphs are looked for: what was typed, a profile, the environment's profile, the defaults.

    Nothing says where: None. The configuration is read only when it is needed.
    """
    typed = [name for name in ("store", "server", "cluster") if getattr(scope, name) is not None]
    if len(typed) > 1:
        raise typer.BadParameter(f"give the address once: not --{typed[0]} and --{typed[1]}")
    if scope.store is not None:
        return GraphPlace(store=scope.store)
    known = configuration()
    if typed:
        return _with_default_graph(GraphPlace(server=scope.server, cluster=scope.cluster), known)
    profile = scope.profile or os.environ.get(PROFILE_VARIABLE)
    if profile:
        return known.profile(profile)
    found = known.defaults
    return found if found.server or found.store else None


def choose_target(scope: AddressFlags, configuration: Callable[[], Configuration]) -> GraphAddress:
    """Return the graph that a command is about, or say what is missing."""
    place = choose_place(scope, configuration)
    if place is None:
        raise typer.BadParameter(
            "which graph? Give --store with a path, file:// or s3://, --server, --cluster or --profile"
        )
    if place.store is not None:
        if scope.graph is not None:
            raise typer.BadParameter("--graph is for a server or a cluster: a store is one graph")
        if is_web(place.store):
            raise typer.BadParameter(f"{place.store} is a server: give it as --server")
        return GraphAddress(place.store)
    graph = scope.graph or place.default_graph
    if place.cluster is not None:
        root = configuration().cluster_root(place.cluster)
        graph = graph or _only_one(list_cluster_graphs(root), f"the cluster at {root}")
        return GraphAddress(root_of_graph(root, graph))
    assert place.server is not None
    return _served_target(place.server, graph, scope.graph is not None, configuration())


def server_address(server: str, known: Configuration) -> str:
    """Return the address of a server, given by its name or as an address."""
    if is_web(server):
        return server.rstrip("/")
    if server not in known.servers:
        names = ", ".join(sorted(known.servers)) or "none"
        raise NotFound(f"there is no server {server!r} in the configuration: servers are {names}")
    return known.servers[server].rstrip("/")


def list_served(server: str, known: Configuration) -> list[str]:
    """Return the names of the graphs that a server has."""
    from omnigraph.sdk.remote.requests.transport import Transport

    address = server_address(server, known).partition(_GRAPHS)[0]
    transport = Transport(address, find_token(address, known.servers))
    try:
        return [_name_of(item) for item in transport.ask("/graphs")["graphs"]]
    finally:
        transport.close()


def _served_target(server: str, graph: str | None, was_typed: bool, known: Configuration) -> GraphAddress:
    address = server_address(server, known)
    root, found, rest = address.partition(_GRAPHS)
    if found:
        named = unquote(rest)
        if was_typed and graph != named:
            raise typer.BadParameter(f"{address} is the graph {named!r}, and --graph says {graph!r}")
        return GraphAddress(address, find_token(address, known.servers))
    graph = graph or _only_one(list_served(server, known), f"the server at {root}")
    address = f"{root}{_GRAPHS}{quote(graph, safe='')}"
    return GraphAddress(address, find_token(address, known.servers))


def _only_one(graphs: list[str], where: str) -> str:
    if len(graphs) == 1:
        return graphs[0]
    if not graphs:
        raise NotFound(f"{where} has no graph")
    raise typer.BadParameter(f"which graph? {where} has {', '.join(graphs)}: give --graph")


def _with_default_graph(place: GraphPlace, known: Configuration) -> GraphPlace:
    """Return a place with the default graph, where that is a graph of the same server."""
    of = known.defaults
    is_same = place.server is not None and place.server == of.server
    return replace(place, default_graph=of.default_graph) if is_same else place


def _name_of(item: str | Mapping[str, str]) -> str:
    return item if isinstance(item, str) else item["name"]
