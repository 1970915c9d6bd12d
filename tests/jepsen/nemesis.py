"""What goes wrong, and when: decided from a seed before the run begins."""

from __future__ import annotations

import random
from dataclasses import dataclass

KILL, STOP = "kill", "stop"
_KILLS = 0.35
"""Which part of the faults are kills."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: a client that is killed for good, or stopped for a while."""

    at: float
    """Seconds since the run began."""
    kind: str
    slot: int
    """The place of the client; who is killed is replaced by another one in the same place."""
    seconds: float = 0.0


def plan_faults(
    seed: int, seconds: float, slots: int, turn: float, lease: float, rate: float = 1.2
) -> list[Fault]:
    """Return the faults of a run. Half of the stops are short; the others outlast a turn, or a lease."""
    dice = random.Random(f"nemesis-{seed}")
    faults: list[Fault] = []
    at = 0.5
    while (at := at + dice.expovariate(rate)) < seconds - 0.5:
        slot = dice.randrange(slots)
        if dice.random() < _KILLS:
            faults.append(Fault(at, KILL, slot))
            continue
        length = dice.choice(
            [
                dice.uniform(0.01, 0.1),
                dice.uniform(0.01, 0.1),
                turn * dice.uniform(1, 3),
                lease * dice.uniform(1.1, 4),
            ]
        )
        faults.append(Fault(at, STOP, slot, length))
    return faults
