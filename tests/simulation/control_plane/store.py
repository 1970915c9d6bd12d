"""`SimulatedStore`: an object store in memory that does everything its contract allows.

Listings are slow and show what came or went meanwhile or not, answers of writes are lost, a write that was
sent twice meets itself. What the contract promises holds: a write is atomic, and one that returned is seen.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from omnigraph.base.errors import AlreadyExists, NotFound, OmniError, PreconditionFailed, Unavailable
from omnigraph.storage.objects.store import ObjectInfo, Versioned
from simulation.control_plane.scheduler import Actor, Scheduler

ROOT = "simulated://graph"


class Stored(NamedTuple):
    """An object, and when it was written by the clock of the storage."""

    data: bytes
    etag: str
    written_us: int


@dataclass(frozen=True)
class Manner:
    """What the storage of one history is like, within the contract."""

    page: int = 1000
    """Objects that a listing answers with at once."""
    whole_seconds: bool = False
    """Whether dates are as S3 tells them."""
    tags_of_content: bool = True
    """Whether objects of equal content have equal tags."""
    is_local: bool = False
    """Whether it is a disk, on which every commit leaves a hint of how far its chain has come."""


@dataclass
class SimulatedStore:
    """An `ObjectStore` whose every call is a point at which the scheduler may do something else."""

    scheduler: Scheduler
    manner: Manner = Manner()
    objects: dict[str, Stored] = field(default_factory=dict)
    written: list[tuple[str, bytes]] = field(default_factory=list)
    """Everything that was ever created, in order: what a checker may know and the kernel may not."""
    deleted: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By path: the step at which it was last deleted, and by whom."""

    scheme = "simulated"
    root_uri = ROOT
    flushes = False

    @property
    def is_local(self) -> bool:
        """Whether it is a disk."""
        return self.manner.is_local

    def lance_options(self) -> dict[str, str]:
        """Return nothing: there is no Lance here."""
        return {}

    def get(self, path: str) -> bytes:
        """Return the bytes of an object."""
        return self.get_versioned(path).data

    def get_versioned(self, path: str) -> Versioned:
        """Return the bytes of an object and its tag."""
        actor = self._begin("get", path)
        found = self.objects.get(path)
        self._end(actor)
        if found is None:
            raise _missing(path)
        return Versioned(found.data, found.etag)

    def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of each object, read in any order."""
        order = list(range(len(paths)))
        if len(order) > 1 and self.scheduler.running is not None:
            self.scheduler.rng.shuffle(order)
        found: list[bytes | None] = [None] * len(paths)
        for place in order:
            actor = self._begin("get", paths[place])
            item = self.objects.get(paths[place])
            self._end(actor)
            found[place] = item.data if item is not None else None
        return found

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        actor = self._begin("put", path)
        self._write(path, data)
        self._end(actor, lost=Unavailable)

    def jot(self, path: str, data: bytes) -> None:
        """Write an object."""
        self.put(path, data)

    def create(self, path: str, data: bytes) -> str:
        """Write an object that is not there."""
        actor = self._begin("create", path)
        if path in self.objects:
            raise AlreadyExists(f"the object {path!r} exists under {ROOT}", path=path, root=ROOT)
        self._write(path, data)
        self._end(actor, lost=Unavailable, again=AlreadyExists)
        return self.objects[path].etag

    def replace(self, path: str, data: bytes, etag: str) -> str:
        """Write over the object that has this tag."""
        actor = self._begin("replace", path)
        found = self.objects.get(path)
        if found is None or found.etag != etag:
            raise PreconditionFailed(f"the object {path!r} under {ROOT} has changed", path=path, root=ROOT)
        self._write(path, data)
        self._end(actor, lost=Unavailable, again=PreconditionFailed)
        return self.objects[path].etag

    def delete(self, path: str) -> None:
        """Remove an object if it is there."""
        actor = self._begin("delete", path)
        if self.objects.pop(path, None) is not None:
            self.deleted[path] = (self.scheduler.step, self.scheduler.process.name)
        self._end(actor, lost=Unavailable)

    def discard(self, path: str) -> None:
        """Remove an object that nobody replaces."""
        self.delete(path)

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing: what is written is durable."""

    def exists(self, path: str) -> bool:
        """Say whether there is an object at this path or any under it."""
        actor = self._begin("exists", path)
        found = path in self.objects or any(item.startswith(f"{path}/") for item in self.objects)
        self._end(actor)
        return found

    def list(self, prefix: str = "", after: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects under a prefix, a page at a time."""
        return (info for info in self._listing(prefix) if info.path > after)

    def move(self, source: str, target: str) -> None:
        """Copy an object, then delete the first."""
        data = self.get(source)
        self.put(target, data)
        self.delete(source)

    def remove_residue(self, older_than: timedelta) -> int:
        """Do nothing: an unfinished write leaves nothing behind."""
        return 0

    def _listing(self, prefix: str) -> Iterator[ObjectInfo]:
        inside = f"{prefix}/" if prefix else ""
        actor = self._begin("list", prefix)
        first = {path: item for path, item in self.objects.items() if path.startswith(inside)}
        self._end(actor)
        waiting = sorted(first)
        if actor is None or self.manner.page >= len(waiting):
            yield from (self._info(path, first[path]) for path in waiting)
            return
        rng, after = self.scheduler.rng, ""
        while True:
            # What was there all the time appears; what came or went meanwhile may or may not.
            now = {path for path in self.objects if path > after and path.startswith(inside)}
            unsure = sorted(now ^ set(waiting))
            left_out = {path for path in unsure if rng.random() < 0.5}
            page = sorted((now | set(waiting)) - left_out)[: self.manner.page]
            for path in page:
                item = self.objects.get(path) or first.get(path)
                if item is not None:
                    yield self._info(path, item)
            if not page:
                return
            after = page[-1]
            waiting = waiting[bisect_left(waiting, after) :]
            if waiting and waiting[0] == after:
                waiting = waiting[1:]
            self._end(self._begin("list", f"{prefix} after {after}"))

    def _info(self, path: str, item: Stored) -> ObjectInfo:
        written = item.written_us // 1_000_000 * 1_000_000 if self.manner.whole_seconds else item.written_us
        return ObjectInfo(path, len(item.data), datetime.fromtimestamp(written / 1e6, UTC))

    def _write(self, path: str, data: bytes) -> None:
        tag = hashlib.md5(data).hexdigest() if self.manner.tags_of_content else str(len(self.written))
        self.objects[path] = Stored(data, tag, self.scheduler.now_us)
        self.written.append((path, data))

    def _begin(self, kind: str, path: str) -> Actor | None:
        actor = self.scheduler.point(kind, path)
        if actor is not None and actor.pending:
            if "crash_before" in actor.pending:
                self.scheduler.die(actor)
            if "unavailable" in actor.pending:
                actor.pending.remove("unavailable")
                self.scheduler.note("UNAVAILABLE", path)
                raise _unavailable(path)
        return actor

    def _end(
        self,
        actor: Actor | None,
        lost: type[OmniError] | None = None,
        again: type[OmniError] | None = None,
    ) -> None:
        if actor is None or not actor.pending:
            return
        if "crash_after" in actor.pending:
            self.scheduler.die(actor)
        if again is not None and "own_try" in actor.pending:
            actor.pending.remove("own_try")
            self.scheduler.note("OWN_TRY", "")
            raise again("the object has changed or exists (this is the answer to the second try)")
        if lost is not None and "lost" in actor.pending:
            actor.pending.remove("lost")
            self.scheduler.note("LOST", "")
            raise _unavailable("")


def _missing(path: str) -> NotFound:
    return NotFound(f"there is no object {path!r} under {ROOT}", path=path, root=ROOT)


def _unavailable(path: str) -> Unavailable:
    return Unavailable(f"storage at {ROOT} did not answer a request for {path!r}", path=path, root=ROOT)
