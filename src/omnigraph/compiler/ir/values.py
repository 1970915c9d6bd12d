"""Typed value expressions. Each node says what it computes for one row; every value may be NULL.

Values are plain: Date is epoch days, DateTime is epoch milliseconds UTC, lists and vectors are tuples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import TypeAlias

from omnigraph.compiler.catalog.model import Property
from omnigraph.compiler.types import PropertyType, Scalar

PlainValue: TypeAlias = "str | bytes | int | float | bool | tuple[PlainValue, ...] | None"

STRING = PropertyType(Scalar.STRING)
BOOL = PropertyType(Scalar.BOOL, nullable=True)
I64 = PropertyType(Scalar.I64)
SCORE = PropertyType(Scalar.F64, nullable=True)
DATETIME = PropertyType(Scalar.DATETIME)


ROW_VARIABLE = 0
"""The variable that is the row itself, where a condition is about the rows of one table."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One value, the same for every row."""

    value: PlainValue
    type: PropertyType


EACH_ROW = Constant(1, I64)
"""What `count(*)` counts."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """The value that the caller gives for a declared parameter; binding replaces it by a Constant."""

    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class Now:
    """The time of the request, one value for all its rows and statements; binding replaces it."""

    @property
    def type(self) -> PropertyType:
        """DateTime."""
        return DATETIME


@dataclass(frozen=True, slots=True)
class PropertyValue:
    """A property of the node or edge in a variable; NULL when the variable is NULL."""

    variable: int
    declared: Property
    optional: bool = False
    """Whether the variable itself may be NULL."""

    @property
    def type(self) -> PropertyType:
        """The property's type, nullable when the variable is."""
        if self.optional and not self.declared.type.nullable:
            return replace(self.declared.type, nullable=True)
        return self.declared.type


@dataclass(frozen=True, slots=True)
class EntityId:
    """The id of the node or edge in a variable; NULL when the variable is NULL."""

    variable: int
    optional: bool = False

    @property
    def type(self) -> PropertyType:
        """String."""
        return replace(STRING, nullable=self.optional)


@dataclass(frozen=True, slots=True)
class EntityType:
    """The name of the type of the node or edge in a variable; NULL when the variable is NULL."""

    variable: int
    optional: bool = False

    @property
    def type(self) -> PropertyType:
        """String."""
        return replace(STRING, nullable=self.optional)


@dataclass(frozen=True, slots=True)
class EntityKey:
    """What tells the nodes or edges of a variable over several types apart, as `Type:id`."""

    variable: int
    optional: bool = False

    @property
    def type(self) -> PropertyType:
        """String."""
        return replace(STRING, nullable=self.optional)


class End(Enum):
    """An end of an edge, in the direction in which the edge is stored."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class EdgeEnd:
    """The id of the node at one end of the edge in a variable."""

    variable: int
    end: End
    optional: bool = False

    @property
    def type(self) -> PropertyType:
        """String."""
        return replace(STRING, nullable=self.optional)


@dataclass(frozen=True, slots=True)
class PathLength:
    """The hop number that a traversal put into a variable."""

    variable: int
    optional: bool = False

    @property
    def type(self) -> PropertyType:
        """I64."""
        return replace(I64, nullable=self.optional)


class PathPart(Enum):
    """What is read of a path."""

    NODES = "nodes"
    """The ids of its nodes, from the source to the target."""
    EDGES = "edges"
    """The ids of its edges, in the sequence in which they are followed."""
    LENGTH = "length"
    """How many edges it has."""
    COST = "cost"
    """The exact sum of its weights, rounded once if they are floats, NULL beyond I64 or F64; its length if it
    has no weights."""
    RANK = "rank"
    """How many of the paths that were found between its ends are better."""


@dataclass(frozen=True, slots=True)
class PathValue:
    """A part of the path in a variable; NULL when the variable is NULL."""

    variable: int
    part: PathPart
    type: PropertyType


def path_rank(variable: int, optional: bool) -> PathValue:
    """Return the rank of the path in a variable."""
    return PathValue(variable, PathPart.RANK, replace(I64, nullable=optional))


@dataclass(frozen=True, slots=True)
class StageValue:
    """What an earlier stage, or a part of a union, has computed for the row."""

    variable: int
    type: PropertyType


@dataclass(frozen=True, slots=True)
class RoundedToF32:
    """A number, or each number of a list, rounded to F32 so that it compares with stored F32 values."""

    value: Parameter

    @property
    def type(self) -> PropertyType:
        """The value's type with F32 numbers."""
        return replace(self.value.type, scalar=Scalar.F32)


