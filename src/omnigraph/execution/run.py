"""From the text of an operation to its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.base import clock
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import ReadQuery, WriteQuery
from omnigraph.compiler.lower.bind import bind_read, bind_write
from omnigraph.compiler.values.params import decode_params
from omnigraph.execution.compiled import compiled
from omnigraph.execution.embedding import embed_query, embed_writes
from omnigraph.execution.local.run import run_read
from omnigraph.execution.local.views import Memory, Views
from omnigraph.execution.mutate import Mutation, MutationWork
from omnigraph.execution.result import Result
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot


def run_query(
    memory: Memory,
    row_limit: int,
    snapshot: Snapshot,
    text: str,
    params: Mapping[str, Any] | None,
    name: str | None = None,
) -> Result:
    """Compile, bind and run a read on one snapshot."""
    query = compiled(text, snapshot.catalog, name, "read")
    assert isinstance(query, ReadQuery)
    declared = [(item.name, item.type) for item in query.parameters]
    now = clock.current().now_us() // 1000
    bound = embed_query(bind_read(query, decode_params(params, declared), now), snapshot.embedder)
    rows = run_read(bound, Views(snapshot, memory), row_limit)
    shown = [place for place, item in enumerate(bound.projections) if not item.shadowed]
    return Result(bound.columns, [tuple(row[place] for place in shown) for row in rows], snapshot.commit_id)


def run_mutation(
    graph: Graph,
    text: str,
    params: Mapping[str, Any] | None,
    *,
    name: str | None = None,
    branch: str | None = None,
    if_commit: str | None = None,
    message: str | None = None,
) -> Mutation:
    """Compile, bind and commit a mutation. The moment of `now()` is that of the request, kept by retries."""
    now = clock.current().now_us() // 1000

    def bound(catalog: Catalog) -> WriteQuery:
        query = compiled(text, catalog, name, "mutation")
        assert isinstance(query, WriteQuery)
        given = decode_params(params, [(item.name, item.type) for item in query.parameters])
        return embed_writes(bind_write(query, given, now), catalog, graph.embedder)

    work = MutationWork(graph.catalog_at, bound, graph.settings.mutation_rows)
    record = graph.commit_work(work, branch=branch, message=message, if_commit=if_commit)
    return Mutation(record.commit if record else None, work.affected_nodes, work.affected_edges)
