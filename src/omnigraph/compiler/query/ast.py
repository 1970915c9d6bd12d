"""The syntax tree of the query language: what was written and where, without any meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from omnigraph.compiler.catalog.model import PropertyType
from omnigraph.compiler.source import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name and its place."""

    text: str
    span: Span


# Expressions


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """A quoted text, escapes resolved."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class IntLiteral:
    """A whole number that fits 64 bits with sign."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class FloatLiteral:
    """A number with a fraction part; `text` is kept so that printing loses nothing."""

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


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name`: a parameter, a node, an edge or a path length."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class PropertyAccess:
    """`$name.property`."""

    variable: Variable
    property: Name
    span: Span


@dataclass(frozen=True, slots=True)
class AliasReference:
    """A bare word: the name of a returned column."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Now:
    """`now()`."""

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


class AggregateFunction(StrEnum):
    """The aggregates."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECT = "collect"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count(x)` and its kin; `distinct` drops equal values first."""

    function: AggregateFunction
    argument: Expression
    distinct: bool
    span: Span


Expression: TypeAlias = (
    Literal | Variable | PropertyAccess | AliasReference | Now | TextCall | Nearest | Bm25 | Rrf | Aggregate
)
Value: TypeAlias = Literal | Variable | Now
SearchCall: TypeAlias = TextCall | Nearest | Bm25 | Rrf


# Conditions


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


# Clauses of `match`


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


# Queries


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