@dataclass(frozen=True, slots=True)
class IdOfEnd:
    """The id of the node that a parameter names by its id or its key, or those of a list of nodes."""

    value: Parameter
    key: PropertyType
    """The type of the key."""

    @property
    def type(self) -> PropertyType:
        """String."""
        return replace(STRING, nullable=self.value.type.nullable, is_list=self.value.type.is_list)


@dataclass(frozen=True, slots=True)
class StoredAs:
    """A parameter that is stored in a property; binding converts it strictly or raises ValidationError.

    Integers must fit, a float with decimals never becomes an integer, floats stay finite at their width, and
    NULL needs a nullable property.
    """

    value: Parameter
    type: PropertyType
    subject: str
    """The property in messages, as `Type.property`."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """True when the field's text holds any token of the query text; NULL when either is NULL.

    Both texts are lower-cased, stemmed and freed of stop words, with an index and without one. With
    `max_edits` a word of the field matches when it is within that edit distance of a query token.
    """

    field: PropertyValue
    text: Value
    max_edits: Value | None = None

    @property
    def type(self) -> PropertyType:
        """Bool."""
        return BOOL


@dataclass(frozen=True, slots=True)
class TextScore:
    """The BM25 score of the field's text, over the whole table's statistics; NULL where nothing matches."""

    field: PropertyValue
    text: Value

    @property
    def type(self) -> PropertyType:
        """F64."""
        return SCORE


@dataclass(frozen=True, slots=True)
class VectorDistance:
    """The cosine distance between a vector property and a query; NULL when either is NULL.

    A String query is first embedded by the configured provider at the property's dimension, with the
    property's own model when it names one.
    """

    field: PropertyValue
    query: Value

    @property
    def type(self) -> PropertyType:
        """F64."""
        return SCORE


@dataclass(frozen=True, slots=True)
class RankFusion:
    """The sum of 1/(k + rank) over the rankings that contain the node; NULL when none does.

    Each ranking orders the candidates of its variable best first, ties by id, without those that have
    no score, ranks from 1, and is cut to `skip + limit` when the query has a limit. The candidates are
    those of `Ranking`; for a variable without a binding of its own, its nodes in the matches.
    """

    rankings: tuple[TextScore | VectorDistance, ...]
    k: Value

    @property
    def type(self) -> PropertyType:
        """F64."""
        return SCORE


class Computed:
    """A value that is computed from others; `ir.computed` has the kinds."""

    __slots__ = ()

    @property
    def type(self) -> PropertyType:
        """The type of the result, which says whether it may be NULL."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ListMember:
    """The member of a list that the condition of a `MemberTest` looks at."""

    number: int
    """How many other tests this one is inside of."""
    name: str
    type: PropertyType


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A column of the groups, by the position of its projection: inside what is computed after grouping."""

    projection: int
    type: PropertyType


Score: TypeAlias = TextScore | VectorDistance | RankFusion
Value: TypeAlias = (
    Constant
    | Parameter
    | Now
    | PropertyValue
    | EntityId
    | EntityType
    | EntityKey
    | EdgeEnd
    | PathLength
    | StageValue
    | PathValue
    | RoundedToF32
    | IdOfEnd
    | StoredAs
    | TextMatch
    | TextScore
    | VectorDistance
    | RankFusion
    | GroupValue
    | ListMember
    | Computed
)


class Quantifier(StrEnum):
    """The word of a test, and for how many members of a list its condition must be true."""

    ANY = "any"
    """At least one: true when it is true for one, else unknown when it is unknown for one, else false."""
    ALL = "all"
    """Every: false when it is false for one, else unknown when it is unknown for one, else true."""
    NONE = "none"
    """The opposite of ANY."""


class AggregateFunction(StrEnum):
    """The word of an aggregate, and what it computes from the non-NULL values of a group."""

    COUNT = "count"
    """How many there are: I64, 0 for none."""
    SUM = "sum"
    """Their sum as F64, NULL for none."""
    AVG = "avg"
    """Their mean as F64, NULL for none."""
    MIN = "min"
    """The smallest, NULL for none."""
    MAX = "max"
    """The largest, NULL for none."""
    COLLECT = "collect"
    """All of them as a list in ascending order, empty for none."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value per group, from the non-NULL values of the argument; `distinct` takes equal ones once."""

    function: AggregateFunction
    argument: Value
    distinct: bool
    type: PropertyType
