"""Conditions over the rows of one table, vectorised: true, false or null for each row."""

from __future__ import annotations

import math
import operator
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.conditions import Comparator
from omnigraph.compiler.ir.values import Computed, Constant, EdgeEnd, End, EntityId, PropertyValue, Value
from omnigraph.execution.compare_numbers import compare_by_value
from omnigraph.execution.expressions import Columns, compute_array, compute_each, leaves_of
from omnigraph.execution.patterns import find_pattern

_ARROW_COMPARISONS = {
    Comparator.EQ: pc.equal,
    Comparator.NE: pc.not_equal,
    Comparator.LT: pc.less,
    Comparator.LE: pc.less_equal,
    Comparator.GT: pc.greater,
    Comparator.GE: pc.greater_equal,
}
_PYTHON_COMPARISONS = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
}
_MIRRORED = {
    Comparator.LT: Comparator.GT,
    Comparator.LE: Comparator.GE,
    Comparator.GT: Comparator.LT,
    Comparator.GE: Comparator.LE,
}


def columns_of(condition: ir.Condition) -> set[str]:
    """Return the names of the columns that a condition reads."""
    match condition:
        case ir.All(terms) | ir.Any(terms):
            return set().union(*(columns_of(term) for term in terms))
        case ir.Not(term):
            return columns_of(term)
        case ir.IsNull(value):
            return columns_of_value(value)
        case ir.Compare(_, left, right) | ir.ListContains(left, right):
            return columns_of_value(left) | columns_of_value(right)
        case ir.TextContains(left, right) | ir.TextStartsWith(left, right) | ir.TextMatches(left, right):
            return columns_of_value(left) | columns_of_value(right)


