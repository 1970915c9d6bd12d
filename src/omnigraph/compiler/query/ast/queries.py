"""Whole queries and the file that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.query.ast.expressions import Expression, IntLiteral, Name, Value, Variable
from omnigraph.compiler.query.ast.patterns import Clause, Condition
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import PropertyType


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name: Type`."""

    name: str
    type: PropertyType
    span: Span


@dataclass(frozen=True, slots=True)
class Projection:
    """`expression as alias`."""

    expression: Expression
    alias: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class Ordering:
    """`expression asc|desc`; `descending` is None when no direction was written."""

    expression: Expression
    descending: bool | None
    span: Span


@dataclass(frozen=True, slots=True)
class Projections:
    """`return { … }`."""

    items: tuple[Projection, ...]
    distinct: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Orderings:
    """`order { … }`."""

    items: tuple[Ordering, ...]
    span: Span


PageValue: TypeAlias = IntLiteral | Variable


@dataclass(frozen=True, slots=True)
class Match:
    """`match { … }`."""

    clauses: tuple[Clause, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Read:
    """The body of a read query."""

    match: Match
    returns: Projections
    order: Orderings | None
    skip: PageValue | None
    limit: PageValue | None
    span: Span


@dataclass(frozen=True, slots=True)
class Assignment:
    """`property: value` in a mutation."""

    property: Name
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Insert:
    """`insert Type { … }`."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Update:
    """`update Type set { … } where …`."""

    type_name: Name
    assignments: tuple[Assignment, ...]
    where: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class Delete:
    """`delete Type where …`."""

    type_name: Name
    where: Condition
    span: Span


Statement: TypeAlias = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Write:
    """The body of a mutation query."""

    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Query:
    """One named query."""

    name: Name
    parameters: tuple[Parameter, ...]
    description: str | None
    instruction: str | None
    body: Read | Write
    span: Span


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with its marks; `own_line` says that nothing stands before it on its line."""

    text: str
    own_line: bool
    span: Span


@dataclass(frozen=True, slots=True)
class File:
    """All queries of a text, with the comments between them."""

    queries: tuple[Query, ...]
    comments: tuple[Comment, ...] = ()
