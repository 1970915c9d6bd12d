"""One opened graph of a server for many calls: a handle for each, which share only connections."""

from __future__ import annotations

from omnigraph.sdk.remote.graph import RemoteGraph


def share_remote(
    graph: RemoteGraph, idempotency_key: str | None = None, branch: str | None = None
) -> RemoteGraph:
    """Return a handle of its own for one call, on the same branch or another, as it is now.

    The commit that the handle makes carries the key.
    """
    on = graph.branch if branch is None else branch
    return RemoteGraph(graph.uri, on, transport=graph._transport.fork(idempotency_key))


def ask_actions(graph: RemoteGraph) -> frozenset[str]:
    """Return what the caller may do on at least some branches of a served graph."""
    return frozenset(graph._transport.ask("", branch=graph.branch)["actions"])
