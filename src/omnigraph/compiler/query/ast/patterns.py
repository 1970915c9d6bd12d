"""Conditions, and the clauses of `match`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from omnigraph.compiler.query.ast.expressions import (
    Expression,
    Identifier,
    TextCall,
    Value,
    VariableReference,
)
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
class ComparisonCondition:
    """`left operator right`."""

    left: Expression
    operator: Operator
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class TruthTest:
    """A Bool value as a condition."""

    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class NullTest:
    """`operand is null`, or `is not null` when negated."""

    operand: Expression
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class AndCondition:
    """All terms."""

    terms: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class OrCondition:
    """At least one term."""

    terms: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class NotCondition:
    """The opposite of a condition; unknown stays unknown."""

    term: Condition
    span: Span


Condition: TypeAlias = (
    ComparisonCondition | TruthTest | NullTest | AndCondition | OrCondition | NotCondition | TextCall
)


@dataclass(frozen=True, slots=True)
class PropertyMatch:
    """`property: value` inside a binding."""

    property: Identifier
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Binding:
    """`$v: Type { p: value }`; `more` has the types after the first in `$v: Type|Other`."""

    variable: VariableReference
    type_name: Identifier
    matches: tuple[PropertyMatch, ...]
    span: Span
    more: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """`{low,high}`; `high` is None when it was left out."""

    low: int
    high: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class ShortestBy:
    """`shortest 3 by weight`; what was left out is None."""

    count: int | None
    weight: Identifier | None
    span: Span


@dataclass(frozen=True, slots=True)
class FoundPath:
    """`as path $w` behind a traversal, and what stands before it."""

    variable: VariableReference
    shortest: ShortestBy | None
    span: Span


@dataclass(frozen=True, slots=True)
class Traversal:
    """`$a edge $b` with its optional edge variable, direction marks, bounds and length or path variable.

    `more` has the edges after the first in `$a edge|other $b`.
    """

    source: VariableReference
    edge_variable: VariableReference | None
    edge: Identifier
    undirected: bool
    bounds: Bounds | None
    target: VariableReference
    length: VariableReference | None
    span: Span
    more: tuple[Identifier, ...] = ()
    path: FoundPath | None = None

    @property
    def variables(self) -> tuple[VariableReference, ...]:
        """All variables that it names."""
        path = None if self.path is None else self.path.variable
        named = (self.source, self.target, self.edge_variable, self.length, path)
        return tuple(item for item in named if item is not None)


@dataclass(frozen=True, slots=True)
class FilterClause:
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


Clause: TypeAlias = Binding | Traversal | FilterClause | Negation | OptionalBlock
