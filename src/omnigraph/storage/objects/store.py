"""The contract of the store for small control files; implementations live beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Versioned:
    """An object's bytes with the tag that `replace` compares."""

    data: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What a listing tells about one object."""

    path: str
    size: int
    last_modified: datetime


class ObjectStore(Protocol):
    """Small objects under one root, shared by any number of threads and processes.

    Paths are relative to the root: segments joined by `/`, none of them empty, `.`, `..` or the reserved
    `.og`, no control characters, at most 255 bytes each. Spaces, percent signs and letters of any script
    stand for themselves. A path is either an object or a prefix of others,
    never both.

    - A write is atomic: a reader sees the whole old object or the whole new one. Once a write returned,
      every later read, by anyone, sees it or something newer.
    - Of any number of callers that `create` one path exactly one returns; the others get
      `AlreadyExists`. The object is complete the instant it is visible.
    - `replace` succeeds only while the object still has the given tag, else `PreconditionFailed`, also
      when the object is gone. Two objects of equal content may have equal tags.
    - `delete` of what is not there succeeds.
    - A path exists when it is an object, or a prefix under which an object lies. An empty folder does not
      exist. To be refused is an error, never "no".
    - `list` yields the objects under a prefix of whole segments, in the order of their paths: `a` yields
      `a/x` but neither `ab/x` nor the object `a`. What it yields can be given to every other method.
      Half-written files never appear. An object that is deleted meanwhile may or may not appear.
    - `move` needs a target that nobody else writes, and replaces what is there. On local disk it is atomic;
      on S3 and in memory it copies and then deletes, so a crash can leave both. Like `discard`, it is durable
      once the path was given to `sync`; every other write is durable when it returns.
    - An error leaves the store unchanged, with one exception: the acknowledgement of a write can be lost.
      After `Unavailable` a write may have happened; and because requests over a network are sent again,
      `AlreadyExists` and `PreconditionFailed` can be about the caller's own first try. A caller for whom
      that matters puts its identity into the object and looks.
    - All errors are those of `omnigraph.base.errors`. Every call is counted as `objects.<kind>` with
      `omnigraph.base.telemetry`.

    A store can be pickled (other than one in memory) and used from several threads at once.
    """

    @property
    def scheme(self) -> str:
        """`file`, `memory` or `s3`."""

    @property
    def is_local(self) -> bool:
        """Whether the objects are files of this machine."""

    @property
    def root_uri(self) -> str:
        """The absolute root, as Lance spells it; a table `t` lives at `<root_uri>/t`."""

    @property
    def flushes(self) -> bool:
        """Whether files are flushed here before they count, so that they survive a power cut."""

    def lance_options(self) -> dict[str, str]:
        """Return the storage options with which Lance reaches the same root."""

    def get(self, path: str) -> bytes:
        """Return the bytes of an object, or raise `NotFound`."""

    def get_versioned(self, path: str) -> Versioned:
        """Return the bytes of an object and its tag, or raise `NotFound`."""

    def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of each object, None where there is none; over a network, in parallel."""

    def put(self, path: str, data: bytes) -> None:
        """Write an object, replacing any that is there."""

    def jot(self, path: str, data: bytes) -> None:
        """Write a note that nobody relies on, as cheaply as can be: it may be lost, or read half-written."""

    def create(self, path: str, data: bytes) -> str:
        """Write an object that is not there and return its tag, or raise `AlreadyExists`."""

    def replace(self, path: str, data: bytes, etag: str) -> str:
        """Write over the object that has this tag and return the new tag, or raise `PreconditionFailed`."""

    def delete(self, path: str) -> None:
        """Remove an object if it is there."""

    def discard(self, path: str) -> None:
        """Remove an object that nobody replaces, if it is there; it may come back after a power cut."""

    def sync(self, paths: Iterable[str]) -> None:
        """Make sure that what others have written, or removed, under this root survives a power cut.

        A path with a slash at its end stands for all files of a folder. What is not there is passed over.
        Nothing is done where that was not asked for, and where the storage does it by itself.
        """

    def exists(self, path: str) -> bool:
        """Return whether there is an object at this path or any under it."""

    def list(self, prefix: str = "", after: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects under a prefix, all when it is empty; only those whose paths come after one."""

    def move(self, source: str, target: str) -> None:
        """Give an object another path, or raise `NotFound`."""

    def remove_residue(self, older_than: timedelta) -> int:
        """Remove what killed writers left behind longer ago than this; return how many files."""
