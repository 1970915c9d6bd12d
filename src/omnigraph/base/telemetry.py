"""Counters of what a piece of work did; no exporter and no clock live here."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Counters:
    """Named counters that several threads may add to."""

    def __init__(self) -> None:
        self._counter: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, amount: int = 1) -> None:
        """Add to one counter."""
        with self._lock:
            self._counter[name] += amount

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counter[name]

    def total(self, prefix: str = "") -> int:
        """Return the sum of all counters whose name starts with `prefix`."""
        return sum(amount for name, amount in self.as_dict().items() if name.startswith(prefix))

    def as_dict(self) -> dict[str, int]:
        """Return all counters that are not zero, by name."""
        with self._lock:
            return {name: amount for name, amount in sorted(self._counter.items()) if amount}

    def __repr__(self) -> str:
        return f"Counters({self.as_dict()})"


_measuring: ContextVar[tuple[Counters, ...]] = ContextVar("omnigraph_measuring", default=())


def count(name: str, amount: int = 1) -> None:
    """Add to a counter of every measurement that surrounds the caller."""
    for counts in _measuring.get():
        counts.add(name, amount)


@contextmanager
def measure() -> Iterator[Counters]:
    """Count what this thread or task does inside the block.

    Measurements nest: an outer one counts what an inner one counts. Work that the block hands to another
    thread is counted when it runs in a copy of the caller's context (`contextvars.copy_context().run`),
    as asyncio does by itself.
    """
    counts = Counters()
    token = _measuring.set((*_measuring.get(), counts))
    try:
        yield counts
    finally:
        _measuring.reset(token)
