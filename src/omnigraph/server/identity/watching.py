"""Files that are read again when they have changed: tokens and keys, without a restart of the server."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from omnigraph.base import clock
from omnigraph.base.errors import OmniError

_log = logging.getLogger("omnigraph.server")
_LOOK_SECONDS = 1.0

_Read = TypeVar("_Read")


class WatchedFile(Generic[_Read]):
    """What a file says, looked at again at most once a second.

    A file that cannot be read any more says nothing; one that is wrong leaves what was read before, and
    the log tells of it.
    """

    def __init__(self, path: Path, read: Callable[[Path], _Read], empty: _Read) -> None:
        self._path, self._read, self._empty = path, read, empty
        self._lock = threading.Lock()
        self._seen = _identify(path)
        self._value = read(path)
        self._looked = clock.current().monotonic()

    def current(self) -> _Read:
        """Return what the file says now."""
        now = clock.current().monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            with self._lock:
                if now - self._looked >= _LOOK_SECONDS:
                    self._look()
                    self._looked = now
        return self._value

    def _look(self) -> None:
        seen = _identify(self._path)
        if seen == self._seen:
            return
        if seen is None:
            self._seen, self._value = seen, self._empty
            _log.error("%s is gone: nobody is let in by it", self._path)
            return
        try:
            self._value = self._read(self._path)
            _log.info("%s was read again", self._path)
        except OmniError as error:
            if isinstance(error.__cause__, OSError):
                self._value = self._empty
                _log.error("nobody is let in by a file: %s", error.message)
            else:
                _log.error("what was read of a file before still holds: %s", error.message)
        self._seen = seen


def _identify(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
