"""The commit that a merge starts from, and what kind of merge that makes it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from omnigraph.base.errors import HistoricalVersionReclaimed
from omnigraph.graph.manifest import lineage
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.record import CommitClass, CommitRecord

_OURS, _THEIRS, _BEHIND = 1, 2, 4


class Outcome(StrEnum):
    """What a merge turned out to be."""

    UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


def outcome_of(base: CommitRecord, ours: CommitRecord, theirs: CommitRecord) -> Outcome:
    """Return what merging `theirs` into `ours` is; maintenance on either side counts for nothing."""
    if theirs.content in (base.content, ours.content):
        return Outcome.UP_TO_DATE
    return Outcome.FAST_FORWARD if ours.content == base.content else Outcome.MERGED


def merge_base(chains: Chains, ours: CommitRecord, theirs: CommitRecord) -> CommitRecord:
    """Return the common ancestor to merge from.

    Of the common ancestors that no other one descends from, it is the one with the smallest sum of distances,
    and the newest of several. (One that another descends from may be nearer, along an old merge; but starting
    there would take back what both sides have agreed on since.) Commits that a cleanup has dropped count as
    steps too: the choice is the same before and after.
    """
    if ours.commit == theirs.commit:
        return ours
    walk = _AncestorWalk(lineage.Ancestry(chains))
    walk.paint(ours, theirs)
    found = walk.best()
    if not found:
        raise HistoricalVersionReclaimed(
            f"commits {ours.commit} and {theirs.commit} have no common ancestor that is still stored: "
            "a cleanup has removed it",
            commit=theirs.commit,
        )
    if len(found) == 1:
        return found[0]
    steps = {item.commit: walk.steps(ours, item) + walk.steps(theirs, item) for item in found}
    return min(found, key=lambda item: (steps[item.commit], -item.seq, -item.created_at, item.commit))


def count_apart(chains: Chains, ours: CommitRecord, theirs: CommitRecord) -> tuple[int, int]:
    """Return how many commits each of two heads reaches and the other does not; without maintenance."""
    walk = _AncestorWalk(lineage.Ancestry(chains))
    walk.paint(ours, theirs)
    apart = [(colour, walk.records[commit].commit_class) for commit, colour in walk.colours.items()]
    logical = [colour for colour, kind in apart if kind is CommitClass.LOGICAL]
    return logical.count(_OURS), logical.count(_THEIRS)


def list_apart(chains: Chains, ours: CommitRecord, theirs: CommitRecord) -> list[CommitRecord]:
    """Return the commits that one head has and the other does not, newest first."""
    walk = _AncestorWalk(lineage.Ancestry(chains))
    walk.paint(ours, theirs)
    found = [walk.records[commit] for commit, colour in walk.colours.items() if colour == _OURS]
    return sorted(found, key=lambda record: (record.seq, record.created_at, record.commit), reverse=True)


@dataclass
class _AncestorWalk:
    """History painted from two heads, newest first, no further than where both colours have met."""

    past: lineage.Ancestry
    colours: dict[str, int] = field(default_factory=dict)
    records: dict[str, CommitRecord] = field(default_factory=dict)
    waiting: list[tuple[int, int, str]] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    """Those among the waiting that do not lie behind a common one: without any the walk has ended."""
    parents: dict[str, dict[str, int]] = field(default_factory=dict)
    """By commit: its parents, or the nearest before them that cleanups have left, with the steps to each."""

    def paint(self, ours: CommitRecord, theirs: CommitRecord) -> None:
        """Colour the ancestors of both heads; what lies behind a common one is painted only as it comes."""
        self._reach(ours, _OURS)
        self._reach(theirs, _THEIRS)
        while self.open:
            *_, commit = heapq.heappop(self.waiting)
            self.open.discard(commit)
            colour = self.colours[commit]
            passed_on = colour | _BEHIND if colour & 3 == 3 else colour
            for parent in self._parents(commit):
                self._reach(self.records[parent], passed_on)

    def best(self) -> list[CommitRecord]:
        """Return the common ancestors that no other common ancestor descends from."""
        common = [self.records[commit] for commit, colour in self.colours.items() if colour == 3]
        if len(common) < 2:
            return common
        # Clocks of machines differ, so the order of the walk may have been wrong somewhere: look again.
        behind = self._behind(common)
        return [item for item in common if item.commit not in behind]

    def steps(self, head: CommitRecord, base: CommitRecord) -> int:
        """Return how many commits lie on the way back from a head to a common ancestor.

        The way leaves the line of first parents only where that does not lead there: such merges are what
        cleanups keep, so the number is the same before and after one.
        """
        leading = self._find_leading_to(base, head)
        steps, commit = 0, head.commit
        while commit != base.commit:
            parent = next(parent for parent in self._parents(commit) if parent in leading)
            steps, commit = steps + self._parents(commit)[parent], parent
        return steps

    def _find_leading_to(self, base: CommitRecord, head: CommitRecord) -> set[str]:
        """Return the painted commits from a head on that have a common ancestor behind them."""
        children: dict[str, list[str]] = {}
        waiting, seen = [head.commit], {head.commit}
        while waiting:
            commit = waiting.pop()
            for parent in self._parents(commit):
                children.setdefault(parent, []).append(commit)
                if parent in self.colours and parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        found, waiting = {base.commit}, [base.commit]
        while waiting:
            new = [child for child in children.get(waiting.pop(), ()) if child not in found]
            found.update(new)
            waiting += new
        return found

    def _behind(self, common: Iterable[CommitRecord]) -> set[str]:
        """Return the painted commits that lie behind any of these."""
        found: set[str] = set()
        waiting = [item.commit for item in common]
        while waiting:
            for parent in self._parents(waiting.pop()):
                if parent not in found and parent in self.colours:
                    found.add(parent)
                    waiting.append(parent)
        return found

    def _reach(self, record: CommitRecord, colour: int) -> None:
        known = self.colours.get(record.commit, 0)
        if known | colour == known:
            return
        self.colours[record.commit] = known | colour
        self.records[record.commit] = record
        if known | colour < _BEHIND:
            self.open.add(record.commit)
        else:
            self.open.discard(record.commit)
        heapq.heappush(self.waiting, (-record.created_at, -record.seq, record.commit))

    def _parents(self, commit: str) -> Mapping[str, int]:
        if commit not in self.parents:
            record, found = self.records[commit], dict[str, int]()
            for ref in (record.parent, record.merged_parent):
                parent = self.past.at(ref) if ref is not None else None
                if ref is not None and parent is not None:
                    self.records.setdefault(parent.commit, parent)
                    # A chain goes on with the numbers of what it was forked from: they count the steps.
                    found.setdefault(parent.commit, 1 + ref.seq - parent.seq)
            self.parents[commit] = found
        return self.parents[commit]
