"""The manifest's narrow front: the newest state of a branch, and commits by place or id."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from omnigraph.base import clock
from omnigraph.base.clock import Moment
from omnigraph.base.errors import CorruptState, NotFound
from omnigraph.graph.manifest import chain
from omnigraph.graph.manifest.chain import Chains
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

    def refresh(self, known: BranchState) -> BranchState:
        """Return the newest state of the same branch incarnation; its head may be a closing record."""
        now, age = clock.moment(), known.seen_at.age()
        if age > chain.HINT_AFTER_SECONDS and not self.is_named(known.ref):
            # The chain of a deleted branch may be gone altogether, with the record that ended it.
            return BranchState(known.ref, replace(known.head, closed=True), now)
        own = known.head if known.head.incarnation == known.ref.incarnation else None
        newest = self.chains.newest(known.ref.incarnation, own, known.ref.floor, age)
        fresh = BranchState(known.ref, newest or known.head, now)
        self._keep(fresh)
        return fresh

    def stands(self, state: BranchState, record: CommitRecord) -> bool:
        """Say whether a record that was just put after this state's head is part of its chain.

        Cleanup removes no record before it is old, so a number that was free a moment ago is the next one. A
        writer that was held up for longer may have put its record where one was removed: it takes it back.
        """
        if state.seen_at.age() <= chain.HINT_AFTER_SECONDS:
            return True
        floor = self.chains.floor(record.incarnation)
        if (floor is None or record.seq >= floor.below) and self.is_named(state.ref):
            return True
        self.chains.forget(record)
        return False

    def is_named(self, ref: BranchRef) -> bool:
        """Say whether a branch's name still stands for this incarnation."""
        if ref.name == MAIN:
            return True
        stored = self.refs.read(ref.name)
        if stored is None or stored.ref is None:
            return False
        # Who has just ended a chain to go on in another stands in the one that the name still says.
        return ref.incarnation in (stored.ref.incarnation, self.goes_on(stored.ref).incarnation)

    def learn(self, state: BranchState, record: CommitRecord) -> BranchState:
        """Take over a record that this process has just published."""
        fresh = replace(state, head=record, seen_at=clock.moment())
        self._keep(fresh)
        return fresh

    def find(self, commit: str, state: BranchState, after: int) -> CommitRecord | None:
        """Return the record of a commit among those of a branch that come after a number."""
        later = self.chains.records(state.ref.incarnation, range(after + 1, state.head.seq + 1))
        return next((record for record in later if record.commit == commit), None)

    def live_refs(self) -> list[BranchRef]:
        """Return the refs of all live branches: main first, then by name."""
        others = [self.goes_on(ref) for ref in self.refs.list()]
        return [self.stamp.main_ref, *(ref for ref in others if not (ref.deleting and self.is_closed(ref)))]

    def is_closed(self, ref: BranchRef) -> bool:
        """Say whether a branch has ended."""
        newest = self._newest(self.goes_on(ref))
        return newest is not None and newest.closed

    def _newest(self, ref: BranchRef) -> CommitRecord | None:
        return self.chains.newest(ref.incarnation, None, ref.floor, 0.0)

    def goes_on(self, ref: BranchRef) -> BranchRef:
        """Return where a branch goes on that was rebased, though its name may not say so yet."""
        while ref.deleting and (newest := self._newest(ref)) is not None and newest.successor is not None:
            ref = continued(ref, newest)
        return ref

    def state_of(self, ref: BranchRef) -> BranchState:
        """Return the newest state of a given incarnation; its head may be a closing record."""
        with self._lock:
            known = self._states.get(ref.name)
        if known is not None and known.ref.incarnation == ref.incarnation:
            return self.refresh(known)
        now = clock.moment()
        newest = self.chains.newest(ref.incarnation, None, ref.floor, 0.0)
        if newest is None and ref.fork is not None:
            newest = self.chains.at(ref.fork)
        if newest is None:
            raise CorruptState(f"branch {ref.name!r} has no commits at all: its records were removed")
        fresh = BranchState(ref, newest, now)
        self._keep(fresh)
        return fresh

    def _look_up(self, branch: str) -> BranchState:
        if branch == MAIN:
            return self.state_of(self.stamp.main_ref)
        stored = self.refs.read(branch)
        if stored is not None and stored.ref is not None:
            state = self.state_of(self.goes_on(stored.ref))
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


def continued(ref: BranchRef, closing: CommitRecord) -> BranchRef:
    """Return the ref of a branch after the record that ended its chain and said where it goes on."""
    assert closing.successor is not None
    after = closing.successor
    return BranchRef(ref.name, after.incarnation, after.fork, closing.created_at, closing.actor)
