"""The line of first parents that leads to a branch's head, by number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from omnigraph.base.errors import HistoricalVersionReclaimed
from omnigraph.graph import history
from omnigraph.graph.manifest.lineage import Past
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth

_AHEAD = 64


@dataclass(frozen=True)
class FirstParents:
    """Numbers follow each other without gaps, whatever chains the records lie in."""

    truth: Truth
    state: BranchState

    def record(self, seq: int) -> CommitRecord:
        """Return the commit with a number, or raise HistoricalVersionReclaimed."""
        return history.at_version(self.truth, self.state, seq, self._past)

    @cached_property
    def _past(self) -> Past:
        return Past(self.truth.chains)

    def with_parent(self, seq: int) -> tuple[CommitRecord, CommitRecord | None]:
        """Return a commit and the one before it; the first commit has none."""
        own = self.state.ref
        if seq > own.floor and seq % _AHEAD == 1:
            last = min(seq + _AHEAD, self.state.head.seq + 1)
            self.truth.chains.records(own.incarnation, range(seq, last))
        return self.record(seq), self.record(seq - 1) if seq > 1 else None

    def commit_id(self, seq: int) -> str | None:
        """Return the id of the commit with a number, if its record or the one after it is stored."""
        for number in (seq, seq + 1):
            try:
                found = self.record(number) if number <= self.state.head.seq else None
            except HistoricalVersionReclaimed:
                continue
            if found is not None and number == seq:
                return found.commit
            if found is not None and found.parent is not None:
                return found.parent.commit
        return None
