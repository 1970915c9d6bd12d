"""From the text of an operation to its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.base import clock
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_query
from omnigraph.compiler.ir.queries import WriteQuery
from omnigraph.compiler.lower.bind import bind_write
from omnigraph.compiler.values.params import decode_params
from omnigraph.execution.mutate import Mutation, MutationWork
from omnigraph.graph.handle import Graph


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
        query = compile_query(text, catalog, name, kind="mutation")
        assert isinstance(query, WriteQuery)
        return bind_write(
            query, decode_params(params, [(item.name, item.type) for item in query.parameters]), now
        )

    work = MutationWork(graph.catalog_at, bound, graph.settings.mutation_rows)
    record = graph.commit_work(work, branch=branch, message=message, if_commit=if_commit)
    return Mutation(record.commit if record else None, work.affected_nodes, work.affected_edges)
