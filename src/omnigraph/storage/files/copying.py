"""Copying whole files from one store to another, hashed on the way, several at a time."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from omnigraph.base.plain import listed
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.errors import translate

_COPY_BYTES = 4 * 2**20
_COPY_IN_MEMORY_BYTES = 8 * 2**20
_FILES_AT_ONCE_OVER_NETWORK = 16
_FILES_AT_ONCE_ON_DISK = 4

Given = TypeVar("Given")
Result = TypeVar("Result")


@listed
@dataclass(frozen=True, slots=True)
class Content:
    """What a file is, whatever its name: its size and the hash of its bytes."""

    size: int
    digest: str

    @staticmethod
    def of(data: bytes) -> Content:
        """Return the content that bytes are."""
        return Content(len(data), _hasher(data).hexdigest())


class _Bulk(Protocol):
    """What stores can do with large files besides what they do with objects."""

    def reader(self, path: str, buffer: int) -> io.RawIOBase:
        """Open a file for reading."""

    def upload(self, path: str, file: Path) -> None:
        """Write a file."""


def content_of(store: ObjectStore, path: str) -> Content:
    """Read a file and say what it is."""
    hasher, size = _hasher(), 0
    for piece in _pieces(store, path):
        hasher.update(piece)
        size += len(piece)
    return Content(size, hasher.hexdigest())


def transfer(
    source: ObjectStore, path: str, size: int, target: ObjectStore, place: Callable[[Content], str | None]
) -> Content:
    """Copy a file of about this size; `place` is told what it is and says where it goes, None for nowhere.

    The whole file is read and hashed before anything is written.
    """
    if source.is_local:
        content = content_of(source, path)
        if (goes := place(content)) is not None:
            cast(_Bulk, target).upload(goes, Path(source.root_uri, path))
        return content
    if size <= _COPY_IN_MEMORY_BYTES:
        data = source.get(path)
        content = Content.of(data)
        if (goes := place(content)) is not None:
            target.put(goes, data)
        return content
    with _fetch(source, path) as (file, content):
        if (goes := place(content)) is not None:
            cast(_Bulk, target).upload(goes, file)
    return content


def side_by_side(
    stores: Iterable[ObjectStore], act: Callable[[Given], Result], given: Iterable[Given]
) -> Iterator[Result]:
    """Do something with each item, several at a time, and yield the results as they come.

    The first failure is raised once nothing is under way any more; what had not begun is not begun.
    """
    width = _FILES_AT_ONCE_ON_DISK if all(store.is_local for store in stores) else _FILES_AT_ONCE_OVER_NETWORK
    items = iter(given)
    with ThreadPoolExecutor(width, thread_name_prefix="omnigraph-copy") as threads:
        running: set[Future[Result]] = set()
        try:
            while True:
                while len(running) < 2 * width and (item := next(items, None)) is not None:
                    running.add(threads.submit(act, item))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


def _hasher(data: bytes = b"") -> Any:
    return hashlib.blake2b(data, digest_size=16)


def _pieces(store: ObjectStore, path: str) -> Iterator[bytes]:
    with cast(_Bulk, store).reader(path, _COPY_BYTES) as file:
        while piece := _next_piece(file, store, path):
            yield piece


def _next_piece(file: io.RawIOBase, store: ObjectStore, path: str) -> bytes:
    try:
        return file.read(_COPY_BYTES) or b""
    except OSError as error:
        raise translate(error, store.root_uri, path) from error


@contextmanager
def _fetch(store: ObjectStore, path: str) -> Iterator[tuple[Path, Content]]:
    """Give a file of another machine as a temporary one of this one."""
    hasher, size = _hasher(), 0
    with tempfile.NamedTemporaryFile(prefix="omnigraph-copy-") as file:
        for piece in _pieces(store, path):
            hasher.update(piece)
            size += len(piece)
            file.write(piece)
        file.flush()
        yield Path(file.name), Content(size, hasher.hexdigest())
