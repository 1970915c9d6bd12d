"""Where calls get their graph: a handle for each call, with the caller's actor, branch and idempotency key.

Nothing of a handle outlives its call, so that no call sees the branch, the actor or the key of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from omnigraph.sdk.graph import Graph
from omnigraph.sdk.remote.graph import RemoteGraph
from omnigraph.sdk.remote.sharing import ask_actions, share_remote
from omnigraph.sdk.sharing import list_actions, share_graph


class CallSource(Protocol):
    """Opens a graph for one call."""

    def open(self, key: str | None = None, branch: str | None = None) -> Any:
        """Return a handle of its own; the commit that it makes, if any, carries the idempotency key.

        It is on the default branch, unless another is named.
        """

    def actions(self) -> frozenset[str]:
        """Return what the caller may do on at least some branches."""


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Who calls tools: the graph as they may see it, and whether they may only read."""

    source: CallSource
    actor: str | None = None
    read_only: bool = False
    noted: Mapping[str, str] = field(default_factory=dict)
    """Metadata of every commit that is made for this caller, unless a call says otherwise."""


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A graph that was opened once in this process, for one actor."""

    graph: Graph

    def open(self, key: str | None = None, branch: str | None = None) -> Graph:
        """Return a handle of the same actor, and of the same branch unless another is named."""
        return share_graph(self.graph, self.graph.actor, branch, idempotency_key=key)

    def actions(self) -> frozenset[str]:
        """Return what the actor may do."""
        return list_actions(self.graph)


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """A graph that a server has; the token of the handle says who calls."""

    graph: RemoteGraph

    def open(self, key: str | None = None, branch: str | None = None) -> RemoteGraph:
        """Return a handle on the same branch, or the one that is named, as it is now."""
        return share_remote(self.graph, key, branch)

    def actions(self) -> frozenset[str]:
        """Return what the server lets the actor do."""
        return ask_actions(self.graph)


@dataclass(frozen=True, slots=True)
class RequestSource:
    """A graph of the server that serves a request."""

    handle: Callable[[str | None, str | None], Graph]
    """Opens it with an idempotency key, and on a branch, for the request's actor."""
    read_only: bool = False

    def open(self, key: str | None = None, branch: str | None = None) -> Graph:
        """Return a handle of the request's actor."""
        graph = self.handle(key, branch)
        graph.read_only = graph.read_only or self.read_only
        return graph

    def actions(self) -> frozenset[str]:
        """Return what the request's actor may do."""
        return list_actions(self.open())


def source_of(graph: Any) -> CallSource:
    """Return where calls get a graph that was opened, in process or on a server."""
    return RemoteSource(graph) if isinstance(graph, RemoteGraph) else StoredGraph(graph)
