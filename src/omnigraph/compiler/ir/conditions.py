"""Typed conditions in three-valued logic: true, false, or unknown; a filter keeps only true."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from omnigraph.compiler.ir.values import Value


class Comparator(Enum):
    """How two values are compared."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class Compare:
    """Compare two values; unknown when either is NULL.

    Numbers compare as exact numbers whatever their widths, Strings by code point, false before true,
    dates by time.
    """

    comparator: Comparator
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class ListContains:
    """Whether a list has an equal member.

    Unknown when the list or the item is NULL, and when no member is equal and one is NULL.
    """

    list: Value
    item: Value


@dataclass(frozen=True, slots=True)
class TextContains:
    """Whether a string contains another, case-sensitive and literal; unknown when either is NULL."""

    text: Value
    part: Value


@dataclass(frozen=True, slots=True)
class TextStartsWith:
    """Whether a string starts with another, case-sensitive and literal; unknown when either is NULL."""

    text: Value
    prefix: Value


@dataclass(frozen=True, slots=True)
class TextMatches:
    """Whether a regular expression (RE2) is found in a string; unknown when either is NULL.

    The pattern is a constant or a parameter.
    """

    text: Value
    pattern: Value


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a value is NULL; never unknown."""

    value: Value


@dataclass(frozen=True, slots=True)
class All:
    """False when a term is false, else unknown when one is unknown, else true."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """True when a term is true, else unknown when one is unknown, else false."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; unknown stays unknown."""

    term: Condition


Condition: TypeAlias = (
    Compare | ListContains | TextContains | TextStartsWith | TextMatches | IsNull | All | Any | Not
)
