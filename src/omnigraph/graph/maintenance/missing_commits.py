"""Commits that something names: whether one that is not there was dropped by a cleanup, or is lost."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.recovery.plans import DurablePlan


@dataclass(frozen=True)
class Named:
    """A commit and who names it."""

    ref: CommitRef
    by: str


def commits_named_by_record(record: CommitRecord) -> Iterator[Named]:
    """Yield the commits that a record names as those that it came from, outside its own chain."""
    by = f"version {record.seq} of branch {record.branch!r}"
    if record.parent is not None and record.parent.incarnation != record.incarnation:
        yield Named(record.parent, f"{by}, whose parent it is")
    if record.merged_parent is not None:
        yield Named(record.merged_parent, f"{by}, which merged it")


def commits_named_by_plan(durable: DurablePlan) -> Iterator[Named]:
    """Yield the commits that a pending plan needs."""
    plan = durable.plan
    by = f"a pending {plan.operation} of branch {plan.branch!r}"
    for ref in (plan.base, plan.merged_parent, *plan.sources):
        if ref is not None:
            yield Named(ref, by)


def has_lost_its_ref(truth: Truth, newest: CommitRecord) -> bool:
    """Return whether the ref is lost of a chain that has no end, and that no ref names; by its newest record.

    A branch gets its name before its first commit, and a name that was ever given leaves an object. Where one
    stands that names another chain, the branch was never finished, or this is left of a rebase.
    """
    return newest.branch != MAIN and truth.refs.read(newest.branch) is None


def missing_numbers(floor: Floor | None, first: int, last: int, stored: Container[int]) -> list[int]:
    """Return the numbers of records that a chain must have up to `last` and has not.

    A chain without a floor has all of them from `first` on.
    """
    if floor is not None and floor.ended:
        return []
    held = floor.numbers(max(last, floor.below)) if floor is not None else range(first, last + 1)
    return [seq for seq in held if seq not in stored]


@dataclass(frozen=True)
class Listing:
    """What was there a moment ago: the numbers of all stored records, and the chains that branches have."""

    truth: Truth
    stored: Mapping[str, frozenset[int]]
    """By chain."""
    live: Collection[str]

    @staticmethod
    def of(truth: Truth, stored: Mapping[str, Iterable[int]], live: Collection[str]) -> Listing:
        """Return what was listed, to be looked up often."""
        return Listing(truth, {chain: frozenset(numbers) for chain, numbers in stored.items()}, live)

    def is_lost(self, ref: CommitRef) -> bool:
        """Return whether a commit is gone though no cleanup dropped it; only what is not listed is read."""
        numbers = self.stored.get(ref.incarnation)
        if numbers is None and ref.incarnation not in self.live:
            return False  # the chain of a deleted branch, which went as a whole
        if numbers is not None and ref.seq in numbers:
            return False
        # Record, floor, the rest of the chain: cleanup puts the floor before records go, and takes it last.
        path = layout.record_path(ref.incarnation, ref.seq)
        if self.truth.store.get_many([path])[0] is not None:
            return False
        floor = self.truth.chains.floor(ref.incarnation)
        if floor is not None:
            return floor.holds(ref.seq)
        chain = layout.own(self.truth.store.list(f"{layout.CHAINS}/{ref.incarnation}"))
        return ref.incarnation in self.live or next(iter(chain), None) is not None

    def has_owner(self, incarnation: str) -> bool:
        """Return whether some branch has a chain by now, or had it until the chain ended."""
        newest = self.truth.newest_of(incarnation)
        if newest is None:
            return True  # it went as a whole
        named = self.truth.refs.read(newest.branch)
        ref = named.ref if named is not None else None
        if ref is not None and incarnation in (ref.incarnation, self.truth.goes_on(ref).incarnation):
            return True
        # A name is freed after the chain has ended, so the end is looked for after the name.
        newest = self.truth.newest_of(incarnation)
        return newest is None or newest.closed
