"""Whole queries and the file that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.query.ast.expressions import (
    Expression,
    Identifier,
    IntLiteral,
    VariableReference,
)
from omnigraph.compiler.query.ast.patterns import Clause, Condition
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import PropertyType


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """`$name: Type`."""

    name: str
    type: PropertyType
    span: Span


@dataclass(frozen=True, slots=True)
class AllProperties:
    """`$v.*`: a column for each property."""

    variable: VariableReference
    span: Span


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """`expression as alias`."""

    expression: Expression | AllProperties
    alias: Identifier | None
    span: Span


@dataclass(frozen=True, slots=True)
class OrderItem:
    """`expression asc|desc`; `descending` is None when no direction was written."""

    expression: Expression
    descending: bool | None
    span: Span


@dataclass(frozen=True, slots=True)
class ReturnClause:
    """`return { … }`."""

    items: tuple[ReturnItem, ...]
    distinct: bool
    span: Span


@dataclass(frozen=True, slots=True)
class HavingClause:
    """`having { … }`: conditions over groups."""

    conditions: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class OrderClause:
    """`order { … }`."""

    items: tuple[OrderItem, ...]
    span: Span


PageValue: TypeAlias = IntLiteral | VariableReference


@dataclass(frozen=True, slots=True)
class MatchClause:
    """`match { … }`, or `match distinct edges { … }`."""

    clauses: tuple[Clause, ...]
    span: Span
    distinct_edges: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """`match { … } with { … } …`: what follows begins with its rows, and sees only what it lists.

    Its columns are those of a `return` whose aliases are variables. Without `match` it follows another stage.
    """

    match: MatchClause | None
    returns: ReturnClause
    having: HavingClause | None
    order: OrderClause | None
    skip: PageValue | None
    limit: PageValue | None
    span: Span


@dataclass(frozen=True, slots=True)
class Read:
    """The body of a read query; only after a stage it may have no pattern of its own."""

    match: MatchClause | None
    returns: ReturnClause
    order: OrderClause | None
    skip: PageValue | None
    limit: PageValue | None
    span: Span
    having: HavingClause | None = None
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """`part union part …`: the rows of all parts, with `union all` also those that are equal."""

    parts: tuple[Read, ...]
    keeps_equal: bool
    order: OrderClause | None
    skip: PageValue | None
    limit: PageValue | None
    span: Span


@dataclass(frozen=True, slots=True)
class PropertyAssignment:
    """`property: value` in a mutation."""

    property: Identifier
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """`insert Type { … }`."""

    type_name: Identifier
    assignments: tuple[PropertyAssignment, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class UpsertStatement:
    """`upsert Type { … }`."""

    type_name: Identifier
    assignments: tuple[PropertyAssignment, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """`update Type set { … } where …`."""

    type_name: Identifier
    assignments: tuple[PropertyAssignment, ...]
    where: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """`delete Type where …`."""

    type_name: Identifier
    where: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class MatchedUpdateStatement:
    """`update $v set { … }`, of what the match has bound."""

    variable: VariableReference
    assignments: tuple[PropertyAssignment, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MatchedDeleteStatement:
    """`delete $v`, of what the match has bound."""

    variable: VariableReference
    span: Span


Statement: TypeAlias = (
    InsertStatement
    | UpsertStatement
    | UpdateStatement
    | DeleteStatement
    | MatchedUpdateStatement
    | MatchedDeleteStatement
)


@dataclass(frozen=True, slots=True)
class Write:
    """The body of a mutation query; with `match` its statements are run for every row of it."""

    statements: tuple[Statement, ...]
    span: Span
    match: MatchClause | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One named query."""

    name: Identifier
    parameters: tuple[ParameterDeclaration, ...]
    description: str | None
    instruction: str | None
    body: Read | Union | Write
    span: Span


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with its marks; `own_line` when nothing precedes it on its line."""

    text: str
    own_line: bool
    span: Span


@dataclass(frozen=True, slots=True)
class File:
    """All queries of a text, with the comments between them."""

    queries: tuple[Query, ...]
    comments: tuple[Comment, ...] = ()
