"""The manifest's narrow front: the newest state of a branch, and commits by place or id."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf

from omnigraph.base import clock
from omnigraph.base.clock import Moment
from omnigraph.base.errors import (
    BranchGone,
    CorruptState,
    NotFound,
    OutcomeUnknown,
)
from omnigraph.graph.manifest import chain, layout
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.condemned import CondemnedLists
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import MAIN, BranchRef, Refs
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.graph.manifest.tags import StoredTags
from omnigraph.storage.objects import ObjectStore


@dataclass(frozen=True, slots=True)
class BranchState:
    """A branch as it was at one moment: its ref and its newest record (perhaps inherited)."""

    ref: BranchRef
    head: CommitRecord
    seen_at: Moment


class Truth:
    """What the manifest says, with the last known state of every branch that was looked at."""

    def __init__(self, store: ObjectStore, stamp: Stamp) -> None:
        self.store = store
        self.stamp = stamp
        self.chains = Chains(store)
        self.refs = Refs(store)
        self.tags = StoredTags(store, self.chains)
        self.condemned = CondemnedLists(store)
        self._states: dict[str, BranchState] = {}
        self._lock = threading.Lock()

    def state(self, branch: str) -> BranchState:
        """Return the newest state of a branch: one probe when the last known state is still the newest."""
        with self._lock:
            known = self._states.get(branch)
        if known is not None:
            fresh = self.refresh(known)
            if not fresh.head.closed:
                return fresh
        return self._look_up(branch)

    def last_known(self, branch: str) -> BranchState:
        """Return a state of a branch that was seen before; the newest when none was."""
        with self._lock:
            known = self._states.get(branch)
        return self.state(branch) if known is None else known

    def has(self, branch: str) -> bool:
        """Return whether a branch exists."""
        try:
            self.state(branch)
        except NotFound:
            return False
        return True

    def refresh(self, known: BranchState, anew: bool = False) -> BranchState:
        """Return the newest state of the same branch incarnation; its head may be a closing record.

        `anew` looks it up as if nothing were known, for who has found that what it knew is outdated.
        """
        now, age = clock.moment(), inf if anew else known.seen_at.age()
        own = known.head if known.head.incarnation == known.ref.incarnation else None
        try:
            if age > chain.HINT_AFTER_SECONDS and not self.is_named(known.ref):
                # The chain of a deleted branch may be gone altogether, with the record that ended it.
                return BranchState(known.ref, replace(known.head, closed=True), now)
            newest = self.chains.newest(known.ref.incarnation, own, known.ref.fork_seq, age)
        except BranchGone:
            return BranchState(known.ref, replace(known.head, closed=True), now)
        fresh = BranchState(known.ref, newest or known.head, now)
        self._keep(fresh)
        return fresh

    def confirm_or_take_back(self, state: BranchState, record: CommitRecord) -> bool:
        """Return whether a record that was just put after this state's head is part of its chain; one that is
        not is taken back.

        Cleanup frees the numbers of records that it removes, and a writer that was held up may have put its
        record there. The floor was written before any number became free, so reading it now cannot miss that.
        """
        floor = self.chains.floor(record.incarnation)
        held, named = floor is None or floor.holds(record.seq), self.is_named(state.ref)
        if held and named and self._is_last(record):
            self.chains.leave_hint(record)
            if floor is None or record.seq >= floor.below:
                self._keep(replace(state, head=record))
            return True
        # It may have been part of the chain and have been dropped, or its branch deleted, since it was put.
        self._forget(state)
        after = self.chains.record(record.incarnation, record.seq + 1)
        if held and after is not None and _follows(after, record):
            return True
        # Read after what was looked for: a floor is written before anything goes.
        floor = self.chains.floor(record.incarnation)
        if named and (floor is None or floor.holds(record.seq)):
            if after is None and floor is not None and not floor.holds(record.seq + 1):
                return True  # what followed it was dropped, and it was kept
            if after is not None:
                self.chains.delete_misplaced(record)
            raise _lost_place_error(record, is_taken_back=after is not None)
        stood = self._find_removed(state, record.commit).get(
            layout.record_path(record.incarnation, record.seq)
        )
        if stood in (None, record.commit):
            return True  # numbers are freed by lists: this one was not when the record was put
        self.chains.delete_misplaced(record)
        return False

    def _find_removed(self, known: BranchState, commit: str) -> dict[str, str]:
        """Return the commits of all records that were removed after a known state, by path."""
        removed = self.condemned.find_removed(known.head.fence)
        if removed is None:
            raise self.unknown(commit, known.ref.name)
        return removed

    def unknown(self, commit: str, branch: str) -> OutcomeUnknown:
        """Return the error for a commit of which nothing tells whether it happened."""
        return OutcomeUnknown(
            f"whether commit {commit} became part of branch {branch!r} is not "
            f"known: cleanups have removed the "
            "history around it while its writer was held up; look for what it wrote",
            commit=commit,
            branch=branch,
        )

    def _forget(self, state: BranchState) -> None:
        with self._lock:
            self._states.pop(state.ref.name, None)

    def _is_last(self, record: CommitRecord) -> bool:
        """Return whether nothing tells of a later record, which would say more about this one.

        Looking costs next to nothing on a local disk; elsewhere who begins without a known head lists.
        """
        if not self.store.is_local:
            return True
        hint = self.chains.read_hint(record.incarnation)
        return hint <= record.seq and self.chains.record(record.incarnation, record.seq + 1) is None

    def is_named(self, ref: BranchRef) -> bool:
        """Return whether a branch's name still stands for this incarnation."""
        if ref.name == MAIN:
            return True
        stored = self.refs.read(ref.name)
        if stored is None or stored.ref is None:
            return False
        # Who has just ended a chain to go on in another stands in the one that the name still says.
        return ref.incarnation in (stored.ref.incarnation, self.goes_on(stored.ref).incarnation)

    def has_lost(self, commit: str, state: BranchState, known: BranchState) -> bool:
        """Return whether a commit was published on a branch after a known state and was dropped since.

        Raises when records are gone of which nothing tells what they were.
        """
        incarnation, after = state.ref.incarnation, known.head.seq
        if state.head.incarnation != incarnation:
            return False
        there = {record.seq for record in self.since(state, after)}
        gone = [seq for seq in range(after + 1, state.head.seq + 1) if seq not in there]
        if not gone:
            return False
        removed = self._find_removed(known, commit)
        stood = [removed.get(layout.record_path(incarnation, seq)) for seq in gone]
        if commit in stood:
            return True
        # What no list names was not removed yet, though a floor has given it up.
        left = [seq for seq, listed in zip(gone, stood, strict=True) if listed is None]
        records = self.chains.records(incarnation, left)
        if len(records) < len(left):
            raise self.unknown(commit, state.ref.name)
        return any(record.commit == commit for record in records)

    def since(self, state: BranchState, after: int) -> list[CommitRecord]:
        """Return the records of a branch after a number, up to its head; dropped ones are missing.

        The floor is read after them: a record with a number that it does not hold may be a held-up writer's.
        """
        if state.head.incarnation != state.ref.incarnation or state.head.seq <= after:
            return []
        chain, numbers = state.ref.incarnation, range(max(after, state.ref.fork_seq) + 1, state.head.seq + 1)
        found = self.chains.records(chain, numbers)
        floor = self.chains.floor(chain)
        there = [record for record in found if floor is None or floor.holds(record.seq)]
        if len(there) < len(numbers):
            for seq in set(numbers) - {record.seq for record in there}:
                if floor is None or floor.holds(seq):
                    self.chains.held(chain, seq)
        return there

    def find(self, commit: str, state: BranchState, after: int) -> CommitRecord | None:
        """Return the record of a commit among those of a branch that come after a number."""
        return next((record for record in self.since(state, after) if record.commit == commit), None)

    def live_refs(self) -> list[BranchRef]:
        """Return the refs of all live branches: main first, then by name."""
        others = [self.goes_on(ref) for ref in self.refs.list() if not ref.making]
        return [self.stamp.main_ref, *(ref for ref in others if not (ref.deleting and self.is_closed(ref)))]

    def is_closed(self, ref: BranchRef) -> bool:
        """Return whether a branch has ended; one that goes on elsewhere has not."""
        while True:
            try:
                newest = self._newest(ref)
            except BranchGone:
                return True
            if newest is None or newest.successor is None:
                return newest is not None and newest.closed
            ref = continue_ref(ref, newest)

    def _newest(self, ref: BranchRef) -> CommitRecord | None:
        return self.chains.newest(ref.incarnation, None, ref.fork_seq, 0.0)

    def newest_of(self, incarnation: str) -> CommitRecord | None:
        """Return the newest record of a chain of which only the id is known; None when there is none left."""
        try:
            return self.chains.newest_of(incarnation)
        except BranchGone:
            return None

    def closing_record(self, ref: BranchRef) -> CommitRecord | None:
        """Return the record that ends a chain, if it has ended and is still there."""
        try:
            newest = self._newest(ref)
        except BranchGone:
            return None
        return newest if newest is not None and newest.closed else None

    def goes_on(self, ref: BranchRef) -> BranchRef:
        """Return where a branch goes on that was rebased, though its name may not say so yet."""
        while ref.deleting and (closing := self.closing_record(ref)) is not None and closing.successor:
            ref = continue_ref(ref, closing)
        return ref

    def state_of(self, ref: BranchRef) -> BranchState:
        """Return the newest state of a given incarnation; its head may be a closing record."""
        with self._lock:
            known = self._states.get(ref.name)
        if known is not None and known.ref.incarnation == ref.incarnation:
            return self.refresh(known)
        now = clock.moment()
        newest = self.chains.newest(ref.incarnation, None, ref.fork_seq, 0.0)
        if newest is None and ref.fork is not None:
            newest = self.chains.at(ref.fork)
        if newest is None:
            raise CorruptState(f"branch {ref.name!r} has no commits at all: its records were removed")
        fresh = BranchState(ref, newest, now)
        self._keep(fresh)
        return fresh

    def follow(self, ref: BranchRef) -> BranchState:
        """Return the newest state of a branch wherever it goes on, also if it has been rebased just now."""
        state = self.state_of(self.goes_on(ref))
        while state.head.closed and state.head.successor is not None:
            state = self.state_of(continue_ref(state.ref, state.head))
        return state

    def read_ref(self, branch: str) -> BranchRef:
        """Return the ref of a branch; its chain is not looked at, so it may have ended."""
        if branch == MAIN:
            return self.stamp.main_ref
        stored = self.refs.read(branch)
        if stored is None or stored.ref is None or stored.ref.making:
            raise NotFound(f"there is no branch {branch!r}", branch=branch)
        return stored.ref

    def _look_up(self, branch: str) -> BranchState:
        if branch == MAIN:
            return self.state_of(self.stamp.main_ref)
        stored = self.refs.read(branch)
        if stored is not None and stored.ref is not None and not stored.ref.making:
            with suppress(BranchGone):
                state = self.follow(stored.ref)
                if not state.head.closed:
                    return state
        with self._lock:
            self._states.pop(branch, None)
        raise NotFound(f"there is no branch {branch!r}", branch=branch)

    def _keep(self, fresh: BranchState) -> None:
        with self._lock:
            known = self._states.get(fresh.ref.name)
            same = known is not None and known.ref.incarnation == fresh.ref.incarnation
            if not (same and known is not None and known.head.seq > fresh.head.seq):
                self._states[fresh.ref.name] = fresh


def continue_ref(ref: BranchRef, closing: CommitRecord) -> BranchRef:
    """Return the ref of a branch after the record that ended its chain and said where it goes on."""
    assert closing.successor is not None
    after = closing.successor
    now = BranchRef(ref.name, after.incarnation, after.fork, closing.created_at, closing.actor)
    return now.successor_of(ref)


def _lost_place_error(record: CommitRecord, is_taken_back: bool) -> CorruptState:
    """Return the error for a record that was put where another one is lost."""
    said = "nothing was written" if is_taken_back else f"whether {record.commit} was is not known"
    return CorruptState(
        f"branch {record.branch!r} has lost its commit record {record.seq}: later ones are there, "
        f"and {said}; restore it from a backup (`omnigraph repair` tells what else is missing)",
        path=layout.record_path(record.incarnation, record.seq),
    )


def _follows(after: CommitRecord, record: CommitRecord) -> bool:
    return after.parent is not None and after.parent.commit == record.commit
