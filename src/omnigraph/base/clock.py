"""Time, sleep and randomness; everything that is not reproducible comes through here."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass


class Clock:
    """The system's clock and entropy."""

    def now_us(self) -> int:
        """Return microseconds since the epoch."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Return the seconds of a monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def random_bytes(self, count: int) -> bytes:
        """Return fresh random bytes."""
        return os.urandom(count)

    def jitter(self) -> float:
        """Return a random factor between 0 and 1."""
        return random.random()


_current: Clock = Clock()


def current() -> Clock:
    """Return the clock in use."""
    return _current


def install(clock: Clock) -> Clock:
    """Make `clock` the one in use and return the previous one."""
    global _current
    previous, _current = _current, clock
    return previous


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time of this process, whose age can be asked."""

    monotonic: float
    wall_us: int

    def age(self) -> float:
        """Return the seconds since then, including those of a sleeping machine or a clock set forward."""
        now = current()
        return max(now.monotonic() - self.monotonic, (now.now_us() - self.wall_us) / 1e6)


def moment() -> Moment:
    """Return the current time."""
    return Moment(_current.monotonic(), _current.now_us())
