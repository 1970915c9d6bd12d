"""One branch incarnation's chain of commit records: read one, find the newest, put the next.

Records are numbered without gaps and never change, so the newest one is found by probing: from a
record that is known, or from a hint, forward in growing steps and back by halves.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable

from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, HistoricalVersionReclaimed, NotFound, OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import ulid_time_us
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.storage.objects import ObjectStore

HINT_EVERY = 16
HINT_AFTER_SECONDS = 300.0
"""A known record older than this is not probed from directly: cleanup may have removed what follows it."""


class Chains:
    """All chains of a graph, with a cache of records, which never change once written."""

    def __init__(self, store: ObjectStore, capacity: int = 1024) -> None:
        self._store = store
        self._capacity = capacity
        self._records: OrderedDict[tuple[str, int], CommitRecord] = OrderedDict()
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
            return self._remember(CommitRecord.decode(self._store.get(path), path))
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
            known[seq] = self._remember(CommitRecord.decode(data, path)) if data is not None else None
        return [record for seq in wanted if (record := known[seq]) is not None]

    def newest(
        self, incarnation: str, known: CommitRecord | None, floor: int, age: float
    ) -> CommitRecord | None:
        """Return the newest record after number `floor`, or None for an empty chain.

        `known` is a record of this chain seen `age` seconds ago, when there is one.
        """
        record = known
        if known is None or age > HINT_AFTER_SECONDS:
            record = self._hinted(incarnation, floor) or known
        low, step, grown = (record.seq if record else floor), 1, False
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

    def _is_stored(self, record: CommitRecord) -> bool:
        stored = self.record(record.incarnation, record.seq)
        return stored is not None and stored.commit == record.commit

    def _leave_hint(self, record: CommitRecord) -> None:
        try:
            hit(Failpoint.PUBLISH_BEFORE_HINT)
            self._store.put(layout.hint_path(record.incarnation), json.dumps({"seq": record.seq}).encode())
        except (OmniError, OSError):
            pass  # only a hint: the commit stands, and the next one leaves another

    def _hinted(self, incarnation: str, floor: int) -> CommitRecord | None:
        try:
            seq = json.loads(self._store.get(layout.hint_path(incarnation)))["seq"]
        except (NotFound, ValueError, KeyError, TypeError):
            return None  # without a usable hint the search starts at the chain's beginning
        return self.record(incarnation, seq) if isinstance(seq, int) and seq > floor else None

    def _remember(self, record: CommitRecord) -> CommitRecord:
        with self._lock:
            self._records[(record.incarnation, record.seq)] = record
            while len(self._records) > self._capacity:
                self._records.popitem(last=False)
        return record


def stamp_time(commit: str, parent: CommitRecord | None) -> int:
    """Return a new record's time: never before its parent's or its own id's, so that time can be searched."""
    return max(clock.current().now_us(), parent.created_at if parent else 0, ulid_time_us(commit))
