"""The files below one table's folder as bytes: their sums, their sizes and what lies in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from omnigraph.base.errors import NotFound
from omnigraph.storage.format.digests import FileSum, known, sum_of
from omnigraph.storage.objects.errors import translate
from omnigraph.storage.objects.read_file import read_file
from omnigraph.storage.objects.s3 import RemoteStore, open_s3

_READ_BYTES = 1 << 18
"""What a processor keeps close while it is hashed."""
_REMOTE_READ_BYTES = 8 << 20
_CACHED_STORES = 64


class TableFolder:
    """A table's folder, on local disk or in object storage; paths are below it."""

    def __init__(self, root_uri: str, options: dict[str, str], location: str) -> None:
        self._root, self._options, self._location = root_uri, options, location
        self.is_local = "://" not in root_uri

    def address(self, path: str) -> str:
        """Return what tells a file from every other file of all tables."""
        return f"{self._root}/{self._location}/{path}"

    def inside(self, path: str) -> str:
        """Return the path of a file below the root."""
        return f"{self._location}/{path}"

    def read(self, path: str) -> bytes:
        """Return the bytes of a small file."""
        if not self.is_local:
            return self._remote.get(self.inside(path))
        try:
            return read_file(self.address(path))
        except OSError as error:
            raise translate(error, self._root, self.inside(path)) from error

    def write(self, path: str, data: bytes) -> None:
        """Write a small file in a folder of a version that no commit names yet, so that nobody reads it."""
        if not self.is_local:
            self._remote.put(self.inside(path), data)
            return
        try:
            with open(self.address(path), "wb", buffering=0) as file:
                file.write(data)
        except FileNotFoundError as error:
            raise NotFound(f"the folder of {self.inside(path)} is gone", path=self.inside(path)) from error
        except OSError as error:
            raise translate(error, self._root, self.inside(path), writing=True) from error

    def sum_of(self, path: str, fresh: bool = False) -> FileSum:
        """Return the sum of a file; it is read when nobody has yet, or when a `fresh` one is asked for."""
        address = self.address(path)
        found = None if fresh else known.get(address)
        if found is None:
            found = sum_of(self._pieces(path))
            known.put(address, found)
        return found

    def size_of(self, path: str) -> int:
        """Return the size of a file."""
        if not self.is_local:
            return self._remote.size(self.inside(path))
        try:
            return os.stat(self.address(path)).st_size
        except OSError as error:
            raise translate(error, self._root, self.inside(path)) from error

    def names(self, folder: str) -> list[str]:
        """Return the paths of all files below a folder, sorted; none when there is no such folder."""
        if not self.is_local:
            skip = len(self._location) + 1
            return sorted(info.path[skip:] for info in self._remote.list(self.inside(folder)))
        return sorted(self._below(folder))

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        try:
            self.size_of(path)
        except NotFound:
            return False
        return True

    def _below(self, folder: str) -> Iterator[str]:
        try:
            with os.scandir(self.address(folder)) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if entry.is_dir():
                        yield from self._below(path)
                    else:
                        yield path
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise translate(error, self._root, self.inside(folder)) from error

    @property
    def _remote(self) -> RemoteStore:
        return _open_store(self._root, tuple(sorted(self._options.items())))

    def _pieces(self, path: str) -> Iterator[bytes | memoryview]:
        if not self.is_local:
            yield from self._remote_pieces(path)
            return
        try:
            with open(self.address(path), "rb", buffering=0) as file:
                buffer = bytearray(min(_READ_BYTES, os.fstat(file.fileno()).st_size + 1))
                view = memoryview(buffer)
                while count := file.readinto(buffer):
                    yield view[:count]
        except OSError as error:
            raise translate(error, self._root, self.inside(path)) from error

    def _remote_pieces(self, path: str) -> Iterator[bytes]:
        with self._remote.reader(self.inside(path), _REMOTE_READ_BYTES) as file:
            while piece := file.read(_REMOTE_READ_BYTES):
                yield piece


@lru_cache(_CACHED_STORES)
def _open_store(root_uri: str, options: tuple[tuple[str, str], ...]) -> RemoteStore:
    return open_s3(root_uri.removeprefix("s3://"), dict(options))
