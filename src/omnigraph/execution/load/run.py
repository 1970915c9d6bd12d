"""`run_load`: from a source to a commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.execution.load.sources import open_source
from omnigraph.execution.load.work import LoadWork, Mode
from omnigraph.graph.handle import Graph


@dataclass(frozen=True, slots=True)
class Load:
    """What a load did: records by type, how many were rejected, and how it ran."""

    commit_id: str | None
    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    engine: str = "local"
    seconds: float = 0.0


def run_load(
    graph: Graph,
    source: Any,
    *,
    mode: str,
    branch: str | None = None,
    from_branch: str | None = None,
    message: str | None = None,
) -> Load:
    """Load the records of a source as one commit, or nothing at all."""
    if mode not in get_args(Mode):
        raise BadInput(f"{mode!r} is not a load mode: use append, merge or overwrite", mode=mode)
    started = clock.current().monotonic()
    if branch is not None and from_branch is not None and branch not in graph.branches.list():
        graph.branches.create(branch, from_branch)
    work = LoadWork(open_source(source), mode, graph.catalog_at)  # type: ignore[arg-type]
    record = graph.commit_work(work, branch=branch, message=message, durable=True)
    return Load(
        record.commit if record else None,
        work.nodes,
        work.edges,
        seconds=clock.current().monotonic() - started,
    )
