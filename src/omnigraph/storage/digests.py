"""The sums of files: what their bytes come to, and what this process has found out about files already.

The hash is XXH3 with 128 bits: it tells damage, not forgery, and is as quick as reading.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import xxhash

_CAPACITY = 65_536


@dataclass(frozen=True, slots=True)
class FileSum:
    """The size of a file and the hash of its bytes."""

    size: int
    hash: str


def digest_of(data: bytes) -> str:
    """Return the hash of some bytes."""
    return xxhash.xxh3_128_hexdigest(data)


def sum_of(pieces: Iterable[bytes | memoryview]) -> FileSum:
    """Return the sum of a file that comes in pieces."""
    size, hashed = 0, xxhash.xxh3_128()
    for piece in pieces:
        size += len(piece)
        hashed.update(piece)
    return FileSum(size, hashed.hexdigest())


class KnownSums:
    """Sums of files by their address, for all tables of a process; the least recently used go first.

    A file never changes once a version names it, so none is read twice.
    """

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._sums: OrderedDict[str, FileSum] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, address: str) -> FileSum | None:
        """Return the sum of a file, or None when nobody has read it."""
        with self._lock:
            found = self._sums.get(address)
            if found is not None:
                self._sums.move_to_end(address)
            return found

    def put(self, address: str, found: FileSum) -> None:
        """Remember the sum of a file."""
        with self._lock:
            self._sums[address] = found
            self._sums.move_to_end(address)
            while len(self._sums) > self._capacity:
                self._sums.popitem(last=False)

    def forget(self, address: str) -> None:
        """Read a file again when it is asked for next."""
        with self._lock:
            self._sums.pop(address, None)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._sums.clear()


known = KnownSums()
"""Of this process."""
