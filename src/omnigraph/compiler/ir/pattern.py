"""The pattern of a read: variables and the steps that relate them.

A block is a join of relations over variables, a bag of assignments. Its steps commute, with one
exception: a step that mentions a variable introduced by a LeftJoin or CountJoin comes after it. Every
relation of a single step is a set, so that joining never depends on the order in which an engine takes
the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from omnigraph.compiler.catalog.model import Property
from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.types import PropertyType


class VariableKind(Enum):
    """What a variable holds."""

    NODE = "node"
    EDGE = "edge"
    LENGTH = "length"
    """The length of a path, or another number that a step finds."""
    VALUE = "value"
    """A value that an earlier stage has computed."""
    PATH = "path"
    """A path between two nodes."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A place for a node, an edge, a path or its length, known by its number within the query.

    `name` is what the query calls it, for results and explanations, and None for `$_`.
    """

    slot: int
    name: str | None
    kind: VariableKind
    type_name: str
    """The node or edge type; empty for a path, its length, or another value."""
    optional: bool = False
    """Whether it can be NULL, because a LeftJoin introduced it."""
    more_types: tuple[str, ...] = ()
    """The types beside the first, of a variable over several types."""
    value_type: PropertyType | None = None
    """The type of a value."""

    @property
    def types(self) -> tuple[str, ...]:
        """All its types."""
        return (self.type_name, *self.more_types)


@dataclass(frozen=True, slots=True)
class Scan:
    """The variable ranges over all nodes of its types; twice for one variable is the same as once."""

    variable: int


class Direction(Enum):
    """How a traversal runs over stored edges, seen from its written source."""

    FORWARD = "forward"
    """From the edge's source to its target."""
    BACKWARD = "backward"
    """From the edge's target to its source."""
    BOTH = "both"
    """Either way."""


@dataclass(frozen=True, slots=True)
class Way:
    """An edge type that a traversal follows, and how."""

    edge_type: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class Shortest:
    """How many paths a search finds between two nodes, and by which number of the edges they are short.

    Without a weight the number of edges counts. Of several edge types the weight has the name that the query
    uses.
    """

    count: int
    weight: Property | None = None


@dataclass(frozen=True, slots=True)
class Traverse:
    """Relate two node variables by an edge type, or by any of several; both ends must exist as nodes.

    Without an edge variable: the set of (source, target, length) that a breadth-first search from each
    source reports. It starts with the source visited. A node that is first reached at a hop number in
    low..high is reported with it. A self-loop on a node of the frontier reports that node too, if the
    hop number is in low..high and it was not reported before, and does not extend the search. With
    low = high = 1 this is the set of distinct pairs. When high < low there are none.

    With an edge variable (always one hop): the set of (source, edge, target), one for each edge row;
    with BOTH each incident edge once, a self-loop once, and one edge between two nodes once from each.

    With `more` ways an edge of any way is an edge of the traversal, in the direction of its way. The ends
    have one of the types of their variables; what lies between them over several hops has any type.

    With a path variable, and without `shortest`, each pair has the path by which the search reports it. Of
    equally short ones that is the one with the smallest node before the target, by type and id, then the
    smallest edge to it, and so on backwards; a loop that reports a node follows the path to the node.

    With `shortest` the relation is another: for each source and each other node that is the target, the best
    paths of at most `high` edges (`low` is 1) that meet no node twice. A path is better if its sum of weights
    is smaller, exactly added; then if it has fewer edges; then by the rule above. Its place among them, from
    0, is the rank of the path.
    """

    edge_type: str
    source: int
    target: int
    direction: Direction
    low: int = 1
    high: int = 1
    edge: int | None = None
    length: int | None = None
    more: tuple[Way, ...] = ()
    path: int | None = None
    shortest: Shortest | None = None

    @property
    def ways(self) -> tuple[Way, ...]:
        """All its edge types, each with its direction."""
        return (Way(self.edge_type, self.direction), *self.more)

    @property
    def is_test(self) -> bool:
        """Whether it says of two bound ends only whether an edge joins them."""
        bare = self.edge is None and self.length is None and self.path is None
        return bare and (self.low, self.high) == (1, 1)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the rows for which the condition is true; lowering makes a step of each conjunct."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """Drop a row when the block, with the row's variables fixed, has a solution."""

    block: Block


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """Extend a row by each solution of the block with the row's variables fixed.

    When there is none the row stays once, with NULL in every variable that the block introduces.
    """

    block: Block
    introduces: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CountJoin:
    """Put the number of solutions of the block, with the row's variables fixed, into a variable.

    With `exists` only whether there is one: 1 or 0.
    """

    block: Block
    into: int
    exists: bool


Step: TypeAlias = Scan | Traverse | Filter | AntiJoin | LeftJoin | CountJoin


@dataclass(frozen=True, slots=True)
class Block:
    """A conjunction of steps; a row of the result assigns every variable that the steps introduce."""

    steps: tuple[Step, ...]
