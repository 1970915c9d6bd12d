"""Expressions: literals, variables, calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from omnigraph.compiler.ir.values import AggregateFunction
from omnigraph.compiler.source import Span


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name and its span."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """A string literal, escapes resolved."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class IntLiteral:
    """A whole number that fits 64 bits with sign."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class FloatLiteral:
    """A float literal; `text` is kept so that printing loses nothing."""

    value: float
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class BoolLiteral:
    """`true` or `false`."""

    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class NullLiteral:
    """`null`."""

    span: Span


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """`date("…")`; the text is checked with the types."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class DateTimeLiteral:
    """`datetime("…")`; the text is checked with the types."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, b]`."""

    items: tuple[Literal, ...]
    span: Span


Literal: TypeAlias = (
    StringLiteral
    | IntLiteral
    | FloatLiteral
    | BoolLiteral
    | NullLiteral
    | DateLiteral
    | DateTimeLiteral
    | ListLiteral
)


def is_literal(node: object) -> bool:
    """Return whether an expression is a literal."""
    return isinstance(node, Literal)


@dataclass(frozen=True, slots=True)
class VariableReference:
    """`$name`: a parameter, a node, an edge or a path length."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class PropertyAccess:
    """`$name.property`."""

    variable: VariableReference
    property: Identifier
    span: Span


@dataclass(frozen=True, slots=True)
class AliasReference:
    """A bare word: the name of a returned column."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class BareProperty:
    """A bare property name in a mutation."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class NowCall:
    """`now()`."""

    span: Span


@dataclass(frozen=True, slots=True)
class EntityCall:
    """`type($v)` or `entity($v)`: a function of a whole node or edge."""

    function: Identifier
    variable: VariableReference
    span: Span


class TextFunction(StrEnum):
    """The full-text predicates."""

    SEARCH = "search"
    FUZZY = "fuzzy"
    MATCH_TEXT = "match_text"


@dataclass(frozen=True, slots=True)
class TextCall:
    """`search(field, text)`, `match_text(field, text)` or `fuzzy(field, text, max_edits)`."""

    function: TextFunction
    field: Expression
    text: Expression
    max_edits: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Nearest:
    """`nearest($v.p, query)`."""

    field: PropertyAccess
    query: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Bm25:
    """`bm25(field, text)`."""

    field: Expression
    text: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Rrf:
    """`rrf(ranking, ranking, k)`."""

    rankings: tuple[Nearest | Bm25, ...]
    k: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Star:
    """The `*` of `count(*)`: every row."""

    span: Span


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`count(x)` and the other aggregates; `distinct` drops equal values first."""

    function: AggregateFunction
    argument: Expression | Star
    distinct: bool
    span: Span


class ComputedExpression:
    """What is computed from other expressions and from conditions; `ast.computed` has the kinds."""

    __slots__ = ()

    span: Span


Expression: TypeAlias = (
    Literal
    | VariableReference
    | PropertyAccess
    | AliasReference
    | BareProperty
    | NowCall
    | EntityCall
    | TextCall
    | Nearest
    | Bm25
    | Rrf
    | AggregateCall
    | ComputedExpression
)
Value: TypeAlias = Literal | VariableReference | NowCall
SearchCall: TypeAlias = TextCall | Nearest | Bm25 | Rrf
