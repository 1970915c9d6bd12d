"""A whole query, ready to be planned: what it reads, computes, orders and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from omnigraph.compiler.catalog.model import Property, TableKind
from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.pattern import Block, Variable
from omnigraph.compiler.ir.values import Aggregate, Constant, EntityId, Parameter, Score, Value
from omnigraph.compiler.types import PropertyType


@dataclass(frozen=True, slots=True, order=True)
class TouchedTable:
    """A node or edge type that a query touches."""

    kind: TableKind
    type_name: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the result."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Projection:
    """A returned column; a `shadowed` one has a later namesake: it groups, but is not shown."""

    name: str
    value: Value | Aggregate
    shadowed: bool = False
    on_groups: bool = False
    """Whether it is computed from the other columns of each group, and so neither a key nor an aggregate."""
    hidden: bool = False
    """Whether others are computed from it, and the result does not have it."""

    @property
    def is_key(self) -> bool:
        """Whether it is a group key, if there are groups."""
        return not self.on_groups and not isinstance(self.value, Aggregate)


@dataclass(frozen=True, slots=True)
class Output:
    """The value of a projection, by its position; used where rows are groups or were made distinct."""

    projection: int


@dataclass(frozen=True, slots=True)
class SortKey:
    """One sort key. NULL is the smallest value: first ascending, last descending.

    Strings sort by their UTF-8 bytes, false before true, lists and vectors by their first different member,
    NULL being the smallest; queries cannot name one as a key, but they break ties.
    """

    value: Value | Output
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """The first sort key is a search score.

    Rows without a score are dropped. When `candidates` is set, that variable is first cut to its best
    `skip + limit` nodes (and those equal to the last, when later sort keys decide between them): of all nodes
    of its type that satisfy the filters of the top block which mention no other variable. The rest of the
    pattern applies to those.
    """

    score: Score
    candidates: int | None


PageValue: TypeAlias = Constant | Parameter


@dataclass(frozen=True, slots=True)
class Source:
    """The rows that a read begins with: those of a read before it, or of several one after the other.

    One read is a stage, whose numbers of variables are none of those that follow. Several are a union.
    """

    reads: tuple[ReadQuery, ...]
    variables: tuple[int, ...]
    """The variable that holds each of their columns; a node or edge is there by what identifies it."""


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A read: pattern, then grouping, projection, distinct, order, skip and limit, in this sequence.

    With a source the pattern is matched for each of its rows.

    With an aggregate among the projections the others are the group keys, NULL being a value of its
    own; without group keys there is always one row. Of the groups those stay for which `having` is true.
    `distinct` keeps one of the rows that are equal in all shown columns. Rows are sorted by `order`, then by
    `ties`, which makes the order total as far as the result shows. Without `order` the sequence is free.
    """

    name: str
    parameters: tuple[Parameter, ...]
    variables: tuple[Variable, ...]
    """Indexed by slot, those of inner blocks included."""
    match: Block
    projections: tuple[Projection, ...]
    grouped: bool
    distinct: bool
    ranking: Ranking | None
    order: tuple[SortKey, ...]
    ties: tuple[SortKey, ...]
    skip: PageValue | None
    limit: PageValue | None
    columns: tuple[Column, ...]
    """The shown columns, in order, each name once."""
    reads: tuple[TouchedTable, ...]
    writes: tuple[TouchedTable, ...] = ()
    kind: Literal["read"] = "read"
    having: Condition | None = None
    """Over `GroupValue`s."""
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A property and the value that it gets, already of the property's type."""

    property: Property
    value: Value


@dataclass(frozen=True, slots=True)
class InsertNode:
    """Store a node: with a key, replace the whole row of that id; without one, add a row with a new id.

    `values` holds every property: what was not assigned is its default or NULL. A property that is
    absent is a required `@embed` target whose source is assigned: the writer embeds or refuses.
    """

    type_name: str
    values: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """Add an edge between the nodes with these ids; `values` as for nodes."""

    type_name: str
    source: Value
    target: Value
    values: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Upsert:
    """Set properties of one row, which its key or `id` names; add the row where there is none.

    `given` holds what was assigned, the members of the key included; `others` holds the defaults and NULLs
    that a new row has beside it. A property in neither is required: a new row without it is refused.
    """

    table: TouchedTable
    id: Value | None
    """Given where the type has no key."""
    ends: tuple[Value, Value] | None
    """The ids of the nodes of an edge."""
    given: tuple[Assignment, ...]
    others: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """Set properties of every row for which the condition is true; the row is variable 0."""

    table: TouchedTable
    assignments: tuple[Assignment, ...]
    where: Condition


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove every row for which the condition is true, and a node's edges; the row is variable 0."""

    table: TouchedTable
    where: Condition


@dataclass(frozen=True, slots=True)
class MatchedUpdate:
    """Set properties of every row that a match has put into a variable."""

    table: TouchedTable
    row: EntityId
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class MatchedDelete:
    """Remove every row that a match has put into a variable, and a node's edges."""

    table: TouchedTable
    row: EntityId


Statement: TypeAlias = InsertNode | InsertEdge | Upsert | Update | Delete | MatchedUpdate | MatchedDelete


def target_of(statement: Statement) -> TouchedTable:
    """Return the type that a statement writes."""
    if isinstance(statement, InsertNode | InsertEdge):
        kind: TableKind = "node" if isinstance(statement, InsertNode) else "edge"
        return TouchedTable(kind, statement.type_name)
    return statement.table


@dataclass(frozen=True, slots=True)
class WriteQuery:
    """A mutation: statements in order, each seeing what earlier ones staged, one commit.

    With `match`, which is read first and on the stored rows, every statement is run for all rows of it; its
    values then read the variables of the match.
    """

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    reads: tuple[TouchedTable, ...]
    writes: tuple[TouchedTable, ...]
    columns: tuple[Column, ...] = ()
    match: ReadQuery | None = None
    kind: Literal["mutation"] = "mutation"


CompiledQuery: TypeAlias = ReadQuery | WriteQuery
