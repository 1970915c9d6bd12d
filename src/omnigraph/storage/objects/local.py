"""Objects as files of a local disk.

This store speaks to the operating system directly, because obstore's local store has no if-match, cannot
flush a file before it becomes visible, and hides error numbers in text.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import itertools
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import NotFound, PreconditionFailed
from omnigraph.base.telemetry import count
from omnigraph.storage.objects.errors import translate
from omnigraph.storage.objects.paths import RESERVED, check_path, check_prefix
from omnigraph.storage.objects.store import ObjectInfo, Versioned

_LOCKS = 64
_COPY_BYTES = 2**30
_READ_BYTES = 4 * 2**20
_CANNOT_COPY = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM)

# Staging names must differ between processes even when they share a seeded clock.
_PROCESS = os.urandom(6).hex()
_staged = itertools.count()


class LocalStore:
    """An `ObjectStore` on a folder.

    A write goes to a staging file under `.og/staging` and becomes visible by `link` (create) or `rename`
    (put, replace). What takes an object away or overwrites it holds a lock file under `.og/locks`, so that
    nothing comes between the comparison and the rename of `replace`; all who write an object must therefore
    open the same root. A killed process leaves at most its staging file; the system releases its lock.
    """

    scheme = "file"
    is_local = True

    def __init__(self, root: str, *, fsync: bool = False) -> None:
        """Open a folder, which need not exist; with `fsync` an acknowledged write survives a power cut."""
        self._root = root
        self._fsync = fsync
        self._staging = f"{root}/{RESERVED}/staging"
        self._locks = f"{root}/{RESERVED}/locks"

    @property
    def root_uri(self) -> str:
        """The absolute folder; a bare path, because Lance decodes percent signs in a file URI."""
        return self._root

    def lance_options(self) -> dict[str, str]:
        """Return no options; Lance needs none for a folder."""
        return {}

    def get(self, path: str) -> bytes:
        """Return the bytes of an object."""
        check_path(path)
        try:
            with open(f"{self._root}/{path}", "rb", buffering=0) as file:
                data = file.read()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            count("objects.get_missing")
            raise self._missing(path) from None
        except OSError as error:
            raise translate(error, self._root, path) from error
        count("objects.get")
        return data

    def get_versioned(self, path: str) -> Versioned:
        """Return the bytes of an object and the hash of its content."""
        data = self.get(path)
        return Versioned(data, _etag(data))

    def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of each object; one after the other, since a thread costs more than a read."""
        return [self._get_or_none(path) for path in paths]

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        check_path(path)
        count("objects.put")
        with self._translated(path), self._staged(data) as staged, self._locked(path):
            self._publish(os.replace, staged, path)

    def create(self, path: str, data: bytes) -> None:
        """Write an object that is not there."""
        check_path(path)
        count("objects.create")
        try:
            staged = self._stage(data)
            try:
                self._publish(os.link, staged, path)
            finally:
                _unlink_quietly(staged)
        except FileExistsError as error:
            count("objects.create_lost")
            raise translate(error, self._root, path, writing=True) from None
        except OSError as error:
            raise translate(error, self._root, path, writing=True) from error

    def replace(self, path: str, data: bytes, etag: str) -> str:
        """Write over the object that has this tag, under a lock that other processes honour."""
        check_path(path)
        count("objects.replace")
        with self._translated(path), self._staged(data) as staged, self._locked(path):
            actual = self._etag_of(path)
            if actual != etag:
                raise PreconditionFailed(
                    f"the object {path!r} under {self._root} has changed since it was read: read it again",
                    path=path,
                    root=self._root,
                    expected=etag,
                    actual=actual,
                )
            self._publish(os.replace, staged, path)
        return _etag(data)

    def delete(self, path: str) -> None:
        """Remove an object if it is there."""
        check_path(path)
        count("objects.delete")
        with self._translated(path):
            if not _is_file(f"{self._root}/{path}"):
                return
            with self._locked(path):
                try:
                    os.unlink(f"{self._root}/{path}")
                except FileNotFoundError:
                    return
                self._flush_folder_of(path)

    def exists(self, path: str) -> bool:
        """Say whether there is an object at this path or any under it."""
        path = check_prefix(path)
        count("objects.head")
        try:
            if _is_file(f"{self._root}/{path}"):
                return True
            return next(self._walk(path), None) is not None
        except OSError as error:
            raise translate(error, self._root, path) from error

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects under a prefix."""
        prefix = check_prefix(prefix)
        count("objects.list")
        return self._listing(prefix)

    def move(self, source: str, target: str) -> None:
        """Rename an object."""
        check_path(source)
        check_path(target)
        count("objects.move")
        with self._translated(target):
            if not _is_file(f"{self._root}/{source}"):
                raise self._missing(source)
            with self._locked(source):
                self._publish(os.replace, f"{self._root}/{source}", target)
                self._flush_folder_of(source)

    def reader(self, path: str, buffer: int) -> io.RawIOBase:
        """Open an object that may be large for reading from its beginning to its end."""
        check_path(path)
        count("objects.read")
        try:
            return open(f"{self._root}/{path}", "rb", buffering=0)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise self._missing(path) from None
        except OSError as error:
            raise translate(error, self._root, path) from error

    def upload(self, path: str, file: Path) -> None:
        """Write an object that may be large, from a file; the disk may share its blocks."""
        check_path(path)
        count("objects.put")
        with self._translated(path), self._given(self._stage_copy(file)) as staged, self._locked(path):
            self._publish(os.replace, staged, path)

    def remove_residue(self, older_than: timedelta) -> int:
        """Remove the staging files of killed writers; a younger one may belong to a living writer."""
        oldest_us = clock.current().now_us() - older_than // timedelta(microseconds=1)
        with self._translated(f"{RESERVED}/staging"):
            try:
                with os.scandir(self._staging) as scan:
                    residue = [entry.path for entry in scan if entry.stat().st_mtime_ns // 1000 < oldest_us]
            except FileNotFoundError:
                return 0
            for name in residue:
                _unlink_quietly(name)
            return len(residue)

    def __repr__(self) -> str:
        return f"LocalStore({self._root!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._root, self._fsync)

    def _missing(self, path: str) -> NotFound:
        return NotFound(f"there is no object {path!r} under {self._root}", path=path, root=self._root)

    def _get_or_none(self, path: str) -> bytes | None:
        try:
            return self.get(path)
        except NotFound:
            return None

    def _etag_of(self, path: str) -> str | None:
        try:
            with open(f"{self._root}/{path}", "rb", buffering=0) as file:
                return _etag(file.read())
        except FileNotFoundError:
            return None

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise translate(error, self._root, path, writing=True) from error

    def _staged(self, data: bytes) -> AbstractContextManager[str]:
        return self._given(self._stage(data))

    @contextmanager
    def _given(self, name: str) -> Iterator[str]:
        """Give the block a staging file to rename; remove it when the block fails."""
        try:
            yield name
        except BaseException:
            _unlink_quietly(name)
            raise

    def _stage(self, data: bytes) -> str:
        """Write a staging file."""
        name, descriptor = self._new_staging_file()
        try:
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, memoryview(data)[written:])
            if self._fsync:
                os.fsync(descriptor)
        except BaseException:
            _unlink_quietly(name)
            raise
        finally:
            os.close(descriptor)
        return name

    def _stage_copy(self, file: Path) -> str:
        """Write a staging file with the content of another file."""
        name, descriptor = self._new_staging_file()
        try:
            with open(file, "rb", buffering=0) as source:
                _copy_bytes(source.fileno(), descriptor)
            if self._fsync:
                os.fsync(descriptor)
        except BaseException:
            _unlink_quietly(name)
            raise
        finally:
            os.close(descriptor)
        return name

    def _new_staging_file(self) -> tuple[str, int]:
        while True:
            name = f"{self._staging}/{_PROCESS}-{next(_staged)}"
            try:
                return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                continue  # a forked process counts through the same names
            except FileNotFoundError:
                os.makedirs(self._staging, exist_ok=True)

    def _publish(self, make_visible: Callable[[str, str], None], staged: str, path: str) -> None:
        target = f"{self._root}/{path}"
        try:
            make_visible(staged, target)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            make_visible(staged, target)
            if self._fsync:
                self._flush_folders_above(path)
        self._flush_folder_of(path)

    def _flush_folder_of(self, path: str) -> None:
        if self._fsync:
            _flush_folder(os.path.dirname(f"{self._root}/{path}"))

    def _flush_folders_above(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(len(parts) - 1):
            _flush_folder("/".join([self._root, *parts[:depth]]))
        _flush_folder(os.path.dirname(self._root))

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        """Hold the lock of a path against all processes and threads."""
        name = f"{self._locks}/{zlib.crc32(path.encode()) % _LOCKS}"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(self._locks, exist_ok=True)
            descriptor = os.open(name, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _listing(self, prefix: str) -> Iterator[ObjectInfo]:
        try:
            for path, found in self._walk(prefix):
                # A staged file may have been written long before it became visible under its name.
                visible = max(found.st_mtime, found.st_ctime)
                yield ObjectInfo(path, found.st_size, datetime.fromtimestamp(visible, UTC))
        except OSError as error:
            raise translate(error, self._root, prefix) from error

    def _walk(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield every file under a folder in the order of paths; what vanishes meanwhile is passed over."""
        try:
            with os.scandir(f"{self._root}/{folder}") as scan:
                entries = [(entry, entry.is_dir()) for entry in scan]
        except (FileNotFoundError, NotADirectoryError):
            return
        # "a-b" stands before "a/b", as S3 lists them.
        for entry, is_folder in sorted(entries, key=lambda e: f"{e[0].name}/" if e[1] else e[0].name):
            if entry.name == RESERVED:
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            if is_folder:
                yield from self._walk(path)
                continue
            try:
                yield path, entry.stat()
            except FileNotFoundError:
                continue


def _copy_bytes(source: int, target: int) -> None:
    """Copy an open file into another inside the kernel, or through memory where it refuses."""
    try:
        while os.copy_file_range(source, target, _COPY_BYTES):
            pass
    except OSError as error:
        if error.errno not in _CANNOT_COPY:
            raise
        os.lseek(source, 0, os.SEEK_SET)
        os.lseek(target, 0, os.SEEK_SET)
        while piece := os.read(source, _READ_BYTES):
            written = 0
            while written < len(piece):
                written += os.write(target, memoryview(piece)[written:])


def _reopen(root: str, fsync: bool) -> LocalStore:
    return LocalStore(root, fsync=fsync)


def _etag(data: bytes) -> str:
    # The content itself: size and time of a file do not tell two quick rewrites apart.
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _is_file(name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _unlink_quietly(name: str) -> None:
    try:
        os.unlink(name)
    except OSError:
        return


def _flush_folder(name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
