"""Expressions that compute: operators, calls, `case` and conditions as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from omnigraph.compiler.ir.values import Quantifier
from omnigraph.compiler.query.ast.expressions import (
    AggregateCall,
    ComputedExpression,
    Expression,
    Identifier,
    Star,
    VariableReference,
)
from omnigraph.compiler.query.ast.patterns import (
    AndCondition,
    Clause,
    ComparisonCondition,
    Condition,
    NotCondition,
    NullTest,
    OrCondition,
    TruthTest,
)
from omnigraph.compiler.source import Span


class Arithmetic(StrEnum):
    """The operators between two values."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"


@dataclass(frozen=True, slots=True)
class Operation(ComputedExpression):
    """`left operator right`."""

    left: Expression
    operator: Arithmetic
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Negative(ComputedExpression):
    """`-value`; a number with a sign is a literal."""

    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class IndexAccess(ComputedExpression):
    """`list[position]`."""

    list: Expression
    position: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class ListExpression(ComputedExpression):
    """`[a, b]`, of which not every item is a literal."""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class FunctionCall(ComputedExpression):
    """`name(a, b)`; which functions there are is known with the types."""

    name: Identifier
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ListTest(ComputedExpression):
    """`any($x in list where condition)`."""

    quantifier: Quantifier
    variable: VariableReference
    list: Expression
    condition: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class CaseBranch:
    """`when condition then value`."""

    condition: Condition
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class CaseExpression(ComputedExpression):
    """`case when … then … else … end`."""

    branches: tuple[CaseBranch, ...]
    otherwise: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class ConditionValue(ComputedExpression):
    """A condition as a Bool value."""

    condition: Condition
    span: Span


class BlockFunction(StrEnum):
    """What a pattern as a value says of its matches."""

    EXISTS = "exists"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class BlockValue(ComputedExpression):
    """`exists { … }` or `count { … }`: whether a pattern has a match, or how many it has."""

    function: BlockFunction
    clauses: tuple[Clause, ...]
    span: Span


def parts_of(node: Expression | Condition) -> tuple[Expression | Condition, ...]:
    """Return the expressions and conditions that a computed value or a condition is made of."""
    match node:
        case Operation() | ComparisonCondition():
            return node.left, node.right
        case Negative() | TruthTest() | NullTest():
            return (node.operand,)
        case IndexAccess():
            return node.list, node.position
        case FunctionCall():
            return node.arguments
        case ListExpression():
            return node.items
        case CaseExpression():
            pairs = [part for item in node.branches for part in (item.condition, item.value)]
            return (*pairs, *(() if node.otherwise is None else (node.otherwise,)))
        case ConditionValue():
            return (node.condition,)
        case ListTest():
            return node.list, node.condition
        case AndCondition() | OrCondition():
            return node.terms
        case NotCondition():
            return (node.term,)
        case AggregateCall():
            return () if isinstance(node.argument, Star) else (node.argument,)
    return ()
