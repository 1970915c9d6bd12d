"""Conditions as storage filters, where storage gives exactly the same result for every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.values import Constant
from omnigraph.compiler.types import PropertyType
from omnigraph.compiler.values.accept import Refused, accept
from omnigraph.execution.plan.pushable import as_question, column_of
from omnigraph.graph.model.arrow_values import to_arrow
from omnigraph.storage.filters import AllOf, AnyOf, ComparedColumn, Filter, Negated, NullColumn, OneOf

MAX_VALUES_IN_FILTER = 2_000
"""The most values of a list in a compound filter; a longer list is pushed alone."""


def as_filter(condition: ir.Condition) -> Filter | None:
    """Return a bound condition as a filter; None if its values are not exactly of the column's type."""
    match condition:
        case ir.All(terms) | ir.Any(terms):
            parts = [as_filter(term) for term in terms]
            known = tuple(part for part in parts if part is not None and not is_long(part))
            if not known or len(known) < len(parts):
                return None
            return AllOf(known) if isinstance(condition, ir.All) else AnyOf(known)
        case ir.Not(term):
            inner = as_filter(term)
            return None if inner is None or is_long(inner) else Negated(inner)
    question = as_question(condition)
    if question is None:
        return None
    column = column_of(question.stored)
    if question.how == "is null":
        return NullColumn(column)
    given = question.given.value if isinstance(question.given, Constant) else None
    members = given if question.how == "in" and isinstance(given, tuple) else (given,)
    # Storage filters have no empty list, and no list with NULL, for which the result may be unknown.
    values = _exact_values(members, PropertyType(question.stored.type.scalar)) if members else None
    if values is None:
        return None
    return (
        OneOf(column, values)
        if question.how == "in"
        else ComparedColumn(column, question.how.value, values[0])
    )


def is_long(filter: Filter) -> bool:
    """Return whether a filter has too many values to be part of a compound filter."""
    return isinstance(filter, OneOf) and len(filter.values) > MAX_VALUES_IN_FILTER


def _exact_values(given: Sequence[Any], type_: PropertyType) -> pa.Array | None:
    """Return values as a column; None unless each is exactly of the type; floats have two zeros."""
    try:
        stored = [accept(value, type_) for value in given]
    except Refused:
        return None
    if stored != list(given) or (type_.scalar.is_float and 0 in stored):
        return None
    return to_arrow(stored, type_)
