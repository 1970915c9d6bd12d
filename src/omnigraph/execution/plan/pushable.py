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
    IdOfEnd,
    Now,
    Parameter,
    PropertyValue,
    RoundedToF32,
    StageValue,
    TextMatch,
    Value,
)
from omnigraph.compiler.types import Scalar

Given: TypeAlias = Constant | Parameter | RoundedToF32 | IdOfEnd | Now
How: TypeAlias = Comparator | Literal["is null", "in"]
_GIVEN_VALUES = (Constant, Parameter, RoundedToF32, IdOfEnd, Now)
_STORED_VALUES = (PropertyValue, EntityId, EdgeEnd, StageValue)
Joined: TypeAlias = PropertyValue | EntityId | EdgeEnd | StageValue
JoinSides: TypeAlias = tuple[Joined, Joined]
"""The side of a new variable in an equality, and the other side."""
_MIRRORED = {
    Comparator.LT: Comparator.GT,
    Comparator.LE: Comparator.GE,
    Comparator.GT: Comparator.LT,
    Comparator.GE: Comparator.LE,
}


def exact_value(condition: ir.Condition) -> tuple[PropertyValue | EntityId, Given] | None:
    """Return the stored and the given value of an equality or `in` condition; None for other conditions.

    Strings and integers only: equal values of those have equal hashes.
    """
    question = as_question(condition)
    if question is None or question.given is None or question.how not in (Comparator.EQ, "in"):
        return None
    scalar = question.stored.type.scalar
    return (question.stored, question.given) if scalar.is_integer or scalar is Scalar.STRING else None


def find_text_match(condition: ir.Condition) -> TextMatch | None:
    """Return the text match that is the whole condition; None for other conditions.

    Not fuzzy ones: an index compares the words of the query with stored words before stemming.
    """
    match condition:
        case ir.Compare(Comparator.EQ, TextMatch(_, text, None) as match, Constant(True)) if isinstance(
            text, _GIVEN_VALUES
        ):
            return match
    return None


@dataclass(frozen=True, slots=True)
class StorageQuestion:
    """A comparison that storage can evaluate: a stored value with a given one."""

    stored: PropertyValue | EntityId
    how: How
    given: Given | None = None


def as_question(condition: ir.Condition) -> StorageQuestion | None:
    """Return a condition as a single comparison for storage; None if it is not one."""
    how: How
    given: Value | None = None
    match condition:
        case ir.IsNull(value):
            how = "is null"
        case ir.ListContains(given, value):
            how = "in"
        case ir.Compare(how, value, given) if isinstance(given, _GIVEN_VALUES):
            pass
        case ir.Compare(comparator, given, value):
            how = _MIRRORED.get(comparator, comparator)
        case _:
            return None
    if not isinstance(value, PropertyValue | EntityId) or not value.type.is_plain:
        return None
    return StorageQuestion(value, how, given) if given is None or isinstance(given, _GIVEN_VALUES) else None


def columns_to_push(condition: ir.Condition) -> frozenset[str] | None:
    """Return the columns that storage reads to evaluate a condition; None if it cannot."""
    match condition:
        case ir.All(terms) | ir.Any(terms):
            parts = [columns_to_push(term) for term in terms]
            known = [part for part in parts if part is not None]
            return frozenset().union(*known) if parts and len(known) == len(parts) else None
        case ir.Not(term):
            return columns_to_push(term)
    question = as_question(condition)
    return None if question is None else frozenset({column_of(question.stored)})


def column_of(value: PropertyValue | EntityId) -> str:
    """Return the stored column of a value."""
    return "id" if isinstance(value, EntityId) else value.declared.name


def is_join(condition: ir.Condition, slot: int, bound: Collection[int]) -> bool:
    """Return whether a condition equates a value of a new variable with one of a bound variable.

    A disjunction does if each of its terms does.
    """
    sides = join_sides(condition, slot)
    return sides is not None and all(other.variable in bound for _, other in sides)


def join_sides(condition: ir.Condition, slot: int) -> tuple[JoinSides, ...] | None:
    """Return the sides of an equality, or of each term of a disjunction of equalities; else None."""
    terms = condition.terms if isinstance(condition, ir.Any) else (condition,)
    sides = tuple(_sides_of(term, slot) for term in terms)
    known = tuple(item for item in sides if item is not None)
    return known if known and len(known) == len(sides) else None


def _sides_of(condition: ir.Condition, slot: int) -> JoinSides | None:
    """Return the side of a variable and the other side of an equality; None for other conditions.

    Only for sides of one type whose values are equal exactly if their stored forms are.
    """
    match condition:
        case ir.Compare(Comparator.EQ, left, right) if isinstance(left, _STORED_VALUES) and isinstance(
            right, _STORED_VALUES
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
