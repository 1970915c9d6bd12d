"""Values that are computed from other values and from conditions, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.values import BOOL, Computed, Value
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
class ConditionTruth(Computed):
    """A condition as a Bool; NULL when it is unknown."""

    condition: Condition

    @property
    def type(self) -> PropertyType:
        """Bool."""
        return BOOL
