"""A bounded cache in memory that evicts the least recently used values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Lru(Generic[_K, _V]):
    """The most recently used values, by key; safe to share between threads."""

    def __init__(self, capacity: int, weigh: Callable[[_V], int] = lambda _: 1) -> None:
        """Hold values of a total weight up to `capacity`; without `weigh` each value weighs 1."""
        self._capacity, self._weigh = capacity, weigh
        self._weight = 0
        self._kept: OrderedDict[_K, _V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _K) -> _V | None:
        """Return the value of a key, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: _K, value: _V) -> None:
        """Store a value, replacing the one that its key had."""
        with self._lock:
            self._drop(key)
            self._add(key, value)

    def setdefault(self, key: _K, value: _V) -> _V:
        """Return the value of a key; if there is none, store and return this one."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                self._add(key, value)
                return value
            self._kept.move_to_end(key)
            return found

    def pop(self, key: _K) -> _V | None:
        """Remove a value and return it, or None."""
        with self._lock:
            return self._drop(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._kept.clear()
            self._weight = 0

    def _add(self, key: _K, value: _V) -> None:
        self._kept[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._capacity:
            self._weight -= self._weigh(self._kept.popitem(last=False)[1])

    def _drop(self, key: _K) -> _V | None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._weight -= self._weigh(found)
        return found
