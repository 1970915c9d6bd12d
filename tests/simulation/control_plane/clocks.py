"""The clock of whichever simulated process runs."""

from __future__ import annotations

import random

from omnigraph.base.clock import Clock
from simulation.control_plane.scheduler import Scheduler


class SimulatedClock(Clock):
    """Time by the machine of the process that runs, and randomness from the seed of the history."""

    def __init__(self, scheduler: Scheduler, entropy: random.Random) -> None:
        self.scheduler, self.entropy = scheduler, entropy

    def now_us(self) -> int:
        """Return the wall clock of the process that runs."""
        self.scheduler.now_us += 1
        return self.scheduler.now_us + self.scheduler.process.wall_us

    def monotonic(self) -> float:
        """Return the monotonic clock of the process that runs."""
        return (self.scheduler.now_us - self.scheduler.process.stopped_us) / 1e6

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.scheduler.pass_time(seconds)

    def random_bytes(self, count: int) -> bytes:
        """Return bytes that the seed decides."""
        return self.entropy.randbytes(count)

    def jitter(self) -> float:
        """Return a factor that the seed decides."""
        return self.entropy.random()
