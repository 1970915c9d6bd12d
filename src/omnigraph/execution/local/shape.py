"""From assignments to result rows: groups, distinct rows, order, skip and limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from omnigraph.compiler.ir.queries import Output, ReadQuery, SortKey
from omnigraph.compiler.ir.values import Aggregate, AggregateFunction, Constant, Value
from omnigraph.execution.local.frame import Frame
from omnigraph.execution.local.values import Values
from omnigraph.graph.plain import to_plain

Row = tuple[Any, ...]


def shape(query: ReadQuery, values: Values, frame: Frame) -> list[Row]:
    """Return the rows of the result, one plain value for each projection."""
    columns = [_plain(values, _argument(item.value), frame) for item in query.projections]
    sort_columns = {
        key: _plain(values, key.value, frame)
        for key in (*query.order, *query.ties)
        if not isinstance(key.value, Output)
    }
    rows: list[tuple[int, Row]]
    if query.grouped:
        rows = [(-1, row) for row in _groups(query, columns, frame.rows)]
    else:
        rows = list(enumerate(zip(*columns, strict=True))) if columns else []
    if query.distinct:
        shown = [place for place, item in enumerate(query.projections) if not item.shadowed]
        rows = list(
            {tuple(_key(row[place]) for place in shown): (number, row) for number, row in rows}.values()
        )
    for key in reversed((*query.order, *query.ties)):
        rows.sort(key=_sorter(key, sort_columns), reverse=key.descending)
    first = _count(query.skip) or 0
    limit = _count(query.limit)
    return [row for _, row in (rows[first:] if limit is None else rows[first : first + limit])]


def _argument(value: Value | Aggregate) -> Value:
    return value.argument if isinstance(value, Aggregate) else value


def _plain(values: Values, value: Value, frame: Frame) -> list[Any]:
    if isinstance(value, Constant):
        return [value.value] * frame.rows
    return to_plain(values.array(value, frame), value.type)


def _sorter(key: SortKey, columns: dict[SortKey, list[Any]]) -> Any:
    value = key.value
    if isinstance(value, Output):
        return lambda item: _ranked(item[1][value.projection])
    column = columns[key]
    return lambda item: _ranked(column[item[0]])


def _ranked(value: Any) -> tuple[bool, Any]:
    """Put NULL below everything, and texts in the order of their bytes."""
    if value is None:
        return (False, 0)
    return (True, value.encode() if isinstance(value, str) else value)


def _key(value: Any) -> Any:
    """Return a value that tells true from 1."""
    return (type(value) is bool, value)


def _groups(query: ReadQuery, columns: Sequence[list[Any]], rows: int) -> list[Row]:
    keys = [at for at, item in enumerate(query.projections) if not isinstance(item.value, Aggregate)]
    groups: dict[Row, list[int]] = {} if keys else {(): []}
    for row in range(rows):
        groups.setdefault(tuple(_key(columns[at][row]) for at in keys), []).append(row)
    return [
        tuple(
            _aggregate(item.value, [columns[at][row] for row in members])
            if isinstance(item.value, Aggregate)
            else columns[at][members[0]]
            for at, item in enumerate(query.projections)
        )
        for members in groups.values()
    ]


def _aggregate(node: Aggregate, found: list[Any]) -> Any:
    values = [value for value in found if value is not None]
    if node.distinct:
        values = list({_key(value): value for value in values}.values())
    match node.function:
        case AggregateFunction.COUNT:
            return len(values)
        case AggregateFunction.COLLECT:
            return tuple(sorted(values, key=_ranked))
        case AggregateFunction.MIN:
            return min(values, key=_ranked, default=None)
        case AggregateFunction.MAX:
            return max(values, key=_ranked, default=None)
        case AggregateFunction.SUM:
            return math.fsum(values) if values else None
        case AggregateFunction.AVG:
            return math.fsum(values) / len(values) if values else None


def _count(node: object) -> int | None:
    return node.value if isinstance(node, Constant) and isinstance(node.value, int) else None
