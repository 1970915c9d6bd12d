"""What a branch begins with: a chain, and commits in it that no branch has yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.graph.manifest.record import CommitRecord


@dataclass(frozen=True, slots=True)
class Line:
    """Commits in a chain that no branch has yet, oldest first."""

    incarnation: str
    records: tuple[CommitRecord, ...] = ()
    staged_behind: int = 0
    """The number of the newest cleanup that was known when their first file was staged."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The chain of a branch that is to be made, and what puts its first commits, if it has any."""

    incarnation: str
    records: Callable[[], Line] | None = None

    def put(self) -> Line:
        """Put the first commits of the chain."""
        return self.records() if self.records is not None else Line(self.incarnation)
