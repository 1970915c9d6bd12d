"""Conditions, and the clauses of `match`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from omnigraph.compiler.query.ast.expressions import Expression, Name, TextCall, Value, Variable
from omnigraph.compiler.source import Span


class Operator(StrEnum):
    """The comparison operators, word operators included."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IN = "in"


@dataclass(frozen=True, slots=True)
class Field:
    """A bare property name on the left of a comparison in a mutation's `where`."""

    name: str
    span: Span


Operand: TypeAlias = Expression | Field


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`."""

    left: Operand
    operator: Operator
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class NullTest:
    """`operand is null`, or `is not null` when negated."""

    operand: Operand
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    """All terms."""

    terms: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Or:
    """At least one term."""

    terms: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition; unknown stays unknown."""

    term: Condition
    span: Span


Condition: TypeAlias = Comparison | NullTest | And | Or | Not | TextCall


@dataclass(frozen=True, slots=True)
class PropertyMatch:
    """`property: value` inside a binding."""

    property: Name
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Binding:
    """`$v: Type { p: value }`."""

    variable: Variable
    type_name: Name
    matches: tuple[PropertyMatch, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Bounds:
    """`{low,high}`; `high` is None when it was left out."""

    low: int
    high: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Traversal:
    """`$a edge $b` with its optional edge variable, direction marks, bounds and length variable."""

    source: Variable
    edge_variable: Variable | None
    edge: Name
    undirected: bool
    bounds: Bounds | None
    target: Variable
    length: Variable | None
    span: Span


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition that rows must satisfy."""

    condition: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class Negation:
    """`not { … }`."""

    clauses: tuple[Clause, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class OptionalBlock:
    """`optional { … }`."""

    clauses: tuple[Clause, ...]
    span: Span


Clause: TypeAlias = Binding | Traversal | Filter | Negation | OptionalBlock
