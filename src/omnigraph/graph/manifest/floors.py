"""Floors: which records of a chain cleanups have dropped, durable before anything is removed.

A chain without a floor is complete. One with a floor has every record from number `below` on, and of the
earlier ones those that something still stands on: the fork of a live branch, a tag, what merges of any
two commits that stay start from. What a floor has once given up never returns: whoever finds a record with a
number that the floor does not hold has found nothing.

A cleanup first *proposes* a floor, then looks who has named what it would drop, and only then makes it the
chain's. Whoever names a commit reads the floor after the name stands, and vetoes a proposal that drops it.
Every step is a compare-and-swap of one object, so a name and a floor never pass each other unseen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.base.errors import Contention, NotFound
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRef
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

_MAX_LOST_SWAPS = 32


@dataclass(frozen=True, slots=True)
class Floor:
    """What is left of one chain."""

    incarnation: str
    branch: str
    fork: CommitRef | None
    """Where the chain was forked; its first record may be gone and cannot tell any more."""
    below: int
    """Records with smaller numbers are gone, but for those that are kept."""
    since: int
    """The time of record `below`: commits that are younger cannot have been dropped."""
    kept: tuple[tuple[int, int], ...] = ()
    """The first and last number of each run of earlier records that stay, ascending."""
    tables: Mapping[str, int] = field(default_factory=dict)
    """By table identity: what records before this number say of the table was dropped for good."""
    starts: tuple[int, ...] = ()
    """Records that stay only because merges start from them: what a branch that began there would have to
    merge from may be gone."""
    ended: bool = False
    """Whether nothing is left: the chain had ended, or was never named, and is being removed."""
    proposed: Floor | None = None
    """What a cleanup would make of it; nothing is dropped by that."""
    proposal: str = ""
    """The id of the proposal: one that was vetoed and is made again must not look like the first."""

    @property
    def settled(self) -> Floor:
        """The floor without what is proposed."""
        return replace(self, proposed=None, proposal="")

    def holds(self, seq: int) -> bool:
        """Return whether the record with this number is still there to be read."""
        return self.highest(seq) == seq

    def is_start(self, seq: int) -> bool:
        """Return whether a record stays for merges alone."""
        return seq in self.starts

    def numbers(self, last: int) -> Sequence[int]:
        """Return the numbers of all records up to `last`, ascending."""
        later = range(self.below, last + 1)
        early = [seq for seq in self.kept_numbers() if seq <= last]
        return [*early, *later] if early else later

    def kept_numbers(self) -> Iterator[int]:
        """Yield the numbers of the earlier records that stay, ascending."""
        for first, last in self.kept:
            yield from range(first, last + 1)

    def highest(self, seq: int) -> int | None:
        """Return the highest number up to `seq` that is still there."""
        if self.ended:
            return None
        if seq >= self.below:
            return seq
        place = bisect_right(self.kept, (seq, seq))
        if place < len(self.kept) and self.kept[place][0] <= seq:
            return seq
        return min(seq, self.kept[place - 1][1]) if place else None

    def lies_within(self, other: Floor) -> bool:
        """Return whether this floor holds nothing that the other one has given up."""
        if self.ended or other.ended:
            return self.ended
        return all(other.holds(seq) for seq in (*self.kept_numbers(), *range(self.below, other.below)))

    def keeps(self, seq: int, tables: Iterable[str] = ()) -> bool:
        """Return whether a record is still there to be read, with these of its tables."""
        return self.holds(seq) and all(seq >= self.tables.get(identity, 0) for identity in tables)

    def encode(self) -> bytes:
        """Return the floor as stored."""
        return stored_format.encode_value(self, layout.floor_path(self.incarnation))


def complete_floor(incarnation: str, branch: str, fork: CommitRef | None) -> Floor:
    """Return the floor of a chain of which nothing is dropped."""
    return Floor(incarnation, branch, fork, below=(fork.seq if fork else 0) + 1, since=0)


@dataclass(frozen=True, slots=True)
class StoredFloor:
    """A floor and the tag to replace it by."""

    floor: Floor
    etag: str


def read_floor(store: ObjectStore, incarnation: str) -> StoredFloor | None:
    """Return a chain's floor, or None when no cleanup has taken anything from it."""
    path = layout.floor_path(incarnation)
    try:
        found = store.get_versioned(path)
    except NotFound:
        return None
    return StoredFloor(decode_floor(found.data, path), found.etag)


def write_floor(store: ObjectStore, floor: Floor, over: StoredFloor | None) -> StoredFloor | None:
    """Store a floor over the one that was read; None when that is not what stands there any more."""
    path = layout.floor_path(floor.incarnation)
    etag = put_over(store, path, floor.encode(), over.etag if over else None)
    return None if etag is None else StoredFloor(floor, etag)


def claim(
    store: ObjectStore, incarnation: str, seq: int, tables: Iterable[str] = (), begins: bool = False
) -> bool:
    """Return whether a commit that was just named is kept, and veto proposals to drop it.

    Where a branch begins more is needed than the commit: it must not be kept for merges alone.
    """
    identities = tuple(tables)
    for _ in range(_MAX_LOST_SWAPS):
        stored = read_floor(store, incarnation)
        if stored is None:
            return True
        floor = stored.floor
        if not floor.keeps(seq, identities) or (begins and floor.is_start(seq)):
            return False
        proposed = floor.proposed
        if proposed is None:
            return True
        # What is kept for merges alone already may go on being so.
        if proposed.keeps(seq, identities) and (floor.is_start(seq) or not proposed.is_start(seq)):
            return True
        write_floor(store, floor.settled, stored)
    raise Contention("cleanups of this graph follow each other too fast: try again", incarnation=incarnation)


def join_drops(*drops: Mapping[str, int]) -> dict[str, int]:
    """Return what tables were dropped for good by any of these: what is gone does not come back."""
    joined: dict[str, int] = {}
    for tables in drops:
        for identity, seq in tables.items():
            joined[identity] = max(seq, joined.get(identity, 0))
    return joined


def runs_of(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return ascending numbers as runs: the first and the last of each."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return tuple(runs)


def decode_floor(data: bytes, path: str) -> Floor:
    """Build a floor from its stored form."""
    return stored_format.decode_value(data, path, "floor", Floor)
