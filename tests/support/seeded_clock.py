"""Time and randomness that repeat."""

from __future__ import annotations

import random
import threading

from omnigraph.base.clock import Clock


class SeededClock(Clock):
    """A clock that only moves when asked, with randomness from a seed."""

    def __init__(self, seed: int, start_us: int = 1_700_000_000_000_000) -> None:
        self._random = random.Random(seed)
        self._now_us = start_us
        self._lock = threading.Lock()

    def now_us(self) -> int:
        with self._lock:
            self._now_us += 1
            return self._now_us

    def monotonic(self) -> float:
        return self.now_us() / 1e6

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._now_us += int(seconds * 1e6)

    def random_bytes(self, count: int) -> bytes:
        with self._lock:
            return self._random.randbytes(count)

    def jitter(self) -> float:
        with self._lock:
            return self._random.random()


class StandingClock(Clock):
    """A clock by which every request happens at one moment."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us
