"""Values that are computed from other values and from conditions, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.values import (
    BOOL,
    Computed,
    EdgeEnd,
    EntityId,
    EntityType,
    ListMember,
    PropertyValue,
    Quantifier,
    Value,
)
from omnigraph.compiler.types import PropertyType


@dataclass(frozen=True, slots=True)
class Call(Computed):
    """An operator or function of `compiler.functions` applied to values.

    NULL when an argument is NULL, unless the function says otherwise, and when it has no result: division by
    zero, a number outside its range, a text that is not what it is converted to.
    """

    function: str
    arguments: tuple[Value, ...]
    type: PropertyType


@dataclass(frozen=True, slots=True)
class CaseChoice:
    """A value, and the condition under which a `Case` takes it."""

    condition: Condition
    value: Value


@dataclass(frozen=True, slots=True)
class Case(Computed):
    """The value of the first branch whose condition is true; without one, `otherwise`."""

    branches: tuple[CaseChoice, ...]
    otherwise: Value
    type: PropertyType


@dataclass(frozen=True, slots=True)
class ListOf(Computed):
    """The list of some values, each as the type of its members has it; never NULL, though a member may be.

    As a vector it is NULL when a member is.
    """

    items: tuple[Value, ...]
    type: PropertyType


@dataclass(frozen=True, slots=True)
class MemberTest(Computed):
    """Whether a condition over `member` is true for the members of a list; NULL when the list is NULL."""

    quantifier: Quantifier
    list: Value
    member: ListMember
    condition: Condition

    @property
    def type(self) -> PropertyType:
        """Bool."""
        return BOOL


@dataclass(frozen=True, slots=True)
class ConditionTruth(Computed):
    """A condition as a Bool; NULL when it is unknown."""

    condition: Condition

    @property
    def type(self) -> PropertyType:
        """Bool."""
        return BOOL


@dataclass(frozen=True, slots=True)
class EntityMap(Computed):
    """The whole node or edge in a variable as a map; NULL when the variable is NULL.

    Two are equal if their types and ids are, and are ordered by type, then by id.
    """

    type_name: EntityType
    id: EntityId
    ends: tuple[EdgeEnd, ...]
    """Source and target of an edge; none for a node."""
    properties: tuple[PropertyValue, ...]
    """A value for each field of the shape; NULL for types without it."""
    type: PropertyType

    @property
    def fixed(self) -> tuple[Value, ...]:
        """What it has beside the properties: type, id and ends."""
        return (self.type_name, self.id, *self.ends)
