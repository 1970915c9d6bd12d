"""Rules about single values: required, finite, enum, range, check. Vectorised over a batch of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ValidationError
from omnigraph.compiler.catalog.model import Check, NodeType, Property, Range, TableType
from omnigraph.embedding.config import PROVIDER_VARIABLE
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.write.integrity.delta import Place
from omnigraph.graph.write.integrity.problems import Problem, show_value


def check_values(
    table: TableType, rows: pa.Table, place: Place, pending: Mapping[str, pa.Array] | None = None
) -> Iterator[Problem]:
    """Yield every value of a batch that breaks a rule of its property, property by property.

    `pending` says, by property, in which rows a NULL is going to be computed and breaks no rule.
    """
    for item in table.properties:
        if item.name in rows.column_names:
            later = pending.get(item.name) if pending else None
            yield from _property(table, item, rows[item.name].combine_chunks(), place, later)
    if isinstance(table, NodeType):
        for limits in table.ranges:
            yield from _range(table, limits, rows[limits.property].combine_chunks(), place)
        for check in table.checks:
            yield from _check(table, check, rows[check.property].combine_chunks(), place)


def _property(
    table: TableType, item: Property, column: pa.Array, place: Place, later: pa.Array | None
) -> Iterator[Problem]:
    name = f"{table.name}.{item.name}"
    if not item.type.nullable and column.null_count:
        missing = pc.is_null(column)
        for row in _where(missing if later is None else pc.and_not(missing, later)):
            message = f"{name} is required and has null or invalid values"
            if item.embed is not None:
                message += (
                    f": give the vector, or a text in {item.embed.source} and an embedding provider "
                    f"(set {PROVIDER_VARIABLE})"
                )
            yield Problem("required", table.name, message, item.name, None, place(row))
    if item.type.enum is not None:
        allowed = pa.array(item.type.enum, pa.string())
        for row, value in _members(column, lambda found: pc.invert(pc.is_in(found, allowed)), item):
            message = (
                f"invalid enum value '{show_value(value)}' for {name}: use one of {', '.join(item.type.enum)}"
            )
            yield Problem("enum", table.name, message, item.name, value, place(row))
    if item.type.scalar.is_float:
        for row, value in _members(column, lambda found: pc.invert(pc.is_finite(found)), item):
            message = f"{name} holds {value}: only finite numbers are stored"
            yield Problem("finite", table.name, message, item.name, str(value), place(row))


def _range(table: TableType, limits: Range, column: pa.Array, place: Place) -> Iterator[Problem]:
    if not pa.types.is_primitive(column.type):
        return
    numbers = pc.cast(column, pa.float64(), safe=False)
    low = [] if limits.low is None else [pc.less(numbers, float(limits.low))]
    high = [] if limits.high is None else [pc.greater(numbers, float(limits.high))]
    bad = sorted({row for mask in (*low, *high) for row in _where(mask)})
    for row in bad:
        value = column[row].as_py()
        span = f"{_show_bound(limits.low)}..{_show_bound(limits.high)}"
        message = f"@range violation on {table.name}.{limits.property}: {value} is outside {span}"
        yield Problem("range", table.name, message, limits.property, value, place(row))


def _check(table: TableType, check: Check, column: pa.Array, place: Place) -> Iterator[Problem]:
    if not pa.types.is_string(column.type):
        return
    try:
        fits = pc.match_substring_regex(column, check.pattern)
    except pa.ArrowInvalid as error:
        raise ValidationError(
            f"the @check of {table.name}.{check.property} has an unusable regular expression: {error}",
            type=table.name,
            property=check.property,
            pattern=check.pattern,
        ) from error
    for row in _where(pc.fill_null(pc.invert(fits), False)):
        value = column[row].as_py()
        name = f"{table.name}.{check.property}"
        message = f"@check violation on {name}: '{show_value(value)}' does not match {check.pattern}"
        yield Problem("check", table.name, message, check.property, value, place(row))


def _members(
    column: pa.Array, is_bad: Callable[[pa.Array], pa.Array], item: Property
) -> Iterator[tuple[int, object]]:
    """Yield (row, value) for the bad values of a column, those inside lists and vectors included."""
    if not (item.type.is_vector or item.type.is_list):
        bad = _where(pc.and_(pc.is_valid(column), pc.fill_null(is_bad(column), False)))
        yield from zip(bad, to_plain(column.take(pa.array(bad, pa.int64())), item.type), strict=True)
        return
    parents, members = pc.list_parent_indices(column), pc.list_flatten(column)
    # A member that is null is never right: a list or vector has all its values.
    for at in _where(pc.or_(pc.is_null(members), pc.fill_null(is_bad(members), True))):
        yield parents[at].as_py(), members[at].as_py()


def _where(mask: pa.Array) -> list[int]:
    found: list[int] = pc.indices_nonzero(mask).to_pylist() if pc.any(mask).as_py() else []
    return found


def _show_bound(value: float | int | None) -> str:
    return "" if value is None else str(value)
