"""The nodes of a plan. They refer to the steps of a query's blocks by number, so they fit any parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Score
from omnigraph.execution.plan.access import UNCHOSEN, AccessPath, Route


@dataclass(frozen=True, slots=True)
class ScanNodes:
    """Bind a variable to the nodes of its type that pass the filters; each row is combined with each node.

    With a join, each row is combined with the nodes that have a value equal to one of the row.
    """

    variable: int
    filters: tuple[int, ...]
    is_ranked: bool = False
    """Whether a ranking has chosen the nodes already."""
    join: int | None = None
    """The filter that equates a value of the node with one of the row, or one of several such pairs."""
    path: AccessPath = UNCHOSEN
    more_paths: tuple[AccessPath, ...] = ()
    """The access paths to the nodes of further types, of a variable over several."""

    @property
    def paths(self) -> tuple[AccessPath, ...]:
        """The access path to the nodes of each type."""
        return (self.path, *self.more_paths)


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Keep the rows in which a bound variable is one of the nodes of its scan."""

    variable: int


@dataclass(frozen=True, slots=True)
class FilterRows:
    """Keep the rows for which a filter is true."""

    filter: int


@dataclass(frozen=True, slots=True)
class Expand:
    """Follow edges from the bound end to the other, and keep far ends that pass the filters."""

    traverse: int
    start: int
    filters: tuple[int, ...] = ()
    route: Route = Route.ADJACENCY
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckEdge:
    """Keep the rows whose two ends are connected by an edge."""

    traverse: int


@dataclass(frozen=True, slots=True)
class CountExpand:
    """Count the far ends instead of visiting them, as nothing else uses them."""

    traverse: int
    start: int
    far: int
    filters: tuple[int, ...] = ()
    beyond: tuple[CountExpand, ...] = ()
    """Further traversals that are counted from the far end."""
    route: Route = Route.ADJACENCY
    why: str = ""

    @property
    def steps(self) -> frozenset[int]:
        """The steps of the block that it takes, those of further traversals included."""
        own = frozenset({self.traverse, *self.filters})
        return own.union(*(item.steps for item in self.beyond))

    @property
    def far_variables(self) -> frozenset[int]:
        """The variables that are only counted."""
        return frozenset({self.far}).union(*(item.far_variables for item in self.beyond))


@dataclass(frozen=True, slots=True)
class AntiJoinBlock:
    """Drop the rows for which the block has a match."""

    step: int
    block: BlockPlan


@dataclass(frozen=True, slots=True)
class LeftJoinBlock:
    """Extend each row with the matches of the block, or with NULLs if there are none."""

    step: int
    block: BlockPlan


@dataclass(frozen=True, slots=True)
class CountJoinBlock:
    """Put the number of matches of the block into a variable of each row, or whether there is one."""

    step: int
    block: BlockPlan


Action: TypeAlias = (
    CountJoinBlock
    | ScanNodes
    | CheckNode
    | FilterRows
    | Expand
    | CheckEdge
    | CountExpand
    | AntiJoinBlock
    | LeftJoinBlock
)


@dataclass(frozen=True, slots=True)
class PlanStep:
    """An action, the variables that are needed after it, and the estimated rows after it."""

    action: Action
    needed: frozenset[int]
    rows: float
    merge: bool = False
    """Whether rows that have become equal are merged."""


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """The actions of a block, in order."""

    steps: tuple[PlanStep, ...]

    @property
    def rows(self) -> float:
        """The estimated rows of the block."""
        return self.steps[-1].rows if self.steps else 1.0


@dataclass(frozen=True, slots=True)
class RankNodes:
    """Choose the best nodes of a variable by a score, among those that pass the filters."""

    variable: int
    score: Score
    filters: tuple[int, ...]
    fused: bool
    """Whether rank fusions are computed before, so that filters may use them."""
    rows: float
    among: BlockPlan | None = None
    """The plan that finds the candidates, for a variable without a scan of its own."""
    path: AccessPath = UNCHOSEN
    """How the candidates are found if only filters choose them."""
    best: AccessPath = UNCHOSEN
    """How the best candidates are found."""


class Duplicates(Enum):
    """Whether equal rows are kept, counted or dropped."""

    KEPT = "kept"
    COUNTED = "counted"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The plan of a read."""

    query: ReadQuery
    block: BlockPlan
    duplicates: Duplicates
    optimised: bool
    rankings: tuple[RankNodes, ...]
    """Rankings that run before the pattern is matched, the parts of a fusion first."""
    measures: bool
    """Whether the query uses vector distances, so that texts may have to be embedded."""
    has_patterns: bool = False
    """Whether the query uses regular expressions, which are checked before it runs."""
    weighs: bool = False
    """Whether the query looks for cheapest paths, whose weights are checked before it runs."""
    sources: tuple[ReadPlan, ...] = ()
    """The plans of the reads whose rows it begins with."""
    rows: float = 1.0
    """The estimated rows of the result."""
    largest: float | None = None
    """The estimated rows of the largest step; None where they say little about the work."""

    @property
    def searches(self) -> bool:
        """Whether nodes are ranked before the pattern is matched."""
        return bool(self.rankings) or self.query.ranking is not None
