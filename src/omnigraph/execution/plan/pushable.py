"""Which conditions a hash table, an index or a filtered scan of storage can answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.conditions import Comparator
from omnigraph.compiler.ir.values import (
    Constant,
    EdgeEnd,
    EntityId,
    Now,
    Parameter,
    PropertyValue,
    RoundedToF32,
    TextMatch,
    Value,
)
from omnigraph.compiler.types import Scalar

Given: TypeAlias = Constant | Parameter | RoundedToF32 | Now
_GIVEN = (Constant, Parameter, RoundedToF32, Now)
_STORED = (PropertyValue, EntityId, EdgeEnd)
_MIRRORED = {
    Comparator.LT: Comparator.GT,
    Comparator.LE: Comparator.GE,
    Comparator.GT: Comparator.LT,
    Comparator.GE: Comparator.LE,
}


def exact_value(condition: ir.Condition) -> tuple[PropertyValue | EntityId, Given] | None:
    """Return what a condition says is equal to a value, or to one of a list, when that is all it says.

    Texts and integers only: equal values of those have equal hashes.
    """
    match condition:
        case ir.Compare(Comparator.EQ, left, right):
            value, given = (left, right) if isinstance(right, _GIVEN) else (right, left)
        case ir.ListContains(given, value):
            pass
        case _:
            return None
    if not isinstance(given, _GIVEN) or not isinstance(value, PropertyValue | EntityId):
        return None
    type_ = value.type
    if type_.is_list or not (type_.scalar.is_integer or type_.scalar is Scalar.STRING):
        return None
    return value, given


def words_asked(condition: ir.Condition) -> TextMatch | None:
    """Return the search for words that a condition is, when that is all it says.

    Not for similar ones: an index compares those with the query's words before they are reduced to stems.
    """
    match condition:
        case ir.Compare(Comparator.EQ, TextMatch(_, text, None) as match, Constant(True)) if isinstance(
            text, _GIVEN
        ):
            return match
    return None


@dataclass(frozen=True, slots=True)
class Asked:
    """What storage is asked about a stored value: how it stands to a given one."""

    stored: PropertyValue | EntityId
    how: Comparator | Literal["is null", "in"]
    given: Given | None = None


def asked_of_storage(condition: ir.Condition) -> Asked | None:
    """Return the one question of storage that a condition is; None when it is none, or several."""
    match condition:
        case ir.IsNull(value):
            return _asked(value, "is null")
        case ir.ListContains(given, value) if isinstance(given, _GIVEN):
            return _asked(value, "in", given)
        case ir.Compare(comparator, value, given) if isinstance(given, _GIVEN):
            return _asked(value, comparator, given)
        case ir.Compare(comparator, given, value) if isinstance(given, _GIVEN):
            return _asked(value, _MIRRORED.get(comparator, comparator), given)
    return None


def columns_pushed(condition: ir.Condition) -> frozenset[str] | None:
    """Return the columns that storage looks at to answer a condition; None when it cannot."""
    match condition:
        case ir.All(terms) | ir.Any(terms):
            parts = [columns_pushed(term) for term in terms]
            known = [part for part in parts if part is not None]
            return frozenset().union(*known) if parts and len(known) == len(parts) else None
        case ir.Not(term):
            return columns_pushed(term)
    asked = asked_of_storage(condition)
    return None if asked is None else frozenset({column_of(asked.stored)})


def column_of(value: PropertyValue | EntityId) -> str:
    """Return the stored column of a value."""
    return "id" if isinstance(value, EntityId) else value.declared.name


def _asked(
    value: Value, how: Comparator | Literal["is null", "in"], given: Given | None = None
) -> Asked | None:
    if isinstance(value, PropertyValue | EntityId) and value.type.is_plain:
        return Asked(value, how, given)
    return None


def joined_by(condition: ir.Condition, slot: int, bound: Collection[int]) -> bool:
    """Say whether a condition makes a value of a new variable equal to one of a variable that is bound."""
    sides = join_sides(condition, slot)
    return sides is not None and sides[1].variable in bound


def join_sides(
    condition: ir.Condition, slot: int
) -> tuple[PropertyValue | EntityId | EdgeEnd, PropertyValue | EntityId | EdgeEnd] | None:
    """Return the side of a variable and the other one, when a condition says that both are equal.

    Only sides of one type, whose values are equal exactly when they are stored alike.
    """
    match condition:
        case ir.Compare(Comparator.EQ, left, right) if isinstance(left, _STORED) and isinstance(
            right, _STORED
        ):
            mine, other = (left, right) if left.variable == slot else (right, left)
            alike = mine.type.scalar is other.type.scalar and mine.type.scalar in _STORED_ALIKE
            whole = mine.type.is_list or other.type.is_list
            if mine.variable == slot != other.variable and alike and not whole:
                return mine, other
    return None


_STORED_ALIKE = frozenset(
    kind
    for kind in Scalar
    if kind.is_integer or kind in (Scalar.STRING, Scalar.DATE, Scalar.DATETIME, Scalar.BOOL)
)
