"""One opened graph for many callers: a handle for each, with nothing in common but what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.policy.actions import ACTIONS, ON_SERVER
from omnigraph.sdk.graph import Graph

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate


def share_graph(
    graph: Graph,
    actor: str | None,
    branch: str | None = None,
    incarnation: str | None = None,
    *,
    if_commit: str | None = None,
    idempotency_key: str | None = None,
    policy: Gate | None = None,
) -> Graph:
    """Return a handle of an opened graph for another actor, and perhaps another branch.

    With `incarnation` it is a branch that its user has seen; one made again under the name is another.
    A handle for one write carries its terms: the commit that must still be the head, and its key. The policy
    is that of the graph, unless another is given.
    """
    on = graph.branch if branch is None else branch
    other = Graph(
        graph.internals.whole, on, graph.read_only, actor, policy=graph.policy if policy is None else policy
    )
    other.__dict__["reader"] = graph.reader
    other.internals.caches = graph.internals.caches
    other.declared_queries, other.blob_sources = graph.declared_queries, graph.blob_sources
    other.internals.incarnation = incarnation
    other.internals.if_commit, other.internals.idempotency_key = if_commit, idempotency_key
    return other


def list_actions(graph: Graph) -> frozenset[str]:
    """Return what the actor of a handle may do on at least some branches."""
    return ACTIONS - ON_SERVER if graph.policy is None else graph.policy.list_actions(graph.actor)


def list_rights(graph: Graph) -> dict[str | None, dict[str, frozenset[str]]]:
    """Return what the actor of a handle may do, by branch; who administers a graph is told of all actors."""
    gate, branches = graph.policy, graph.branches.list()
    if gate is None:
        return {graph.actor: dict.fromkeys(branches, ACTIONS - ON_SERVER)}
    is_told_all = gate.allows(graph.actor, "admin")
    others = sorted(set(gate.bundle.members) - {graph.actor}) if is_told_all else []
    return {
        actor: {branch: gate.list_actions_on(actor, branch) for branch in branches}
        for actor in (graph.actor, *others)
    }
