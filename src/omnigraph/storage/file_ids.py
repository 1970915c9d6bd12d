"""The ids inside small data files, remembered. A data file never changes, so none is read twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

SMALL = 4_096
"""Rows of the largest fragment whose ids are kept."""
_CAPACITY = 262_144

Key = tuple[str, ...]


class FileIds:
    """Ids by data file, for all tables; the least recently used go first when there are too many."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._kept = 0
        self._files: OrderedDict[Key, frozenset[str]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> frozenset[str] | None:
        """Return every id that the files hold, deleted or not, or None when that is not known."""
        with self._lock:
            found = self._files.get(key)
            if found is not None:
                self._files.move_to_end(key)
            return found

    def put(self, key: Key, ids: frozenset[str]) -> None:
        """Remember the ids of a fragment's files."""
        with self._lock:
            if key in self._files:
                return
            self._files[key] = ids
            self._kept += len(ids)
            while self._kept > self._capacity:
                self._kept -= len(self._files.popitem(last=False)[1])


def files_of(table_uri: str, fragment: Any) -> Key:
    """Return the key of a fragment (Lance's metadata): its table and its files, whose names are random."""
    return (table_uri, *(file.path for file in fragment.files))


known = FileIds()
"""Of this process."""
