"""Files and folders under names of their own, until they become objects."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from omnigraph.base import clock
from omnigraph.storage.objects.flushing import flush_file

_COPY_BYTES = 2**30
_READ_BYTES = 4 * 2**20
_CANNOT_COPY = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM)


class _Names:
    """Names that no other process has, even one that shares a seeded clock or was forked from this one."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin anew, as another process."""
        self._process = os.urandom(6).hex()
        self._count = itertools.count()

    def next(self) -> str:
        """Return a name."""
        return f"{self._process}-{next(self._count)}"


_names = _Names()
os.register_at_fork(after_in_child=_names.renew)


class Staging:
    """The staging folder of one root; it is made when it is needed."""

    def __init__(self, folder: str, fsync: bool) -> None:
        self.folder = folder
        self._fsync = fsync

    def file(self, data: bytes) -> str:
        """Write a file, flushed when that is asked for, and return its name."""
        with self._new_file() as (name, descriptor):
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, memoryview(data)[written:])
        return name

    def copy(self, file: str) -> str:
        """Copy a file, flushed when that is asked for, and return the copy's name; blocks may be shared."""
        with self._new_file() as (name, descriptor), open(file, "rb", buffering=0) as source:
            _copy_bytes(source.fileno(), descriptor)
        return name

    def make_folder(self) -> str:
        """Make an empty folder and return its name."""
        name = f"{self.folder}/{_names.next()}"
        try:
            os.mkdir(name)
        except FileNotFoundError:
            os.makedirs(self.folder, exist_ok=True)
            os.mkdir(name)
        return name

    def remove_residue(self, older_than: timedelta) -> int:
        """Remove what is older, and return how much it was."""
        oldest_us = clock.current().now_us() - older_than // timedelta(microseconds=1)
        try:
            with os.scandir(self.folder) as scan:
                found = [(entry.path, entry.stat(follow_symlinks=False)) for entry in scan]
        except FileNotFoundError:
            return 0
        residue = [name for name, seen in found if seen.st_mtime_ns // 1000 < oldest_us]
        for name in residue:
            if os.path.isdir(name) and not os.path.islink(name):
                shutil.rmtree(name, ignore_errors=True)
            else:
                _unlink_quietly(name)
        return len(residue)

    @contextmanager
    def _new_file(self) -> Iterator[tuple[str, int]]:
        """Open a file under a name of its own; what is not written whole is removed."""
        name = f"{self.folder}/{_names.next()}"
        descriptor = self._open(name)
        try:
            yield name, descriptor
            if self._fsync:
                flush_file(descriptor)
        except BaseException:
            os.unlink(name)
            raise
        finally:
            os.close(descriptor)

    def _open(self, name: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return os.open(name, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(self.folder, exist_ok=True)
            return os.open(name, flags, 0o666)


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


def _unlink_quietly(name: str) -> None:
    try:
        os.unlink(name)
    except OSError:
        return
