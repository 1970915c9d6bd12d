"""The line of first parents that leads to a branch's head, by number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count

from omnigraph.base.errors import HistoricalVersionReclaimed
from omnigraph.graph import history
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.truth import BranchState, Truth

_RECORDS_READ_AHEAD = 64


@dataclass(frozen=True)
class FirstParents:
    """Numbers follow each other without gaps, whatever chains the records lie in."""

    truth: Truth
    state: BranchState

    def record(self, seq: int) -> CommitRecord:
        """Return the commit with a number, or raise HistoricalVersionReclaimed."""
        return history.at_version(self.truth, self.state, seq, self._past)

    @cached_property
    def _past(self) -> Ancestry:
        return Ancestry(self.truth.chains)

    def with_parent(self, seq: int) -> tuple[CommitRecord, CommitRecord | None]:
        """Return a commit and the one before it; the first commit has none."""
        own = self.state.ref
        if seq > own.fork_seq and seq % _RECORDS_READ_AHEAD == 1:
            last = min(seq + _RECORDS_READ_AHEAD, self.state.head.seq + 1)
            self.truth.chains.records(own.incarnation, range(seq, last))
        return self.record(seq), self._before(seq) if seq > 1 else None

    def is_passed_over(self, seq: int) -> bool:
        """Return whether a number was a fence that a cleanup has dropped: what is left around it is equal."""
        around = self._around(seq)
        return around is not None and around[0].content == around[1].content

    def _before(self, seq: int) -> CommitRecord:
        """Return the commit before a number, or before the fences that were dropped there."""
        around = self._around(seq - 1)
        if around is not None and around[0].content == around[1].content:
            return around[0]
        return self.record(seq - 1)

    def _around(self, seq: int) -> tuple[CommitRecord, CommitRecord] | None:
        """Return what is left before and after a number that was dropped; None for one that is there."""
        incarnation = history.chain_holding(self.truth, self.state.ref, seq, self._past).incarnation
        floor = self._past.floor(incarnation)
        if floor is None or floor.holds(seq):
            return None
        after = next(number for number in count(seq + 1) if floor.holds(number))
        older = self._past.at(CommitRef("", incarnation, seq))
        newer = self.truth.chains.record(incarnation, after)
        return (older, newer) if older is not None and newer is not None else None

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
