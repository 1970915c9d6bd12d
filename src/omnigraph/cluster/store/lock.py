"""The lock of a cluster: one operator at a time; a lock whose process died stays until it is forced."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, ClusterLockHeld, NotFound, OmniError
from omnigraph.base.ids import new_ulid
from omnigraph.base.plain import to_full_object
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.records import build_record, decode_record, encode_record
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

_RELEASE_PAUSE_SECONDS = (0.0, 0.05, 0.2, 0.8)
"""Before each try to remove a lock."""


@dataclass(frozen=True, slots=True)
class LockRecord:
    """Who holds the lock."""

    lock_id: str
    operation: str = ""
    created_at: int = 0
    """Microseconds since the epoch."""
    pid: int = 0
    host: str = ""
    actor: str | None = None


class ClusterLock:
    """The lock object of one cluster."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def read(self) -> LockRecord | None:
        """Return who holds the lock."""
        try:
            data = self._store.get(layout.LOCK)
        except NotFound:
            return None
        return build_record(LockRecord, decode_record(data, layout.LOCK), layout.LOCK)

    @contextmanager
    def hold(
        self, operation: str, actor: str | None = None, on_left: Callable[[str], None] | None = None
    ) -> Iterator[LockRecord]:
        """Hold the lock inside the block, or raise `ClusterLockHeld` at once.

        What was done inside stands, also when the lock cannot be removed after it: `on_left` is told why.
        """
        mine = LockRecord(
            new_ulid(), operation, clock.current().now_us(), os.getpid(), socket.gethostname(), actor
        )
        try:
            if put_over(self._store, layout.LOCK, encode_record(to_full_object(mine)), None) is None:
                raise _lock_held(self.read())
            yield mine
        finally:
            # Also when it is not known whether the lock was taken: nobody else would remove it.
            left = self._release(mine.lock_id)
            if left is not None and on_left is not None:
                on_left(f"{left.message}; the lock stays: `omnigraph cluster force-unlock {mine.lock_id}`")

    def force(self, lock_id: str) -> LockRecord:
        """Remove the lock with exactly this id."""
        found = self.read()
        if found is None:
            raise NotFound("the cluster is not locked", lock_id=lock_id)
        if found.lock_id != lock_id:
            raise BadInput(
                f"the lock is {found.lock_id}, not {lock_id}: give its exact id", lock_id=found.lock_id
            )
        self._store.delete(layout.LOCK)
        return found

    def _release(self, lock_id: str) -> OmniError | None:
        """Remove the lock if it is still the one that was taken: who forced it away may hold another.

        A removal whose answer was lost is looked after. Return why the lock may still be there.
        """
        trouble: OmniError | None = None
        for pause in _RELEASE_PAUSE_SECONDS:
            if pause:
                clock.current().sleep(pause)
            try:
                found = self.read()
                if found is not None and found.lock_id == lock_id:
                    self._store.delete(layout.LOCK)
                return None
            except OmniError as error:
                trouble = error
        return trouble


def _lock_held(other: LockRecord | None) -> ClusterLockHeld:
    if other is None:
        return ClusterLockHeld("somebody else had the lock of the cluster just now: try again")
    return ClusterLockHeld(
        f"the cluster is locked by {other.operation!r} of process {other.pid} on {other.host or 'a host'}, "
        f"lock {other.lock_id}: wait for it; when that process is gone, "
        f"`omnigraph cluster force-unlock {other.lock_id}`",
        lock_id=other.lock_id,
        operation=other.operation,
        created_at=other.created_at,
        pid=other.pid,
    )
