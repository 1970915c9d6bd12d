"""What an operator or function takes, gives and computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.compiler.types import PropertyType, Scalar

I64_MIN, I64_MAX = -(2**63), 2**63 - 1


class NoResult(Exception):
    """These arguments have no result; the message says why."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A set of types that an argument may have."""

    name: str
    accepts: Callable[[PropertyType], bool]


@dataclass(frozen=True, slots=True)
class Overload:
    """One form of a function: the kinds of its arguments, its result, and how it is computed."""

    parameters: tuple[Kind, ...]
    result: Callable[[Sequence[PropertyType]], PropertyType]
    compute: Callable[..., Any]
    """Takes plain values that are not NULL; raises NoResult where there is none."""
    fits: Callable[[Sequence[PropertyType]], bool] = lambda _types: True
    """Whether arguments of the right kinds fit together."""

    def takes(self, types: Sequence[PropertyType]) -> bool:
        """Return whether arguments of these types fit."""
        if len(types) != len(self.parameters):
            return False
        pairs = zip(self.parameters, types, strict=True)
        return all(kind.accepts(type_) for kind, type_ in pairs) and self.fits(types)


def gives(scalar: Scalar, is_list: bool = False) -> Callable[[Sequence[PropertyType]], PropertyType]:
    """Return a rule for a result that is always of one type."""
    type_ = PropertyType(scalar, nullable=True, is_list=is_list)
    return lambda _types: type_


def gives_first(types: Sequence[PropertyType]) -> PropertyType:
    """Return the type of the first argument."""
    return replace(types[0], nullable=True)


def gives_member(types: Sequence[PropertyType]) -> PropertyType:
    """Return the type of the members of the first argument, a list."""
    return replace(types[0], nullable=True, is_list=False)


def _scalar(*wanted: Scalar) -> Callable[[PropertyType], bool]:
    return lambda type_: type_.is_plain and type_.scalar in wanted


TEXT = Kind("String", _scalar(Scalar.STRING))
BOOLEAN = Kind("Bool", _scalar(Scalar.BOOL))
INTEGER = Kind("an integer", lambda type_: type_.is_plain and type_.scalar.is_integer)
FLOAT = Kind("a float", lambda type_: type_.is_plain and type_.scalar.is_float)
NUMBER = Kind("a number", lambda type_: type_.is_plain and type_.scalar.is_numeric)
DATE = Kind("Date", _scalar(Scalar.DATE))
DATETIME = Kind("DateTime", _scalar(Scalar.DATETIME))
LIST = Kind("a list", lambda type_: type_.is_list)
VECTOR = Kind("Vector(n)", lambda type_: type_.is_vector)


def check_integer(value: int) -> int:
    """Return an integer that fits I64, or raise NoResult."""
    if not I64_MIN <= value <= I64_MAX:
        raise NoResult("the result exceeds the range of I64")
    return value
