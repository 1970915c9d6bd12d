"""One branch incarnation's chain of commit records: read one, find the newest, put the next.

Records are numbered without gaps and never change, so the newest one is found by probing: from a
record that is known, or from a hint, forward in growing steps and back by halves. Cleanup removes old
records, but none that is younger than `RECORD_REST_SECONDS`; so from a record that was the newest a moment
ago the probe is safe, and whoever has looked away for longer starts from the chain's floor.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable

from omnigraph.base import clock
from omnigraph.base.errors import (
    AlreadyExists,
    CorruptState,
    HistoricalVersionReclaimed,
    NotFound,
    OmniError,
)
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import ulid_time_us
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, decode_floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.storage.objects import ObjectStore

HINT_EVERY = 16
HINT_AFTER_SECONDS = 300.0
"""What was seen longer ago is not probed from directly: cleanup may have removed what follows it."""
RECORD_REST_SECONDS = 2 * HINT_AFTER_SECONDS
"""How old a record must be before cleanup may remove it, whatever its floor says."""

_TRIES = 8


class Chains:
    """All chains of a graph, with a cache of records, which never change once written."""

    def __init__(self, store: ObjectStore, capacity: int = 1024) -> None:
        self._store = store
        self._capacity = capacity
        self._records: OrderedDict[tuple[str, int], CommitRecord] = OrderedDict()
        self._void: set[CommitRef] = set()
        self._lock = threading.Lock()

    def record(self, incarnation: str, seq: int) -> CommitRecord | None:
        """Return a record, or None when there is none with this number."""
        key = (incarnation, seq)
        with self._lock:
            found = self._records.get(key)
            if found is not None:
                self._records.move_to_end(key)
                return found
        path = layout.record_path(incarnation, seq)
        try:
            return self._learned(self._store.get(path), path)
        except NotFound:
            return None

    def at(self, ref: CommitRef) -> CommitRecord:
        """Return the record that a ref names."""
        found = self.record(ref.incarnation, ref.seq)
        if found is None:
            raise HistoricalVersionReclaimed(
                f"commit {ref.commit} (version {ref.seq}) is no longer stored: a cleanup has removed it",
                commit=ref.commit,
                version=ref.seq,
            )
        return found

    def records(self, incarnation: str, seqs: Iterable[int]) -> list[CommitRecord]:
        """Return the records with these numbers that exist, read in parallel."""
        wanted = list(seqs)
        with self._lock:
            known = {seq: self._records.get((incarnation, seq)) for seq in wanted}
        missing = [seq for seq, record in known.items() if record is None]
        paths = [layout.record_path(incarnation, seq) for seq in missing]
        for seq, path, data in zip(missing, paths, self._store.get_many(paths), strict=True):
            known[seq] = self._learned(data, path) if data is not None else None
        return [record for seq in wanted if (record := known[seq]) is not None]

    def newest(
        self, incarnation: str, known: CommitRecord | None, after: int, age: float
    ) -> CommitRecord | None:
        """Return the newest record after number `after`, or None for an empty chain.

        `known` is a record of this chain that was the newest `age` seconds ago, when there is one.
        """
        record = known
        if known is None or age > HINT_AFTER_SECONDS:
            record = self._start(incarnation, known, after)
        low, step, grown = (record.seq if record else after), 1, False
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

    def floor(self, incarnation: str) -> Floor | None:
        """Return what cleanups have left of a chain, as it is stored now; None when it is complete."""
        path = layout.floor_path(incarnation)
        try:
            return decode_floor(self._store.get(path), path)
        except NotFound:
            return None

    def keeps(self, record: CommitRecord, age: float) -> bool:
        """Say whether a record, and every table that it names, is there and not about to be removed.

        `age` is how long ago the record was known to be there: the chain of a deleted branch may vanish.
        """
        if age > HINT_AFTER_SECONDS:
            place = layout.record_path(record.incarnation, record.seq)
            if self._store.get_many([place])[0] is None:
                return False
        floor = self.floor(record.incarnation)
        if floor is None:
            return True
        dropped = (floor.tables.get(identity, 0) for identity in record.tables)
        return floor.holds(record.seq) and all(record.seq >= seq for seq in dropped)

    def forget(self, record: CommitRecord) -> None:
        """Take back a record that was put where cleanup had removed one: nobody reads that place any more."""
        key = (record.incarnation, record.seq)
        with self._lock:
            self._void.add(record.ref)
            self._records.pop(key, None)
        self._store.delete(layout.record_path(*key))

    def put(self, record: CommitRecord) -> bool:
        """Write the next record if nobody has; return whether the stored one carries this commit's id."""
        path = layout.record_path(record.incarnation, record.seq)
        hit(Failpoint.PUBLISH_BEFORE_RECORD)
        try:
            self._store.create(path, record.encode())
        except AlreadyExists:
            # A client that repeats a request whose answer was lost meets its own record.
            return self._is_stored(record)
        except OmniError:
            if self._is_stored(record):
                return True
            raise
        self._remember(record)
        hit(Failpoint.PUBLISH_AFTER_RECORD)
        if record.seq % HINT_EVERY == 0:
            self._leave_hint(record)
        return True

    def clear(self) -> None:
        """Forget the records that were read: some may be gone."""
        with self._lock:
            self._records.clear()

    def _is_stored(self, record: CommitRecord) -> bool:
        stored = self.record(record.incarnation, record.seq)
        return stored is not None and stored.commit == record.commit

    def _leave_hint(self, record: CommitRecord) -> None:
        try:
            hit(Failpoint.PUBLISH_BEFORE_HINT)
            self._store.put(layout.hint_path(record.incarnation), json.dumps({"seq": record.seq}).encode())
        except (OmniError, OSError):
            pass  # only a hint: the commit stands, and the next one leaves another

    def _start(self, incarnation: str, known: CommitRecord | None, after: int) -> CommitRecord | None:
        """Return a record to probe from, near the end of the chain; None when it may be empty."""
        path = layout.floor_path(incarnation)
        for _ in range(_TRIES):
            hint, floor_data = self._store.get_many([layout.hint_path(incarnation), path])
            floor = decode_floor(floor_data, path).below if floor_data is not None else 0
            lowest = max(floor, after + 1)
            places = {_hinted(hint), known.seq if known else 0, floor}
            for seq in sorted((place for place in places if place >= lowest), reverse=True):
                if (record := self.record(incarnation, seq)) is not None:
                    return record
            if not floor:
                return None
        raise CorruptState(
            f"the records of chain {incarnation} do not begin where {path} says: run `omnigraph repair`",
            path=path,
        )

    def _learned(self, data: bytes, path: str) -> CommitRecord | None:
        """Return a record that was read, unless this process has taken it back."""
        record = CommitRecord.decode(data, path)
        with self._lock:
            is_void = record.ref in self._void
        return None if is_void else self._remember(record)

    def _remember(self, record: CommitRecord) -> CommitRecord:
        with self._lock:
            self._records[(record.incarnation, record.seq)] = record
            while len(self._records) > self._capacity:
                self._records.popitem(last=False)
        return record


def _hinted(data: bytes | None) -> int:
    """Return the number in a hint; without a usable one the search starts at the chain's beginning."""
    try:
        seq = json.loads(data or b"")["seq"]
    except (ValueError, KeyError, TypeError):
        return 0
    return seq if isinstance(seq, int) else 0


def stamp_time(commit: str, parent: CommitRecord | None) -> int:
    """Return a new record's time: never before its parent's or its own id's, so that time can be searched."""
    return max(clock.current().now_us(), parent.created_at if parent else 0, ulid_time_us(commit))
