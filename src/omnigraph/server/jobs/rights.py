"""Who may begin a job, and who may know of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.policy.gate import Gate
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.managed import refuse_managed_graph
from omnigraph.server.jobs.record import Job

_CARE = ("optimize", "cleanup", "repair", "backup")


def check_begin(graph: Graph, kind: str, asked: Mapping[str, Any]) -> None:
    """Raise `PolicyDenied` when a job would be denied: its body is not read, and nobody waits for the end."""
    branch = graph._own(asked.get("branch"))
    if kind in _CARE:
        graph._allow("admin")
    elif kind == "schema":
        graph._allow("schema_apply", target=branch)
        refuse_managed_graph(graph, "the schema")
    elif kind == "merge":
        graph.branches._allow_merge(
            graph._own(asked["source"]), graph._own(asked["target"]), asked.get("dry_run", False)
        )
    elif kind == "export":
        if asked.get("snapshot") is None:
            graph._allow("export", branch)
    else:
        graph._allow("change", branch)


def may_see(gate: Gate | None, actor: str | None, job: Job) -> bool:
    """Return whether an actor may know of a job: its own, and all for who cares for the graph."""
    return gate is None or job.actor == actor or gate.allows(actor, "admin")
