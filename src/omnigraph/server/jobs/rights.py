"""Who may begin a job, and who may know of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.policy.gate import Gate
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.managed import refuse_managed_graph
from omnigraph.server.jobs.record import Job

Asked = Mapping[str, Any]
CheckRight = Callable[[Graph, Asked], None]
"""Raises `PolicyDenied` when a job would be denied: its body is not read, and nobody waits for the end."""


def check_admin(graph: Graph, asked: Asked) -> None:
    """Check the right to maintain the graph, and that a branch is named as one can be."""
    graph.internals.resolve_branch(asked.get("branch"))
    graph.internals.check_allowed("admin")


def check_change(graph: Graph, asked: Asked) -> None:
    """Check the right to change data of a branch."""
    graph.internals.check_allowed("change", graph.internals.resolve_branch(asked.get("branch")))


def check_export(graph: Graph, asked: Asked) -> None:
    """Check the right to export a branch; of a snapshot it is checked when the job finds it."""
    branch = graph.internals.resolve_branch(asked.get("branch"))
    if asked.get("snapshot") is None:
        graph.internals.check_allowed("export", branch)


def check_merge(graph: Graph, asked: Asked) -> None:
    """Check the right to merge a branch into another."""
    source, target = (
        graph.internals.resolve_branch(asked["source"]),
        graph.internals.resolve_branch(asked["target"]),
    )
    graph.internals.check_merge(source, target, asked.get("dry_run", False))


def check_schema(graph: Graph, asked: Asked) -> None:
    """Check the right to change the schema, which only its cluster changes of a graph that one manages."""
    graph.internals.check_allowed("schema_apply", target=graph.internals.resolve_branch(asked.get("branch")))
    refuse_managed_graph(graph, "the schema")


def sight_of_jobs(gate: Gate | None, graph: Graph) -> Callable[[Job], bool]:
    """Return what tells of which jobs the actor of a handle may know: of its own, or of all.

    Of all may know who cares for the graph and sees all of it: what came of a job tells of data.
    """
    cares = gate is None or (gate.allows(graph.actor, "admin") and graph.internals.sees_all_branches())
    return lambda job: cares or job.actor == graph.actor
