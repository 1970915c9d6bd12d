"""Estimates of the share of rows that a filter keeps."""

from __future__ import annotations

import math

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.conditions import Comparator
from omnigraph.compiler.ir.pattern import Variable
from omnigraph.compiler.ir.values import (
    Aggregate,
    EntityId,
    EntityKey,
    EntityType,
    PropertyValue,
    TextMatch,
    Value,
)
from omnigraph.execution.plan.statistics import Statistics

_RANGE_SELECTIVITY = 1 / 3
_UNEQUAL_SELECTIVITY = 0.9
_TEXT_SELECTIVITY = 0.1
_NULL_SELECTIVITY = 0.1
_MEMBER_SELECTIVITY = 0.1
_EXPECTED_MEMBERS = 10
"""The assumed length of a list that is a parameter."""
_DEFAULT_SELECTIVITY = 0.5


def selectivity(condition: ir.Condition, variables: tuple[Variable, ...], statistics: Statistics) -> float:
    """Return the estimated share of rows that a condition keeps, from 0 to 1."""
    match condition:
        case ir.All(terms):
            return math.prod(selectivity(term, variables, statistics) for term in terms)
        case ir.Any(terms):
            return 1 - math.prod(1 - selectivity(term, variables, statistics) for term in terms)
        case ir.Not(term):
            return max(0.0, 1 - selectivity(term, variables, statistics))
        case ir.IsNull():
            return _NULL_SELECTIVITY
        case ir.TextContains() | ir.TextStartsWith() | ir.TextMatches():
            return _TEXT_SELECTIVITY
        case ir.ListContains(list_, item):
            return _estimate_membership(list_, item, variables, statistics)
        case ir.Compare(comparator, left, right):
            return _estimate_comparison(comparator, left, right, variables, statistics)


def _estimate_comparison(
    comparator: Comparator,
    left: Value,
    right: Value,
    variables: tuple[Variable, ...],
    statistics: Statistics,
) -> float:
    if isinstance(left, TextMatch) or isinstance(right, TextMatch):
        return _TEXT_SELECTIVITY
    if comparator is Comparator.EQ:
        values = max(count_values(left, variables, statistics), count_values(right, variables, statistics))
        return 1 / values if values else _DEFAULT_SELECTIVITY
    return _UNEQUAL_SELECTIVITY if comparator is Comparator.NE else _RANGE_SELECTIVITY


def _estimate_membership(
    list_: Value, item: Value, variables: tuple[Variable, ...], statistics: Statistics
) -> float:
    members = getattr(list_, "value", None)
    values = count_values(item, variables, statistics)
    if not values:
        return _MEMBER_SELECTIVITY
    return min(1.0, (len(members) if isinstance(members, tuple) else _EXPECTED_MEMBERS) / values)


def count_values(value: Value | Aggregate, variables: tuple[Variable, ...], statistics: Statistics) -> float:
    """Return the estimated number of distinct values of an expression; 0 for a constant."""
    match value:
        case PropertyValue(slot, declared):
            return statistics.distinct(variables[slot], declared)
        case EntityId(slot) | EntityKey(slot):
            return max(statistics.table_rows(variables[slot]), 1.0)
        case EntityType(slot):
            return float(len(variables[slot].types))
    return 0.0
