"""Caches of vectors by text: in memory within bounds, and in a folder when one is given."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from omnigraph.base.lru import Lru
from omnigraph.embedding.vectors import Vector

_log = logging.getLogger("omnigraph")
_KEYS_PER_QUERY = 500
_ENTRY_OVERHEAD_BYTES = 200
_FILE_NAME = "vectors.sqlite"


def cache_key(kind: str, model: str, dimension: int, text: str) -> bytes:
    """Return the cache key of a vector; the text itself is not stored."""
    head = f"{kind}\0{model}\0{dimension}\0"
    return hashlib.sha256(head.encode() + text.encode()).digest()


class MemoryCache:
    """The most recently used vectors, up to a number of bytes."""

    def __init__(self, capacity: int) -> None:
        self._kept: Lru[bytes, Vector] = Lru(capacity, lambda vector: vector.nbytes + _ENTRY_OVERHEAD_BYTES)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the cached vectors by key."""
        return {key: found for key in keys if (found := self._kept.get(key)) is not None}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors, evicting the least recently used ones."""
        for key, vector in vectors.items():
            if self._kept.get(key) is None:
                self._kept.put(key, vector.copy())  # a row of a batch would keep the whole batch alive


class FolderCache:
    """Vectors in a file of a local folder, for runs that are interrupted or repeated; processes share it.

    It is optional: a file that cannot be used is reported in the log and ignored from then on.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder, _FILE_NAME)
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None
        self._broken = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the cached vectors by key."""
        found: dict[bytes, Vector] = {}
        with self._lock:
            try:
                for start in range(0, len(keys), _KEYS_PER_QUERY):
                    part = keys[start : start + _KEYS_PER_QUERY]
                    marks = ",".join("?" * len(part))
                    rows = self._file().execute(
                        f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part
                    )
                    found.update((key, np.frombuffer(data, dtype="<f4")) for key, data in rows)
            except (sqlite3.Error, OSError, _UnusableFile) as error:
                self._give_up(error)
        return found

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors; they are on disk when this returns."""
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._lock:
            try:
                with self._file() as file:
                    file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            except (sqlite3.Error, OSError, _UnusableFile) as error:
                self._give_up(error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _file(self) -> sqlite3.Connection:
        if self._broken:
            raise _UnusableFile
        if self._opened is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = sqlite3.connect(self._path, timeout=30, check_same_thread=False)
            self._opened.execute("PRAGMA journal_mode=WAL")
            self._opened.execute("PRAGMA synchronous=NORMAL")
            # Keys are hashes, in random order: with a separate index the vectors are still appended.
            self._opened.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB UNIQUE, vector BLOB)")
        return self._opened

    def _give_up(self, error: Exception) -> None:
        if not self._broken:
            _log.warning("the embedding cache %s cannot be used (%s); going on without it", self._path, error)
        self._broken = True


class _UnusableFile(Exception):
    """The file was found unusable before."""
