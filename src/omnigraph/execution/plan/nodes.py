"""The nodes of a plan. A plan names the steps of its query's blocks by number, so it fits every binding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Score
from omnigraph.execution.plan.access import UNCHOSEN, AccessPath, Route


@dataclass(frozen=True, slots=True)
class ScanNodes:
    """Bind a variable to the nodes of its type that pass the filters; each row gets each node.

    With a join, each row gets the nodes whose value is equal to one of the row's.
    """

    variable: int
    filters: tuple[int, ...]
    is_ranked: bool = False
    """Whether a ranking has chosen the nodes already."""
    join: int | None = None
    """The filter that says which value of the node is equal to which of the row."""
    path: AccessPath = UNCHOSEN


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Keep the rows in which a variable that is bound already holds a node of the scan."""

    variable: int


@dataclass(frozen=True, slots=True)
class FilterRows:
    """Keep the rows for which a filter is true."""

    filter: int


@dataclass(frozen=True, slots=True)
class Expand:
    """Follow edges from the end that is bound to the other, then keep what passes the far end's filters."""

    traverse: int
    start: int
    filters: tuple[int, ...] = ()
    route: Route = Route.ADJACENCY
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckEdge:
    """Keep the rows whose two ends are joined by an edge."""

    traverse: int


@dataclass(frozen=True, slots=True)
class CountExpand:
    """Count the far ends instead of visiting them: nothing else asks which they are."""

    traverse: int
    start: int
    far: int
    filters: tuple[int, ...] = ()
    beyond: tuple[CountExpand, ...] = ()
    """What is counted from the far end on."""
    route: Route = Route.ADJACENCY
    why: str = ""


@dataclass(frozen=True, slots=True)
class AntiJoinBlock:
    """Drop the rows for which the block has a solution."""

    step: int
    block: BlockPlan


@dataclass(frozen=True, slots=True)
class LeftJoinBlock:
    """Extend each row by the solutions of the block, or by NULLs when there is none."""

    step: int
    block: BlockPlan


Action: TypeAlias = (
    ScanNodes | CheckNode | FilterRows | Expand | CheckEdge | CountExpand | AntiJoinBlock | LeftJoinBlock
)


@dataclass(frozen=True, slots=True)
class PlanStep:
    """An action, the variables that are needed after it, and how many rows it is thought to leave."""

    action: Action
    needed: frozenset[int]
    rows: float
    merge: bool = False
    """Whether rows that have become equal are put together."""


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """The actions of a block, in order."""

    steps: tuple[PlanStep, ...]

    @property
    def rows(self) -> float:
        """How many rows the block is thought to give."""
        return self.steps[-1].rows if self.steps else 1.0


@dataclass(frozen=True, slots=True)
class RankNodes:
    """Choose the best nodes of a variable by a score, among those that pass the filters."""

    variable: int
    score: Score
    filters: tuple[int, ...]
    fused: bool
    """Whether rank fusions are known by then, so that filters may look at them."""
    rows: float
    among: BlockPlan | None = None
    """How the pattern is matched before, for a variable without a binding of its own."""
    path: AccessPath = UNCHOSEN
    """How the candidates are found where the filters alone choose them."""
    best: AccessPath = UNCHOSEN
    """How the best of them are."""


class Duplicates(Enum):
    """What becomes of equal rows."""

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
    """What is ranked before the pattern is looked for, the parts of a fusion first."""
    measures: bool
    """Whether distances between vectors are asked for, so that texts may have to be embedded."""

    @property
    def searches(self) -> bool:
        """Whether nodes are ranked before the pattern is looked for."""
        return bool(self.rankings) or self.query.ranking is not None
