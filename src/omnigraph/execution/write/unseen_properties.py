"""New rows of an actor who does not see all properties: the others begin as nobody had set them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.ir.queries import (
    Assignment,
    InsertEdge,
    InsertNode,
    Statement,
    Upsert,
    WriteQuery,
    target_of,
)
from omnigraph.compiler.ir.values import Constant
from omnigraph.compiler.typecheck.writes.statements import default_value


def fill_unseen_properties(query: WriteQuery, seen: Catalog, whole: Catalog) -> WriteQuery:
    """Give what a mutation inserts defaults and NULLs for properties that its actor does not see."""
    if seen is whole:
        return query
    return replace(query, statements=tuple(_fill(item, seen, whole) for item in query.statements))


def _fill(statement: Statement, seen: Catalog, whole: Catalog) -> Statement:
    target = target_of(statement)
    key = f"{target.kind}:{target.type_name}"
    there, all_of_it = seen.table(key), whole.table(key)
    if there is None or all_of_it is None:
        return statement
    more = tuple(_list_unseen(there, all_of_it))
    match statement:
        case InsertNode() | InsertEdge():
            return replace(statement, values=(*statement.values, *more))
        case Upsert():
            return replace(statement, others=(*statement.others, *more))
    return statement


def _list_unseen(seen: TableType, whole: TableType) -> Sequence[Assignment]:
    found = []
    for item in whole.properties:
        if item.name in seen.by_name:
            continue
        if item.default is not None:
            found.append(Assignment(item, default_value(item)))
        elif item.type.nullable:
            found.append(Assignment(item, Constant(None, item.type)))
    return found
