"""Floors: which records of a chain cleanups have dropped, durable before anything is removed.

A chain without a floor is complete. One with a floor has every record from number `below` on, and of the
earlier ones those that something still stands on: the fork of a live branch, a tag, the last merge with
another branch. Only cleanup writes a floor, by compare-and-swap, and what it has once given up never returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import AlreadyExists, Contention, NotFound, PreconditionFailed
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRef
from omnigraph.storage.objects import ObjectStore


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
    kept: tuple[int, ...] = ()
    tables: Mapping[str, int] = field(default_factory=dict)
    """By table identity: what records before this number say of the table was dropped for good."""

    def holds(self, seq: int) -> bool:
        """Say whether the record with this number is still there to be read."""
        return seq >= self.below or seq in self.kept

    def numbers(self, last: int) -> Sequence[int]:
        """Return the numbers of all records up to `last`, ascending."""
        later = range(self.below, last + 1)
        early = [seq for seq in self.kept if seq <= last]
        return [*early, *later] if early else later

    def highest(self, seq: int) -> int | None:
        """Return the highest number up to `seq` that is still there."""
        return seq if seq >= self.below else max((item for item in self.kept if item <= seq), default=None)

    def encode(self) -> bytes:
        """Return the floor as stored."""
        return stored_format.encode(
            {
                "incarnation": self.incarnation,
                "branch": self.branch,
                "fork": self.fork.to_json() if self.fork else None,
                "below": self.below,
                "since": self.since,
                "kept": list(self.kept),
                "tables": dict(self.tables),
            }
        )


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


def write_floor(store: ObjectStore, floor: Floor, over: StoredFloor | None) -> StoredFloor:
    """Store a floor over the one that was read; somebody else's cleanup makes this fail."""
    path = layout.floor_path(floor.incarnation)
    data = floor.encode()
    try:
        if over is None:
            store.create(path, data)
        else:
            store.replace(path, data, over.etag)
    except (AlreadyExists, PreconditionFailed):
        stored = read_floor(store, floor.incarnation)
        if stored is None or stored.floor != floor:  # the answer to our own request may have been lost
            raise Contention(
                "another cleanup of this graph is at work: wait for it and try again",
                branch=floor.branch,
            ) from None
    written = read_floor(store, floor.incarnation)
    assert written is not None
    return written


def decode_floor(data: bytes, path: str) -> Floor:
    """Build a floor from its stored form."""
    return stored_format.decode(data, f"floor {path}", _floor)


def _floor(data: Mapping[str, Any]) -> Floor:
    return Floor(
        incarnation=data["incarnation"],
        branch=data["branch"],
        fork=CommitRef.from_json(data["fork"]),
        below=data["below"],
        since=data["since"],
        kept=tuple(data["kept"]),
        tables=dict(data["tables"]),
    )
