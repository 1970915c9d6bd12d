"""Walking history: commits newest first, finding one by its id without an index, and who had a part in one.

Notes about that stand in the metadata of commits that the engine makes of other commits, and are believed
nowhere else: anybody may note anything in a commit of their own.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from omnigraph.base.ids import ULID_LENGTH, ulid_time_us
from omnigraph.base.plain import read_json
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.floors import Floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef

_RECORDS_PER_READ = 64
CHERRY_PICK, REBASE = "cherry_pick", "rebase"
PICKED_COMMIT, PICKED_ACTOR = "cherry_pick.commit", "cherry_pick.actor"
REBASED_BY = "rebase.actors"
_NOTES = {CHERRY_PICK: (PICKED_COMMIT, PICKED_ACTOR), REBASE: (PICKED_COMMIT, PICKED_ACTOR, REBASED_BY)}


class Ancestry:
    """One look at what cleanups have left of history: the floor of each chain is read once.

    A walk back reads ahead, in each chain no more than it has gone through there already.
    """

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._floors: dict[str, Floor | None] = {}
        self._ahead: dict[str, range] = {}
        """By chain: the numbers that were read at once the last time."""

    def floor(self, incarnation: str) -> Floor | None:
        """Return a chain's floor, or None when the chain is complete."""
        if incarnation not in self._floors:
            self._floors[incarnation] = self._chains.floor(incarnation)
        return self._floors[incarnation]

    def at(self, ref: CommitRef) -> CommitRecord | None:
        """Return the record that a ref names, or the nearest one before it that cleanups have left."""
        place: CommitRef | None = ref
        while place is not None:
            floor = self.floor(place.incarnation)
            seq = place.seq if floor is None else floor.highest(place.seq)
            if seq is None:
                place = floor.fork if floor else None
                continue
            self._read_ahead(place.incarnation, seq, floor)
            found = self._chains.held(place.incarnation, seq)
            if found is not None or self._look_again(place.incarnation) is None:
                return found
        return None

    def _look_again(self, incarnation: str) -> Floor | None:
        """Return a chain's floor as a cleanup that came between has left it; None when nothing is left."""
        self._floors.pop(incarnation, None)
        return self.floor(incarnation)

    def _read_ahead(self, incarnation: str, seq: int, floor: Floor | None) -> None:
        """Read some records that a walk will come to next; over a network they come side by side."""
        before = self._ahead.get(incarnation, range(0))
        if seq in before:
            return
        size = min(2 * len(before), _RECORDS_PER_READ) if seq + 1 == before.start else 1
        self._ahead[incarnation] = page = range(max(1, seq - size + 1), seq + 1)
        if size > 1:
            left = [number for number in page if floor is None or floor.holds(number)]
            self._chains.records(incarnation, left)

    def holds(self, ref: CommitRef) -> bool:
        """Return whether no cleanup has dropped the commit in this place."""
        floor = self.floor(ref.incarnation)
        return floor is None or floor.holds(ref.seq)

    def numbers(self, tip: CommitRecord) -> Sequence[int]:
        """Return the numbers of all records of the tip's chain up to it, ascending."""
        floor = self.floor(tip.incarnation)
        return floor.numbers(tip.seq) if floor else range(self._first(tip).seq, tip.seq + 1)

    def fork_of(self, tip: CommitRecord) -> CommitRef | None:
        """Return where the tip's chain was forked."""
        floor = self.floor(tip.incarnation)
        return floor.fork if floor else self._first(tip).parent

    def _first(self, tip: CommitRecord) -> CommitRecord:
        """Return the first record of a complete chain, found by halves; a hole in it is an error."""
        low, high, first = 0, tip.seq, tip
        while high - low > 1:
            middle = (low + high) // 2
            found = self._chains.record(tip.incarnation, middle)
            if found is None:
                low = middle
            else:
                high, first = middle, found
        _must_follow(self._chains, first)
        return first


def history(chains: Chains, head: CommitRecord) -> Iterator[CommitRecord]:
    """Yield every commit reachable from `head` over both parents, newest first, each once.

    What cleanups have dropped is passed over: a commit is followed by the nearest one that is left.
    """
    past = Ancestry(chains)
    waiting = [(_newest_first(head), head)]
    seen = {head.commit}
    while waiting:
        _, record = heapq.heappop(waiting)
        yield record
        for parent in (record.parent, record.merged_parent):
            if parent and parent.commit not in seen:
                found = past.at(parent)
                if found is not None and found.commit not in seen:
                    seen.add(found.commit)
                    heapq.heappush(waiting, (_newest_first(found), found))


