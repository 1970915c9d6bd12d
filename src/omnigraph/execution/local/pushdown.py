"""Conditions as filters of storage, where storage says exactly the same of every row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.conditions import Comparator
from omnigraph.compiler.ir.values import Constant, EntityId, PropertyValue
from omnigraph.execution.plan.pushable import column_of
from omnigraph.storage.filters import AllOf, AnyOf, Compared, Filter, IsNull, Negated, OneOf, Operator

MANY = 2_000
"""Values that a filter with other parts may name; a longer list stands alone."""
_OPERATORS: dict[Comparator, Operator] = {
    Comparator.EQ: "=",
    Comparator.NE: "!=",
    Comparator.LT: "<",
    Comparator.LE: "<=",
    Comparator.GT: ">",
    Comparator.GE: ">=",
}
_MIRRORED = {
    Comparator.LT: Comparator.GT,
    Comparator.LE: Comparator.GE,
    Comparator.GT: Comparator.LT,
    Comparator.GE: Comparator.LE,
}


def as_filter(condition: ir.Condition, schema: pa.Schema) -> Filter | None:
    """Return a bound condition as a filter; None where its values are not of the column's own type."""
    match condition:
        case ir.All(terms) | ir.Any(terms):
            parts = [as_filter(term, schema) for term in terms]
            known = tuple(part for part in parts if part is not None and not is_long(part))
            if not known or len(known) < len(parts):
                return None
            return AllOf(known) if isinstance(condition, ir.All) else AnyOf(known)
        case ir.Not(term):
            inner = as_filter(term, schema)
            return None if inner is None or is_long(inner) else Negated(inner)
        case ir.IsNull(PropertyValue() | EntityId() as value):
            return IsNull(column_of(value))
        case ir.ListContains(Constant(tuple() as members), PropertyValue() | EntityId() as value):
            return _one_of(column_of(value), members, schema)
        case ir.Compare(comparator, PropertyValue() | EntityId() as value, Constant(given)):
            return _compared(column_of(value), comparator, given, schema)
        case ir.Compare(comparator, Constant(given), PropertyValue() | EntityId() as value):
            return _compared(column_of(value), _MIRRORED.get(comparator, comparator), given, schema)
    return None


def is_long(filter: Filter) -> bool:
    """Say whether a filter names too many values to be one of several parts."""
    return isinstance(filter, OneOf) and len(filter.values) > MANY


def _compared(column: str, comparator: Comparator, given: Any, schema: pa.Schema) -> Filter | None:
    found = _values(schema.field(column).type, [given])
    return None if found is None else Compared(column, _OPERATORS[comparator], found[0])


def _one_of(column: str, members: tuple[Any, ...], schema: pa.Schema) -> Filter | None:
    # Nothing is in an empty list, and whether it is beside a NULL is unknown: filters of storage say neither.
    found = _values(schema.field(column).type, list(members)) if members else None
    return None if found is None else OneOf(column, found)


def _values(type_: pa.DataType, given: list[Any]) -> pa.Array | None:
    """Return values as a column of a type; None unless each is exactly one of that type."""
    if not all(_fits(type_, value) for value in given):
        return None
    if type_ in (pa.date32(), pa.date64()):
        return pa.array(given, pa.int32() if type_ == pa.date32() else pa.int64()).cast(type_)
    return pa.array(given, type_)


def _fits(type_: pa.DataType, value: Any) -> bool:
    if pa.types.is_string(type_):
        return isinstance(value, str)
    if pa.types.is_boolean(type_):
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if pa.types.is_floating(type_):
        return _is_float(value, type_.bit_width)
    if not isinstance(value, int) or not (pa.types.is_integer(type_) or pa.types.is_date(type_)):
        return False
    if pa.types.is_unsigned_integer(type_):
        return bool(0 <= value < 2**type_.bit_width)
    return bool(-(2 ** (type_.bit_width - 1)) <= value < 2 ** (type_.bit_width - 1))


def _is_float(value: float, bits: int) -> bool:
    """Say whether a number is exactly a float of a width, other than zero, of which there are two."""
    try:
        number = float(value)
    except OverflowError:
        return False
    if not math.isfinite(number) or number == 0 or number != value:
        return False
    with np.errstate(over="ignore"):
        return bits == 64 or float(np.float32(number)) == number
