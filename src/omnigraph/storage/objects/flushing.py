"""Making files and their names survive a power cut."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_THREADS = 16


class Flusher:
    """Flushes what lies under one root, or does nothing at all.

    The name of a file is durable when every folder above it has been flushed since it got the next one. That
    of a folder is remembered: no folder of a graph is removed and made again under the same name.
    """

    def __init__(self, root: str, fsync: bool) -> None:
        self._root = root
        self._fsync = fsync
        self._durable: set[str] = set()
        """Folders whose names are known to be durable."""

    def flush(self, paths: Iterable[str]) -> None:
        """Flush files, wherever they come from, and their names; of one that is gone, that it is gone."""
        if self._fsync:
            wanted = set(paths)
            folders, learned = self._folders(wanted)
            self._flush([*(f"{self._root}/{path}" for path in wanted), *folders])
            self._durable |= learned

    def flush_names(self, paths: Iterable[str]) -> None:
        """Flush the names of files that are flushed themselves."""
        if self._fsync:
            folders, learned = self._folders(set(paths))
            self._flush(folders)
            self._durable |= learned

    def make_folders(self, folder: str) -> None:
        """Make a folder under the root, and the root itself with all above it."""
        name = f"{self._root}/{folder}"
        if not self._fsync:
            os.makedirs(name, exist_ok=True)
            return
        missing = []
        while name != "/" and not os.path.isdir(name):
            missing.append(name)
            name = os.path.dirname(name)
        for name in missing:
            self._durable.discard(os.path.relpath(name, self._root) if name != self._root else "")
        os.makedirs(f"{self._root}/{folder}", exist_ok=True)
        # Those under the root are flushed with what is put into them.
        self._flush([os.path.dirname(name) for name in missing if len(name) < len(self._root)])

    def _folders(self, paths: set[str]) -> tuple[list[str], set[str]]:
        """Return the folders to flush, and those whose names are durable then; the root is an empty text."""
        found: set[str] = set()
        learned: set[str] = set()
        for path in paths:
            folder = os.path.dirname(path)
            found.add(f"{self._root}/{folder}" if folder else self._root)
            while folder not in self._durable and folder not in learned:
                learned.add(folder)
                if not folder:
                    found.add(os.path.dirname(self._root))
                    break
                folder = os.path.dirname(folder)
                found.add(f"{self._root}/{folder}" if folder else self._root)
        return sorted(found), learned

    def _flush(self, names: list[str]) -> None:
        """Flush files and folders, several at once: one commit of the file system's journal serves many."""
        if len(names) < 2:
            for name in names:
                self._flush_one(name)
            return
        list(_threads().map(self._flush_one, names))

    def _flush_one(self, name: str) -> None:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return
        except PermissionError:
            if name != os.path.dirname(self._root):  # that folder is somebody else's
                raise
            return
        try:
            flush_file(descriptor)
        finally:
            os.close(descriptor)


def flush_file(descriptor: int) -> None:
    """Have a file, or the names in a folder, written to the disk itself, not only to the disk's memory."""
    full = getattr(fcntl, "F_FULLFSYNC", None)  # where fsync leaves the data in the disk's memory
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="omnigraph-flush")
