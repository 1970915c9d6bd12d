"""The nodes of a plan. A plan names the steps of its query's blocks by number, so it fits every binding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from omnigraph.compiler.ir.queries import ReadQuery


class Access(Enum):
    """How the rows of a scan are found."""

    ALL = "all rows"
    FILTER = "filter"
    LOOKUP = "exact look-up"
    RANKED = "ranked candidates"


@dataclass(frozen=True, slots=True)
class ScanNodes:
    """Bind a variable to the nodes of its type that pass the filters; each row gets each node."""

    variable: int
    filters: tuple[int, ...]
    access: Access
    lookup: int | None = None
    """The filter that an exact look-up answers."""


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Keep the rows in which a variable that is bound already holds a node of the scan."""

    variable: int


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep the rows for which a filter is true."""

    filter: int


@dataclass(frozen=True, slots=True)
class Expand:
    """Follow edges from the end that is bound to the other, then keep what passes the far end's filters."""

    traverse: int
    start: int
    filters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Close:
    """Keep the rows whose two ends are joined by an edge."""

    traverse: int


@dataclass(frozen=True, slots=True)
class Weigh:
    """Count the far ends instead of visiting them: nothing else asks which they are."""

    traverse: int
    start: int
    far: int
    filters: tuple[int, ...] = ()
    beyond: tuple[Weigh, ...] = ()
    """What is counted from the far end on."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Drop the rows for which the block has a solution."""

    step: int
    block: BlockPlan


@dataclass(frozen=True, slots=True)
class Maybe:
    """Extend each row by the solutions of the block, or by NULLs when there is none."""

    step: int
    block: BlockPlan


Action: TypeAlias = ScanNodes | CheckNode | Keep | Expand | Close | Weigh | Absent | Maybe


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
    searches: bool
    """Whether nodes are ranked before the pattern is looked for."""
    measures: bool
    """Whether distances between vectors are asked for, so that texts may have to be embedded."""
