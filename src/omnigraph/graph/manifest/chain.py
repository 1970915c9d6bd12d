"""One branch incarnation's chain of commit records: read one, find the newest, put the next.

Records are numbered without gaps and never change, so the newest one is found by probing: from a
record that is known, or from a hint, forward in growing steps and back by halves. Cleanup removes old records
and so frees their numbers; but the chain's floor says so before. Whoever steps to a record, or puts one,
reads the floor afterwards: what has a number that the floor does not hold is not part of the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from omnigraph.base import clock
from omnigraph.base.errors import (
    AlreadyExists,
    BranchGone,
    CorruptState,
    HistoricalVersionReclaimed,
    NotFound,
    OmniError,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import ulid_time_us
from omnigraph.base.lru import Lru
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, claim, decode_floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.storage.objects import ObjectStore

HINT_EVERY = 16
"""Over a network; on a local disk every commit leaves a hint."""
HINT_AFTER_SECONDS = 300.0
"""What was seen longer ago is not probed from, so that nobody stays behind; only freshness rests on it."""
RECORD_REST_SECONDS = 2 * HINT_AFTER_SECONDS
"""How old a record must be before cleanup removes it, so that who looked a moment ago finds what follows."""

_MAX_RACES_WITH_CLEANUPS = 8


class Chains:
    """All chains of a graph, with a cache of records, which never change once written."""

    def __init__(self, store: ObjectStore, capacity: int = 1024) -> None:
        self._store = store
        self._records: Lru[tuple[str, int], CommitRecord] = Lru(capacity)

    def record(self, incarnation: str, seq: int) -> CommitRecord | None:
        """Return a record, or None when there is none with this number."""
        found = self._records.get((incarnation, seq))
        if found is not None:
            return found
        path = layout.record_path(incarnation, seq)
        (data,) = self._store.get_many([path])
        return None if data is None else self._remember(CommitRecord.decode(data, path))

    def at(self, ref: CommitRef) -> CommitRecord:
        """Return the record that a ref names."""
        found = self.held(ref.incarnation, ref.seq)
        if found is None or found.commit != ref.commit:  # what stands in its place was put into a hole
            raise HistoricalVersionReclaimed(
                f"commit {ref.commit} (version {ref.seq}) is no longer stored: a cleanup has removed it",
                commit=ref.commit,
                version=ref.seq,
            )
        return found

    def held(self, incarnation: str, seq: int) -> CommitRecord | None:
        """Return a record that the chain once had; None when a cleanup dropped it. A lost one is an error."""
        found = self.record(incarnation, seq)
        if found is None and not self.has_dropped(CommitRef("", incarnation, seq)):
            raise self.lost_error(incarnation, seq)
        return found

    def sound_records(self, incarnation: str) -> Iterator[CommitRecord]:
        """Yield the records of a chain that are stored and can be read, newest first, whatever is lost."""
        for seq in sorted(self._list_numbers(incarnation), reverse=True):
            with suppress(CorruptState):
                if (found := self.record(incarnation, seq)) is not None:
                    yield found

    def records(self, incarnation: str, seqs: Iterable[int]) -> list[CommitRecord]:
        """Return the records with these numbers that exist, read in parallel."""
        wanted = list(seqs)
        known = {seq: self._records.get((incarnation, seq)) for seq in wanted}
        missing = [seq for seq, record in known.items() if record is None]
        paths = [layout.record_path(incarnation, seq) for seq in missing]
        for seq, path, data in zip(missing, paths, self._store.get_many(paths), strict=True):
            known[seq] = self._remember(CommitRecord.decode(data, path)) if data is not None else None
        return [record for seq in wanted if (record := known[seq]) is not None]

    def newest(
        self, incarnation: str, known: CommitRecord | None, after: int, age: float
    ) -> CommitRecord | None:
        """Return the newest record after number `after`, or None for an empty chain.

        `known` is a record of this chain that was the newest `age` seconds ago, when there is one.
        """
        warm = known is not None and age <= HINT_AFTER_SECONDS
        start = known if warm else self._start(incarnation, known, after)
        for _ in range(_MAX_RACES_WITH_CLEANUPS):
            found = self._probe(incarnation, start, after)
            if warm and found is start:
                return found
            floor = self.floor(incarnation)
            if floor is not None and (found is None or floor.ended or found.seq < floor.below):
                # A cleanup has freed these numbers, or those that follow.
                warm, start = False, self._start(incarnation, None, after)
            elif warm or found is None or not self._is_followed(found):
                return found
            elif self.record(incarnation, found.seq + 1) is not None:
                start = found
            elif (now := self.floor(incarnation)) is None or now.below <= found.seq + 1:
                raise self.lost_error(incarnation, found.seq + 1)
        raise self.lost_error(incarnation, start.seq if start else after)

    def _is_followed(self, record: CommitRecord) -> bool:
        """Return whether later records are there. No hint tells: they are not flushed, and may be old."""
        path = layout.record_path(record.incarnation, record.seq)
        listed = self._store.list(f"{layout.CHAINS}/{record.incarnation}", after=path)
        return any(layout.own(listed))

    def newest_of(self, incarnation: str) -> CommitRecord | None:
        """Return the newest record of a chain of which only the id is known; None when nothing is left."""
        last = self.read_hint(incarnation) or self._find_last_listed(incarnation)
        return self.newest(incarnation, None, last - 1, 0.0) if last else None

    def _find_last_listed(self, incarnation: str) -> int:
        return max(self._list_numbers(incarnation), default=0)

    def _list_numbers(self, incarnation: str) -> list[int]:
        listed = layout.own(self._store.list(f"{layout.CHAINS}/{incarnation}"))
        return [layout.place_of_record(info.path)[1] for info in listed]

    def list_numbers(self) -> dict[str, dict[int, datetime]]:
        """Return the number of every stored record, ascending, by chain, and when it was written."""
        found: dict[str, dict[int, datetime]] = {}
        for info in layout.own(self._store.list(layout.CHAINS)):
            incarnation, seq = layout.place_of_record(info.path)
            found.setdefault(incarnation, {})[seq] = info.last_modified
        return {incarnation: dict(sorted(numbers.items())) for incarnation, numbers in found.items()}

    def floor(self, incarnation: str) -> Floor | None:
        """Return what cleanups have left of a chain, as it is stored now; None when it is complete."""
        path = layout.floor_path(incarnation)
        try:
            return decode_floor(self._store.get(path), path)
        except NotFound:
            return None

    def holds(self, ref: CommitRef, tables: Iterable[str] = ()) -> bool:
        """Return whether a commit is there, and no cleanup has dropped it, or one of these tables of it.

        The floor is read before the record: cleanup writes it before any record goes, and removes it after
        the last one, so a record that is found after the floor was not is held.
        """
        floor = self.floor(ref.incarnation)
        return (floor is None or floor.keeps(ref.seq, tables)) and self._is_there(ref)

    def has_dropped(self, ref: CommitRef) -> bool:
        """Return whether a cleanup has dropped a commit; one that is merely not there is lost instead."""
        floor = self.floor(ref.incarnation)
        if floor is not None:
            return not floor.holds(ref.seq)
        if self.record(ref.incarnation, ref.seq) is not None:
            return False
        # The floor of a chain goes after its last record: then nothing is left.
        return not (self.read_hint(ref.incarnation) or self._find_last_listed(ref.incarnation))

    def claim_commit(self, ref: CommitRef, tables: Iterable[str] = (), begins: bool = False) -> bool:
        """Veto proposals to drop a commit that was just named; say whether it is kept, with these tables."""
        return claim(self._store, ref.incarnation, ref.seq, tables, begins) and self._is_there(ref)

    def _is_there(self, ref: CommitRef) -> bool:
        path = layout.record_path(ref.incarnation, ref.seq)
        data = self._store.get_many([path])[0]
        return data is not None and CommitRecord.decode(data, path).commit == ref.commit

    def read_hint(self, incarnation: str) -> int:
        """Return a number that the chain has reached, 0 when nothing tells."""
        return _decode_hint(self._store.get_many([layout.hint_path(incarnation)])[0], incarnation)

    def leave_hint(self, record: CommitRecord) -> None:
        """Note how far the chain of a record that stands has come."""
        if not (self._store.is_local or record.seq % HINT_EVERY == 0 or _is_first(record)):
            return
        try:
            hit(Failpoint.PUBLISH_BEFORE_HINT)
            path = layout.hint_path(record.incarnation)
            self._store.jot(path, stored_format.encode({"seq": record.seq}, path))
        except (OmniError, OSError):
            pass  # only a hint: the commit stands, and the next one leaves another

    def delete_misplaced(self, record: CommitRecord) -> None:
        """Delete a record that was put where cleanup had removed one: nobody reads that place any more."""
        key = (record.incarnation, record.seq)
        self._records.pop(key)
        self._store.delete(layout.record_path(*key))

    def put(self, record: CommitRecord) -> CommitRecord | None:
        """Write the next record if nobody has; return the stored one if it carries this commit's id."""
        path = layout.record_path(record.incarnation, record.seq)
        data = record.encode()
        hit(Failpoint.PUBLISH_BEFORE_RECORD)
        try:
            self._store.create(path, data)
        except AlreadyExists:
            # A client that repeats a request whose answer was lost meets its own record, and so does a writer
            # whose plan was published by recovery.
            return self._read_own(record)
        except OmniError:
            if (stored := self._read_own(record)) is not None:
                return stored
            raise
        stored = self._remember(replace(record, digest=stored_format.digest_in(data)))
        hit(Failpoint.PUBLISH_AFTER_RECORD)
        return stored

    def clear(self) -> None:
        """Forget the records that were read: some may be gone."""
        self._records.clear()

    def _read_own(self, record: CommitRecord) -> CommitRecord | None:
        stored = self.record(record.incarnation, record.seq)
        return stored if stored is not None and stored.commit == record.commit else None

    def _probe(self, incarnation: str, start: CommitRecord | None, after: int) -> CommitRecord | None:
        """Return the last record that follows `start` without a gap; `start` itself when none does."""
        record, low, step, grown = start, (start.seq if start else after), 1, False
        while (probe := self.record(incarnation, low + step)) is not None:
            low, record = low + step, probe
            step, grown = (step * 2 if grown else 1), True
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if (probe := self.record(incarnation, middle)) is None:
                high = middle
            else:
                low, record = middle, probe
        return record

    def _start(self, incarnation: str, known: CommitRecord | None, after: int) -> CommitRecord | None:
        """Return a record to probe from, near the end of the chain; None when it may be empty.

        A hint is left after its record, so a hinted record that is missing was dropped, or is lost.
        """
        path, hint, lowest = layout.floor_path(incarnation), 0, 0
        for _ in range(
            _MAX_RACES_WITH_CLEANUPS
        ):  # a cleanup may come between two looks, but not between so many
            hint_data, floor_data = self._store.get_many([layout.hint_path(incarnation), path])
            floor = decode_floor(floor_data, path) if floor_data is not None else None
            if floor is not None and floor.ended:
                raise BranchGone(f"branch {floor.branch!r} was deleted: open another", branch=floor.branch)
            lowest = max(floor.below if floor else 0, after + 1)
            hint = max(_decode_hint(hint_data, incarnation), known.seq if known else 0)
            if hint < lowest and floor is None:
                return None
            found = self.record(incarnation, hint if hint >= lowest else lowest)
            if found is not None:
                return found
        raise self.lost_error(incarnation, max(hint, lowest))

    def lost_error(self, incarnation: str, seq: int) -> CorruptState:
        """Return the error for a record that is not there though no cleanup has dropped it."""
        path = layout.record_path(incarnation, seq)
        return CorruptState(
            f"commit record {path} is lost, though no cleanup has dropped it: run `omnigraph repair`, "
            "which tells what else is missing, and restore it from a backup; other commits can be read by id",
            path=path,
        )

    def _remember(self, record: CommitRecord) -> CommitRecord:
        self._records.put((record.incarnation, record.seq), record)
        return record


def _is_first(record: CommitRecord) -> bool:
    return record.parent is None or record.parent.incarnation != record.incarnation


def _decode_hint(data: bytes | None, incarnation: str) -> int:
    """Return the number in a hint; without a usable one the search starts at the chain's beginning."""
    if not data:
        return 0
    path = layout.hint_path(incarnation)
    try:
        return stored_format.decode(data, path, "hint", lambda content: int(content["seq"]))
    except CorruptState:
        return 0


def stamp_time(commit: str, parent: CommitRecord | None) -> int:
    """Return a new record's time: never before its parent's or its own id's, so that time can be searched."""
    return max(clock.current().now_us(), parent.created_at if parent else 0, ulid_time_us(commit))
