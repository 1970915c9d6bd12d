"""Numbers by name in a file that is mapped into memory: they outlive a process that is killed."""

from __future__ import annotations

import mmap
import os
import struct
import threading
from pathlib import Path

_HEADER = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_VALUE = struct.Struct("<d")
_GROWTH_BYTES = 1 << 16


class Cells:
    """The numbers of one process; others read them at any time."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._file, _GROWTH_BYTES)
        self._map = mmap.mmap(self._file, _GROWTH_BYTES)
        self._used = _HEADER.size
        self._places: dict[str, int] = {}
        self._lock = threading.Lock()
        _HEADER.pack_into(self._map, 0, self._used)

    def add(self, name: str, amount: float) -> None:
        """Add to a number."""
        with self._lock:
            place = self._place_of(name)
            _VALUE.pack_into(self._map, place, _VALUE.unpack_from(self._map, place)[0] + amount)

    def put(self, name: str, value: float) -> None:
        """Set a number."""
        with self._lock:
            _VALUE.pack_into(self._map, self._place_of(name), value)

    def close(self) -> None:
        """Let go of the file, which stays."""
        with self._lock:
            self._map.close()
            os.close(self._file)

    def _place_of(self, name: str) -> int:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._begin(name.encode())
        return place

    def _begin(self, name: bytes) -> int:
        """Return the place of a new number; it counts for readers only when all of it is there."""
        padded = name + b" " * (-(len(name) + _LENGTH.size) % 8)
        end = self._used + _LENGTH.size + len(padded) + _VALUE.size
        while end > len(self._map):
            os.ftruncate(self._file, len(self._map) + _GROWTH_BYTES)
            self._map.resize(len(self._map) + _GROWTH_BYTES)
        _LENGTH.pack_into(self._map, self._used, len(padded))
        self._map[self._used + _LENGTH.size : end - _VALUE.size] = padded
        _VALUE.pack_into(self._map, end - _VALUE.size, 0.0)
        self._used = end
        _HEADER.pack_into(self._map, 0, end)
        return end - _VALUE.size


def read_cells(path: Path) -> dict[str, float]:
    """Return the numbers of a process, which may be gone."""
    data = path.read_bytes()
    if len(data) < _HEADER.size:
        return {}
    found, at, end = {}, _HEADER.size, min(_HEADER.unpack_from(data)[0], len(data))
    while at + _LENGTH.size <= end:
        (length,) = _LENGTH.unpack_from(data, at)
        name = data[at + _LENGTH.size : at + _LENGTH.size + length].rstrip(b" ").decode()
        (found[name],) = _VALUE.unpack_from(data, at + _LENGTH.size + length)
        at += _LENGTH.size + length + _VALUE.size
    return found
