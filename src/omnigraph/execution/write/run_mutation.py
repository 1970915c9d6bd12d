"""From the text of a mutation to its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import ReadQuery, WriteQuery
from omnigraph.compiler.lower.bind import bind_write
from omnigraph.compiler.values.params import decode_params
from omnigraph.execution.embed.query_texts import embed_writes
from omnigraph.execution.embed.row_vectors import RowVectors
from omnigraph.execution.query_cache import compile_cached
from omnigraph.execution.read import Reader
from omnigraph.execution.write.assigned_values import compute_given
from omnigraph.execution.write.mutate import Mutation, MutationWork
from omnigraph.execution.write.unseen_properties import fill_unseen_properties
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.truth import BranchState


def run_mutation(
    graph: Graph,
    text: str,
    params: Mapping[str, Any] | None,
    *,
    name: str | None = None,
    branch: str | None = None,
    if_commit: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
    metadata: Mapping[str, str] | None = None,
    retry: int = 0,
    reader: Reader | None = None,
) -> Mutation:
    """Compile, bind and commit a mutation. `now()` is the time of the request, also in retries."""
    graph.internals.check_allowed("change", graph.internals.resolve_branch(branch))
    if not isinstance(retry, int) or isinstance(retry, bool) or retry < 0:
        raise BadInput(f"retry is {retry!r}: it must be a whole number of at least 0")
    now = clock.current().now_us() // 1000

    def bind(whole: Catalog) -> WriteQuery:
        catalog = graph.internals.show_catalog(whole, branch)
        query = compile_cached(text, catalog, name, "mutation")
        assert isinstance(query, WriteQuery)
        given = decode_params(params, [(item.name, item.type) for item in query.parameters])
        bound = compute_given(bind_write(query, given, now))
        return embed_writes(
            fill_unseen_properties(bound, catalog, whole), whole, graph.embedder, vectors.warnings
        )

    def solve(state: BranchState, match: ReadQuery) -> Sequence[pa.Array]:
        reads = reader if reader is not None else Reader(graph.settings)
        return reads.solve(graph.snapshot_of(state), match)

    vectors = RowVectors(graph.embedder)
    rows = graph.settings.mutation_rows
    work = MutationWork(graph.catalog_at, bind, rows, vectors, solve, retry, graph.snapshot_of)
    published = graph.commit_work(
        work,
        branch=branch,
        message=message,
        if_commit=if_commit,
        idempotency_key=idempotency_key,
        metadata=metadata,
    )
    answer = dict(published.answer if published is not None and published.answer else work.answer())
    warnings = tuple(answer.pop("warnings", ()))
    return Mutation(published.commit if published else None, **answer, warnings=warnings)
