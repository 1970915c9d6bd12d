"""Conditions of rules about data over the rows of one table, for reads and writes alike."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.conditions import Comparator, Condition
from omnigraph.compiler.ir.values import Constant, EdgeEnd, End, EntityId, PropertyValue, Value

_COMPARISONS = {
    Comparator.EQ: pc.equal,
    Comparator.NE: pc.not_equal,
    Comparator.LT: pc.less,
    Comparator.LE: pc.less_equal,
    Comparator.GT: pc.greater,
    Comparator.GE: pc.greater_equal,
}
_GREATEST_LONG = 2**63 - 1


def columns_of(condition: Condition | bool) -> set[str]:
    """Return the columns that a condition reads."""
    match condition:
        case bool():
            return set()
        case ir.All(terms) | ir.Any(terms):
            return set().union(*(columns_of(term) for term in terms))
        case ir.Not(term):
            return columns_of(term)
        case ir.IsNull(value):
            return _columns(value)
        case ir.Compare(_, left, right) | ir.ListContains(left, right) | ir.TextMatches(left, right):
            return _columns(left, right)
    raise TypeError(f"no rule about data is made of {type(condition).__name__}")


def evaluate(condition: Condition | bool, rows: pa.Table) -> pa.BooleanArray:
    """Return whether a condition is true, false or unknown for each row."""
    match condition:
        case bool():
            return _fill(condition, rows)
        case ir.All(terms):
            return reduce(pc.and_kleene, _each(terms, rows), _fill(True, rows))
        case ir.Any(terms):
            return reduce(pc.or_kleene, _each(terms, rows), _fill(False, rows))
        case ir.Not(term):
            return pc.invert(evaluate(term, rows))
        case ir.IsNull(value):
            return pc.is_null(_array(value, rows))
        case ir.Compare(comparator, left, right):
            return _COMPARISONS[comparator](_array(left, rows), _array(right, rows))
        case ir.TextMatches(text, Constant(value=pattern)):
            return pc.match_substring_regex(_array(text, rows), pattern)
        case ir.ListContains(members, Constant() as item):
            return _contains(members, item, rows)
    raise TypeError(f"no rule about data is made of {type(condition).__name__}")


def column_of(value: Value) -> str | None:
    """Return the column that a value is read from; None for a constant."""
    match value:
        case PropertyValue():
            return value.declared.name
        case EntityId():
            return "id"
        case EdgeEnd():
            return "src" if value.end is End.SOURCE else "dst"
        case Constant():
            return None
    raise TypeError(f"no rule about data reads {type(value).__name__}")


def _columns(*values: Value) -> set[str]:
    return {name for value in values if (name := column_of(value)) is not None}


def _each(terms: Iterable[Condition], rows: pa.Table) -> Iterable[pa.BooleanArray]:
    return (evaluate(term, rows) for term in terms)


def _array(value: Value, rows: pa.Table) -> pa.Array:
    """Return a value for each row: integers as I64 and NULL beyond it, dates as milliseconds."""
    name = column_of(value)
    if name is None:
        assert isinstance(value, Constant)
        kind = pa.string() if isinstance(value.value, str) else pa.int64()
        kind = pa.bool_() if isinstance(value.value, bool) else kind
        return pa.repeat(pa.scalar(value.value, kind), rows.num_rows)
    return _comparable(rows[name].combine_chunks())


def _comparable(found: pa.Array) -> pa.Array:
    if pa.types.is_date32(found.type):
        found = found.cast(pa.date64())
    if pa.types.is_date64(found.type):
        return found.cast(pa.int64())
    if pa.types.is_uint64(found.type):
        found = pc.if_else(pc.less_equal(found, pa.scalar(_GREATEST_LONG, pa.uint64())), found, None)
    if pa.types.is_integer(found.type):
        return found.cast(pa.int64())
    return found.cast(pa.string()) if pa.types.is_large_string(found.type) else found


def _contains(members: Value, item: Constant, rows: pa.Table) -> pa.BooleanArray:
    name = column_of(members)
    assert name is not None
    lists = rows[name].combine_chunks()
    equal = pc.fill_null(pc.equal(_comparable(lists.flatten()), pa.scalar(item.value)), False)
    places = pc.list_parent_indices(lists).filter(equal)
    within = pc.is_in(pa.array(range(len(lists)), pa.int64()), value_set=pc.unique(places).cast(pa.int64()))
    return pc.if_else(pc.is_valid(lists), within, pa.scalar(None, pa.bool_()))


def _fill(verdict: bool, rows: pa.Table) -> pa.BooleanArray:
    return pa.repeat(pa.scalar(verdict), rows.num_rows)
