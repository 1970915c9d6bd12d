"""A checked mutation to its executable form: which tables it reads and writes becomes explicit."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import (
    Delete,
    InsertEdge,
    MatchedDelete,
    Statement,
    TouchedTable,
    Upsert,
    WriteQuery,
    target_of,
)
from omnigraph.compiler.lower.read import lower_read, tables
from omnigraph.compiler.typecheck.typed import TypedWrite


def lower_write(typed: TypedWrite, catalog: Catalog) -> WriteQuery:
    """Return the executable form of a checked mutation."""
    reads: set[TouchedTable] = set()
    writes: set[TouchedTable] = set()
    for statement in typed.statements:
        target = target_of(statement)
        touched = set(_cascade(statement, target, catalog))
        writes |= {target} | touched
        reads |= {target} | touched | set(_endpoints(statement, catalog))
    match = None if typed.match is None else lower_read(typed.match, catalog)
    reads |= set(match.reads) if match is not None else set()
    return WriteQuery(
        typed.name, typed.parameters, typed.statements, tables(reads), tables(writes), match=match
    )


def _cascade(statement: Statement, target: TouchedTable, catalog: Catalog) -> Iterator[TouchedTable]:
    """Yield the edge tables that deleting a node also empties."""
    if isinstance(statement, Delete | MatchedDelete) and target.kind == "node":
        for edge in catalog.edges_of(target.type_name):
            yield TouchedTable("edge", edge.name)


def _endpoints(statement: Statement, catalog: Catalog) -> Iterator[TouchedTable]:
    """Yield the node tables in which the ends of a new edge must exist."""
    is_new = isinstance(statement, InsertEdge | Upsert)
    edge = catalog.edge(target_of(statement).type_name) if is_new else None
    if edge is not None and target_of(statement).kind == "edge":
        yield TouchedTable("node", edge.source)
        yield TouchedTable("node", edge.target)
