"""A store that fails on purpose, before or after the effect of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TypeVar

from omnigraph.base.errors import OmniError, Unavailable
from omnigraph.storage.objects import ObjectInfo, ObjectStore, Versioned

T = TypeVar("T")
KINDS = ("get", "put", "create", "replace", "delete", "head", "list", "move")


@dataclass
class Fault:
    """Fail calls number `nth` to `nth + times - 1` of a kind on paths like `pattern`; `*` matches `/` too.

    With `after` the call takes effect and only its acknowledgement is lost.
    """

    kind: str
    pattern: str = "*"
    nth: int = 1
    times: int = 1
    after: bool = False
    error: OmniError = field(default_factory=lambda: Unavailable("injected by a test"))
    seen: int = 0

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"{self.kind!r} is not one of {KINDS}"

    @property
    def fired(self) -> bool:
        """Whether it has failed a call."""
        return self.seen >= self.nth

    def is_due(self, kind: str, path: str) -> bool:
        """Count a call and say whether it is to fail."""
        if kind != self.kind or not fnmatchcase(path, self.pattern):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


class FaultyStore:
    """An `ObjectStore` that passes every call on, except those that a fault claims."""

    def __init__(self, inner: ObjectStore, *faults: Fault) -> None:
        self.inner = inner
        self.faults = list(faults)
        self.calls: list[tuple[str, str]] = []

    @property
    def scheme(self) -> str:
        return self.inner.scheme

    @property
    def is_local(self) -> bool:
        return self.inner.is_local

    @property
    def root_uri(self) -> str:
        return self.inner.root_uri

    @property
    def flushes(self) -> bool:
        return self.inner.flushes

    def lance_options(self) -> dict[str, str]:
        return self.inner.lance_options()

    def get(self, path: str) -> bytes:
        return self._run("get", path, lambda: self.inner.get(path))

    def get_versioned(self, path: str) -> Versioned:
        return self._run("get", path, lambda: self.inner.get_versioned(path))

    def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        for path in paths:
            self._run("get", path, lambda: None)
        return self.inner.get_many(paths)

    def put(self, path: str, data: bytes) -> None:
        self._run("put", path, lambda: self.inner.put(path, data))

    def jot(self, path: str, data: bytes) -> None:
        self._run("put", path, lambda: self.inner.jot(path, data))

    def create(self, path: str, data: bytes) -> str:
        return self._run("create", path, lambda: self.inner.create(path, data))

    def replace(self, path: str, data: bytes, etag: str) -> str:
        return self._run("replace", path, lambda: self.inner.replace(path, data, etag))

    def delete(self, path: str) -> None:
        self._run("delete", path, lambda: self.inner.delete(path))

    def discard(self, path: str) -> None:
        self._run("delete", path, lambda: self.inner.discard(path))

    def sync(self, paths: Iterable[str]) -> None:
        self.inner.sync(paths)

    def exists(self, path: str) -> bool:
        return self._run("head", path, lambda: self.inner.exists(path))

    def list(self, prefix: str = "", after: str = "") -> Iterator[ObjectInfo]:
        return self._run("list", prefix, lambda: self.inner.list(prefix, after))

    def move(self, source: str, target: str) -> None:
        self._run("move", source, lambda: self.inner.move(source, target))

    def remove_residue(self, older_than: timedelta) -> int:
        return self.inner.remove_residue(older_than)

    def _run(self, kind: str, path: str, call: Callable[[], T]) -> T:
        self.calls.append((kind, path))
        due = next((fault for fault in self.faults if fault.is_due(kind, path)), None)
        if due is not None and not due.after:
            raise due.error
        result = call()
        if due is not None:
            raise due.error
        return result
