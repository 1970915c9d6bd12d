"""One opened graph for many callers: a handle for each, with nothing in common but what was read."""

from __future__ import annotations

from omnigraph.sdk.graph import Graph


def share_graph(
    graph: Graph,
    actor: str | None,
    branch: str | None = None,
    incarnation: str | None = None,
    *,
    if_commit: str | None = None,
    idempotency_key: str | None = None,
) -> Graph:
    """Return a handle of an opened graph for another actor, and perhaps another branch.

    With `incarnation` it is a branch that its user has seen; one made again under the name is another.
    A handle for one write carries its terms: the commit that must still be the head, and its key.
    """
    other = Graph(graph._core, graph.branch if branch is None else branch, graph.read_only, actor)
    other.__dict__["_reader"] = graph._reader
    other._caches = graph._caches
    other._incarnation = incarnation
    other._if_commit, other._key = if_commit, idempotency_key
    return other