class TableColumns:
    """The rows of one table, whose row is the only variable."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self.num_rows: int = rows.num_rows

    def column(self, value: Value) -> pa.Array | None:
        """Return the column that a value reads."""
        name = column_name(value)
        return None if name is None else self._rows[name].combine_chunks()


def evaluate(condition: ir.Condition, rows: pa.Table) -> pa.BooleanArray:
    """Return whether a condition is true, false or unknown for each row of a table."""
    return evaluate_on(condition, TableColumns(rows))


def evaluate_on(condition: ir.Condition, rows: Columns) -> pa.BooleanArray:
    """Return whether a condition is true, false or unknown for each row."""
    match condition:
        case ir.All(terms):
            return reduce(
                pc.and_kleene, (evaluate_on(term, rows) for term in terms), _one_verdict(rows, True)
            )
        case ir.Any(terms):
            return reduce(
                pc.or_kleene, (evaluate_on(term, rows) for term in terms), _one_verdict(rows, False)
            )
        case ir.Not(term):
            return pc.invert(evaluate_on(term, rows))
        case ir.IsNull(value):
            return _is_null(value, rows)
        case ir.Compare(comparator, left, right):
            return _compare(comparator, left, right, rows)
        case ir.ListContains(list_, item):
            return _contains(list_, item, rows)
        case ir.TextContains(text, part):
            return _match_text(pc.match_substring, text, part, rows)
        case ir.TextStartsWith(text, prefix):
            return _match_text(pc.starts_with, text, prefix, rows)
        case ir.TextMatches(text, pattern):
            return _match_pattern(text, pattern, rows)


def value_array(value: Computed, rows: Columns) -> pa.Array:
    """Return a computed value for every row."""
    return compute_array(value, rows, evaluate_on)


def plain_values(value: Value, rows: pa.Table) -> list[Any]:
    """Return the plain value for each row of a table, or why it could not be computed."""
    return compute_each(value, TableColumns(rows), evaluate_on)


def column_name(value: Value) -> str | None:
    """Return the column that a value reads, or None when it reads none."""
    match value:
        case PropertyValue(_, declared):
            return declared.name
        case EntityId():
            return "id"
        case EdgeEnd(_, end):
            return "src" if end is End.SOURCE else "dst"
    return None


def columns_of_value(value: Value) -> set[str]:
    """Return the names of the columns that a value reads."""
    names = (column_name(item) for item in leaves_of(value))
    return {name for name in names if name}


def _stored_column(value: Value, rows: Columns) -> pa.Array | None:
    return value_array(value, rows) if isinstance(value, Computed) else rows.column(value)


def _column(value: Value, rows: Columns) -> pa.Array | None:
    column = _stored_column(value, rows)
    return None if column is None else _as_numbers(column)


def _constant(value: Value) -> object:
    assert isinstance(value, Constant), "a bound condition compares columns with constants"
    return value.value


def _is_null(value: Value, rows: Columns) -> pa.BooleanArray:
    column = _column(value, rows)
    return _one_verdict(rows, _constant(value) is None) if column is None else pc.is_null(column)


def _compare(comparator: Comparator, left: Value, right: Value, rows: Columns) -> pa.BooleanArray:
    column, other = _column(left, rows), _column(right, rows)
    if column is None and other is None:
        return _compare_constants(comparator, _constant(left), _constant(right), rows)
    if column is None:
        return compare_column(_MIRRORED.get(comparator, comparator), other, _constant(left), rows)
    if other is None:
        return compare_column(comparator, column, _constant(right), rows)
    return _compare_columns(comparator, column, other)


def _compare_columns(comparator: Comparator, left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    """Compare two columns by value; numbers of different types are compared exactly."""
    if left.type == right.type or not (_is_number(left) and _is_number(right)):
        return _ARROW_COMPARISONS[comparator](left, right)
    if pa.types.is_floating(left.type) and pa.types.is_floating(right.type):
        return _ARROW_COMPARISONS[comparator](left.cast(pa.float64()), right.cast(pa.float64()))
    known = pc.and_(pc.is_valid(left), pc.is_valid(right))
    verdicts = compare_by_value(comparator, _fill_nulls(left), _fill_nulls(right))
    return pc.if_else(known, pa.array(verdicts), pa.scalar(None, pa.bool_()))


def _fill_nulls(column: pa.Array) -> np.ndarray[Any, np.dtype[Any]]:
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))


def _is_number(column: pa.Array) -> bool:
    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


def compare_column(comparator: Comparator, column: pa.Array, value: object, rows: Columns) -> pa.BooleanArray:
    """Compare a column with one value, exactly for numbers of any width; unknown where it is NULL."""
    if value is None:
        return _one_verdict(rows, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _ARROW_COMPARISONS[comparator](column, pa.scalar(value, column.type))
    if pa.types.is_integer(column.type):
        return _compare_integers(comparator, column, value)
    return _compare_floats(comparator, column, value)


def _compare_integers(comparator: Comparator, column: pa.Array, value: float) -> pa.BooleanArray:
    if isinstance(value, float):
        if math.isfinite(value) and not value.is_integer():
            if comparator in (Comparator.EQ, Comparator.NE):
                return _verdict_unless_null(column, comparator is Comparator.NE)
            below = comparator in (Comparator.LT, Comparator.LE)
            comparator = Comparator.LE if below else Comparator.GT
            value = math.floor(value)
        elif math.isinf(value):
            return _verdict_unless_null(column, _compare_with_infinity(comparator, value > 0))
    number = int(value)
    low, high = _limits(column.type)
    if not low <= number <= high:
        return _verdict_unless_null(column, _compare_with_infinity(comparator, number > high))
    return _ARROW_COMPARISONS[comparator](column, pa.scalar(number, column.type))


def _compare_floats(comparator: Comparator, column: pa.Array, value: float) -> pa.BooleanArray:
    column = column.cast(pa.float64())
    if isinstance(value, int):
        try:
            nearest = float(value)
        except OverflowError:
            return _verdict_unless_null(column, _compare_with_infinity(comparator, value > 0))
        if int(nearest) != value:
            # No double lies between the integer and its nearest double, so the comparison can move there.
            if comparator in (Comparator.EQ, Comparator.NE):
                return _verdict_unless_null(column, comparator is Comparator.NE)
            below = comparator in (Comparator.LT, Comparator.LE)
            above = nearest > value
            strict = above if below else not above
            moved = {(True, True): Comparator.LT, (True, False): Comparator.LE,
                     (False, True): Comparator.GT, (False, False): Comparator.GE}  # fmt: skip
            comparator = moved[(below, strict)]
        value = nearest
    return _ARROW_COMPARISONS[comparator](column, pa.scalar(value, pa.float64()))


def _limits(type_: pa.DataType) -> tuple[int, int]:
    bits = type_.bit_width
    if pa.types.is_unsigned_integer(type_):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _compare_with_infinity(comparator: Comparator, above: bool) -> bool:
    if comparator in (Comparator.EQ, Comparator.NE):
        return comparator is Comparator.NE
    return (comparator in (Comparator.LT, Comparator.LE)) == above


def _compare_constants(comparator: Comparator, left: object, right: object, rows: Columns) -> pa.BooleanArray:
    if left is None or right is None:
        return _one_verdict(rows, None)
    if isinstance(left, bool) and isinstance(right, bool):
        return _one_verdict(rows, _PYTHON_COMPARISONS[comparator](left, right))
    verdict = (
        _ARROW_COMPARISONS[comparator](pa.scalar(left), pa.scalar(right)) if isinstance(left, str) else None
    )
    if verdict is None:
        single = pa.array([left], pa.int64() if isinstance(left, int) else pa.float64())
        verdict = compare_column(comparator, single, right, rows)[0]
    return _one_verdict(rows, verdict.as_py())


def _contains(list_: Value, item: Value, rows: Columns) -> pa.BooleanArray:
    if isinstance(list_, Constant):
        return _is_among(item, list_.value, rows)
    lists = _column(list_, rows)
    assert lists is not None, "a list column, or a list of constants"
    if not isinstance(item, Constant):
        return _contains_pairwise(lists, _stored_column(item, rows))
    if item.value is None:
        return _one_verdict(rows, None)
    flat = _as_numbers(pc.list_flatten(lists))
    return _join_members(lists, compare_column(Comparator.EQ, flat, item.value, rows), pc.is_valid(lists))


def _join_members(lists: pa.Array, verdicts: pa.BooleanArray, known: pa.BooleanArray) -> pa.BooleanArray:
    """Return whether a verdict on a member is true; unknown if none is, and one is unknown."""
    of_member = pc.list_parent_indices(lists)
    found, unknown = np.zeros(len(lists), dtype=bool), np.zeros(len(lists), dtype=bool)
    found[of_member.filter(pc.fill_null(verdicts, False)).to_numpy()] = True
    if verdicts.null_count:
        unknown[of_member.filter(pc.is_null(verdicts)).to_numpy()] = True
    known = pc.and_(known, pa.array(found | ~unknown))
    return pc.if_else(known, pa.array(found), pa.scalar(None, pa.bool_()))


def _is_among(item: Value, members: object, rows: Columns) -> pa.BooleanArray:
    """Return whether an item is one of a list of constants."""
    if not isinstance(members, tuple):
        return _one_verdict(rows, None)
    column = _column(item, rows)
    if column is None:
        value = _constant(item)
        if value is None or (value not in members and None in members):
            return _one_verdict(rows, None)
        return _one_verdict(rows, value in members)
    if pa.types.is_string(column.type):
        return _is_one_of(column, members)
    known = (compare_column(Comparator.EQ, column, member, rows) for member in members)
    return reduce(pc.or_kleene, known, _verdict_unless_null(column, False))


def _is_one_of(column: pa.Array, members: tuple[object, ...]) -> pa.BooleanArray:
    """Return whether each string is a member; unknown for NULL, or if only a NULL member could match."""
    texts = pa.array([member for member in members if member is not None], column.type)
    found = pc.is_in(column, value_set=texts)
    unknown = pc.is_null(column) if len(texts) == len(members) else pc.invert(found)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def _contains_pairwise(lists: pa.Array, items: pa.Array | None) -> pa.BooleanArray:
    """Return whether each list contains its item."""
    assert items is not None
    members = _as_numbers(pc.list_flatten(lists))
    verdicts = _compare_columns(
        Comparator.EQ, members, _as_numbers(items).take(pc.list_parent_indices(lists))
    )
    return _join_members(lists, verdicts, pc.and_(pc.is_valid(lists), pc.is_valid(items)))


def _as_numbers(column: pa.Array) -> pa.Array:
    """Return dates and datetimes as their stored numbers; Arrow would compare a date64 by its day."""
    if column.type == pa.date64():
        return column.view(pa.int64())
    return column.view(pa.int32()) if column.type == pa.date32() else column


def _match_text(match_, text: Value, part: Value, rows: Columns) -> pa.BooleanArray:  # type: ignore[no-untyped-def]
    column, needle = _column(text, rows), _column(part, rows)
    if column is not None and needle is None:
        wanted = _constant(part)
        return _one_verdict(rows, None) if wanted is None else match_(column, wanted)
    texts = column.to_pylist() if column is not None else [_constant(text)] * rows.num_rows
    parts = needle.to_pylist() if needle is not None else [_constant(part)] * rows.num_rows
    starts = match_ is pc.starts_with
    verdicts = [
        None if a is None or b is None else (a.startswith(b) if starts else b in a)
        for a, b in zip(texts, parts, strict=True)
    ]
    return pa.array(verdicts, pa.bool_())


def _match_pattern(text: Value, pattern: Value, rows: Columns) -> pa.BooleanArray:
    column, wanted = _column(text, rows), _constant(pattern)
    if column is not None:
        return _one_verdict(rows, None) if wanted is None else find_pattern(column, str(wanted))
    given = _constant(text)
    if given is None or wanted is None:
        return _one_verdict(rows, None)
    return _one_verdict(rows, find_pattern(pa.array([given], pa.string()), str(wanted))[0].as_py())


def _verdict_unless_null(column: pa.Array, verdict: bool) -> pa.BooleanArray:
    """Return one verdict for all rows, unknown where the column is null."""
    return pc.if_else(pc.is_valid(column), pa.scalar(verdict), pa.scalar(None, pa.bool_()))


def _one_verdict(rows: Columns, verdict: bool | None) -> pa.BooleanArray:
    return pa.array([verdict] * rows.num_rows, pa.bool_())