def find_in_chain(
    chains: Chains, newest: CommitRecord, floor: Floor | None, commit: str
) -> CommitRecord | None:
    """Return the record of a commit in one chain, up to its newest record; None when the chain never had it.

    A record's time is never before its id's and never falls along a chain, so it is searched by halves for
    the first record that could be it, and from there forward as far as the chain's lag reaches. A hole there
    is an error: what is missing may be the commit.
    """
    passed: list[CommitRecord] = []
    minted_at = ulid_time_us(commit)
    for record in _find_minted_between(chains, newest, floor, minted_at, minted_at):
        if record.commit == commit:
            return record
        passed.append(record)
    for record in passed:
        _must_follow(chains, record, floor)
    return None


def find_by_prefix(
    chains: Chains, newest: CommitRecord, floor: Floor | None, prefix: str
) -> list[CommitRecord]:
    """Return the commits of one chain, up to its newest record, whose ids begin with some letters."""
    first, last = (ulid_time_us(prefix.ljust(ULID_LENGTH, letter)) for letter in ("0", "Z"))
    return [
        record
        for record in _find_minted_between(chains, newest, floor, first, last)
        if record.commit.startswith(prefix) and not record.closed
    ]


def _find_minted_between(
    chains: Chains, newest: CommitRecord, floor: Floor | None, first: int, last: int
) -> Iterator[CommitRecord]:
    """Yield the records of a chain whose ids may have been made in some time, in microseconds."""
    numbers = floor.numbers(newest.seq) if floor else range(1, newest.seq + 1)
    low, high = -1, len(numbers)
    while high - low > 1:
        middle = (low + high) // 2
        record = chains.record(newest.incarnation, numbers[middle])
        if record is None or record.created_at < first:
            low = middle
        else:
            high = middle
    for record in _pages(chains, newest.incarnation, numbers[high:]):
        yield record
        if record.created_at > last + newest.lag:
            return


def find_beside_damage(chains: Chains, incarnation: str, commit: str) -> CommitRecord | None:
    """Return the record of a commit in a chain of which other records are lost or damaged, or its floor is.

    What a cleanup has dropped and not removed yet may be found as well: its files tell what is left of it.
    """
    return next((record for record in chains.sound_records(incarnation) if record.commit == commit), None)


def _must_follow(chains: Chains, record: CommitRecord, floor: Floor | None = None) -> None:
    """Raise if the record before this one in its chain is lost."""
    before = record.parent
    if before is None or before.incarnation != record.incarnation:
        return
    if floor is None or floor.holds(before.seq):
        chains.held(before.incarnation, before.seq)


def _newest_first(record: CommitRecord) -> tuple[int, int, str]:
    return (-record.seq, -record.created_at, _reverse_id(record.commit))


def _reverse_id(commit: str) -> str:
    return "".join(chr(127 - ord(letter)) for letter in commit)


def _pages(chains: Chains, incarnation: str, numbers: Sequence[int]) -> Iterator[CommitRecord]:
    """Yield records by number, read a page at a time."""
    for start in range(0, len(numbers), _RECORDS_PER_READ):
        yield from chains.records(incarnation, numbers[start : start + _RECORDS_PER_READ])


def author_of(operation: str, actor: str | None, metadata: Mapping[str, str]) -> str | None:
    """Return who made a change first: of one that was picked from another branch, whoever made it there."""
    if operation in _NOTES and PICKED_COMMIT in metadata:
        return metadata.get(PICKED_ACTOR)
    return actor


def list_involved(record: CommitRecord) -> frozenset[str]:
    """Return everybody who had a part in a commit."""
    found = {record.actor, author_of(record.operation, record.actor, record.metadata)}
    return frozenset(actor for actor in found if actor is not None) | _rebased_by(record)


def note_pick(picked: CommitRecord, noted: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of the commit that brings a change over."""
    author = author_of(picked.operation, picked.actor, picked.metadata)
    return {**_without_notes(noted), PICKED_COMMIT: picked.commit} | (
        {} if author is None else {PICKED_ACTOR: author}
    )


def note_rebase(record: CommitRecord, actor: str | None) -> dict[str, str]:
    """Return the metadata of a commit that an actor makes again elsewhere, in the name of who made it."""
    kept = {*_NOTES.get(record.operation, ())}
    told = {name: text for name, text in record.metadata.items() if name in kept}
    others = frozenset({actor} if actor is not None and actor != record.actor else ())
    by = sorted(_rebased_by(record) | others)
    return _without_notes(record.metadata) | told | ({REBASED_BY: json.dumps(by)} if by else {})


def _rebased_by(record: CommitRecord) -> frozenset[str]:
    told = record.metadata.get(REBASED_BY) if record.operation == REBASE else None
    if told is not None:
        with suppress(ValueError, TypeError):
            return frozenset(actor for actor in read_json(told) if isinstance(actor, str))
    return frozenset()


def _without_notes(metadata: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in metadata.items() if name not in _NOTES[REBASE]}
