"""Objects behind obstore: in the memory of this process, or in a bucket of S3."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import MemoryStore, S3Store

from omnigraph.base.errors import NotFound
from omnigraph.base.telemetry import count
from omnigraph.storage.objects.errors import FOREIGN, translate
from omnigraph.storage.objects.options import StorageOptions
from omnigraph.storage.objects.paths import check_path, check_prefix
from omnigraph.storage.objects.settings import S3Settings
from omnigraph.storage.objects.store import ObjectInfo, Versioned

_THREADS = 16


class RemoteStore:
    """An `ObjectStore` over an obstore store that has atomic conditional puts of its own."""

    is_local = False
    flushes = False

    def __init__(
        self, inner: MemoryStore | S3Store, scheme: str, place: str, root_uri: str, options: Mapping[str, str]
    ) -> None:
        """Wrap `inner`; `place` is the bucket or name, with the prefix that is put before every path."""
        self.scheme = scheme
        self.root_uri = root_uri
        self._inner = inner
        self._root = f"{scheme}://{place}"
        prefix = place.partition("/")[2]
        self._prefix = f"{prefix}/" if prefix else ""
        self._options = StorageOptions(options)

    def lance_options(self) -> dict[str, str]:
        """Return the storage options with which Lance reaches the same root."""
        return dict(self._options)

    def get(self, path: str) -> bytes:
        """Return the bytes of an object."""
        return self.get_versioned(path).data

    def get_versioned(self, path: str) -> Versioned:
        """Return the bytes of an object and the tag that the store gave it."""
        try:
            found = self._fetch(path)
        except NotFound:
            count("objects.get_missing")
            raise
        count("objects.get")
        return found

    def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of each object; from S3, in parallel."""
        if self.scheme == "memory" or len(paths) < 2:
            found = [self._fetch_or_none(path) for path in paths]
        else:
            found = list(_threads().map(self._fetch_or_none, paths))
        missing = found.count(None)
        count("objects.get", len(found) - missing)
        count("objects.get_missing", missing)
        return found

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        check_path(path)
        count("objects.put")
        try:
            obstore.put(self._inner, self._prefix + path, data, use_multipart=False)
        except FOREIGN as error:
            raise translate(error, self._root, path, writing=True) from error

    def jot(self, path: str, data: bytes) -> None:
        """Write an object."""
        self.put(path, data)

    def create(self, path: str, data: bytes) -> str:
        """Write an object that is not there."""
        check_path(path)
        count("objects.create")
        try:
            done = obstore.put(self._inner, self._prefix + path, data, mode="create")
        except AlreadyExistsError as error:
            count("objects.create_lost")
            raise translate(error, self._root, path, writing=True) from None
        except FOREIGN as error:
            raise translate(error, self._root, path, writing=True) from error
        return done["e_tag"] or ""

    def replace(self, path: str, data: bytes, etag: str) -> str:
        """Write over the object that has this tag."""
        check_path(path)
        count("objects.replace")
        try:
            done = obstore.put(self._inner, self._prefix + path, data, mode={"e_tag": etag})
        except FOREIGN as error:
            raise translate(error, self._root, path, writing=True) from error
        return done["e_tag"] or ""

    def delete(self, path: str) -> None:
        """Remove an object if it is there."""
        check_path(path)
        count("objects.delete")
        try:
            obstore.delete(self._inner, self._prefix + path)
        except FOREIGN as error:
            translated = translate(error, self._root, path, writing=True)
            if not isinstance(translated, NotFound):
                raise translated from error

    def discard(self, path: str) -> None:
        """Remove an object if it is there."""
        self.delete(path)

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing; what the store has acknowledged is durable."""

    def exists(self, path: str) -> bool:
        """Return whether there is an object at this path or any under it."""
        path = check_prefix(path)
        count("objects.head")
        try:
            if path:
                obstore.head(self._inner, self._prefix + path)
                return True
        except FOREIGN as error:
            translated = translate(error, self._root, path)
            if not isinstance(translated, NotFound):
                raise translated from error
        return next(self._listing(path), None) is not None

    def reader(self, path: str, buffer: int) -> io.RawIOBase:
        """Open an object that may be large for reading from its beginning to its end."""
        check_path(path)
        count("objects.read")
        try:
            return _Reader(
                self, path, obstore.open_reader(self._inner, self._prefix + path, buffer_size=buffer)
            )
        except FOREIGN as error:
            raise translate(error, self._root, path) from error

    def upload(self, path: str, file: Path) -> None:
        """Write an object that may be large, from a file; it appears when all of it has arrived."""
        check_path(path)
        count("objects.put")
        try:
            obstore.put(self._inner, self._prefix + path, file)
        except FOREIGN as error:
            raise translate(error, self._root, path, writing=True) from error

    def size(self, path: str) -> int:
        """Return the number of bytes of an object that may be large."""
        check_path(path)
        count("objects.head")
        try:
            return int(obstore.head(self._inner, self._prefix + path)["size"])
        except FOREIGN as error:
            raise translate(error, self._root, path) from error

    def list(self, prefix: str = "", after: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects under a prefix."""
        prefix = check_prefix(prefix)
        count("objects.list")
        return self._listing(prefix, after)

    def move(self, source: str, target: str) -> None:
        """Copy an object to another path, then delete the first."""
        check_path(source)
        check_path(target)
        count("objects.move")
        try:
            obstore.rename(self._inner, self._prefix + source, self._prefix + target)
        except FOREIGN as error:
            raise translate(error, self._root, source, writing=True) from error

    def remove_residue(self, older_than: timedelta) -> int:
        """Do nothing; an unfinished write leaves nothing behind."""
        return 0

    def __repr__(self) -> str:
        return f"RemoteStore({self._root!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.scheme == "memory":
            raise TypeError(f"{self._root} lives in the memory of one process and cannot be pickled")
        return open_s3, (self._root.removeprefix("s3://"), self._options)

    def _fetch(self, path: str) -> Versioned:
        check_path(path)
        try:
            found = obstore.get(self._inner, self._prefix + path)
            return Versioned(found.bytes().to_bytes(), found.meta["e_tag"] or "")
        except FOREIGN as error:
            translated = translate(error, self._root, path)
            raise translated from (None if isinstance(translated, NotFound) else error)

    def _fetch_or_none(self, path: str) -> bytes | None:
        try:
            return self._fetch(path).data
        except NotFound:
            return None

    def _listing(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        skip = len(self._prefix)
        offset = self._prefix + after if after else None
        try:
            for chunk in obstore.list(self._inner, self._prefix + prefix, offset=offset):
                for found in chunk:
                    yield ObjectInfo(found["path"][skip:], found["size"], found["last_modified"])
        except FOREIGN as error:
            raise translate(error, self._root, prefix) from error


class _Reader(io.RawIOBase):
    """An object as a file; what goes wrong while it is read is told as any error of the store."""

    def __init__(self, store: RemoteStore, path: str, inner: obstore.ReadableFile) -> None:
        self._store, self._path, self._inner = store, path, inner

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the next bytes go."""
        try:
            found = self._inner.read(len(buffer))
        except FOREIGN as error:
            raise translate(error, self._store._root, self._path) from error
        buffer[: len(found)] = memoryview(found)
        return len(found)

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another place of the object."""
        return self._inner.seek(offset, whence)


_memories: dict[str, MemoryStore] = {}


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-objects")


def open_memory(place: str) -> RemoteStore:
    """Return the store of this name; all stores of one name in a process share their objects."""
    inner = _memories.setdefault(place.partition("/")[0], MemoryStore())
    # Lance's own `memory://` is private to each dataset; this is the one that is shared.
    return RemoteStore(inner, "memory", place, f"shared-memory://{place}", {})


def open_s3(place: str, options: Mapping[str, str]) -> RemoteStore:
    """Return a store in a bucket, given as `bucket` or `bucket/prefix`."""
    settings = S3Settings.resolve(options)
    root = f"s3://{place}"
    try:
        inner = S3Store(
            place.partition("/")[0],
            config=settings.config(),
            client_options=settings.client_options(),
            retry_config=settings.retry_config(),
        )
    except FOREIGN as error:
        raise translate(error, root, "") from error
    return RemoteStore(inner, "s3", place, root, settings.lance_options())
