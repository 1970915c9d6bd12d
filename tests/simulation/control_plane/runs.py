"""Running many histories, in several processes where there are several cores."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from simulation.control_plane import kernel
from simulation.control_plane.history import run_seed
from simulation.control_plane.planted import FLAWS


@dataclass(frozen=True)
class Wrong:
    """A history that must not have happened, and how to see it again."""

    seed: int
    theme: str
    items: tuple[str, ...]

    def __str__(self) -> str:
        told = "\n    ".join(self.items)
        return f"seed {self.seed} ({self.theme}); {again(self.seed)}\n    {told}"


@dataclass(frozen=True)
class Task:
    """A range of seeds for one process."""

    first: int
    count: int
    theme: str | None = None
    flaw: str | None = None
    enough: int = 10
    """How many wrong histories are enough."""


def again(seed: int) -> str:
    """Return the command that shows a history."""
    return f"PYTHONPATH=src:tests python -m simulation.control_plane --seed {seed}"


def run_task(task: Task) -> list[Wrong]:
    """Run histories in this process and return those that are wrong."""
    found: list[Wrong] = []
    with kernel.simulated():
        if task.flaw is not None:
            with FLAWS[task.flaw].planted():
                _run(task, found)
        else:
            _run(task, found)
    return found


def _run(task: Task, found: list[Wrong]) -> None:
    for seed in range(task.first, task.first + task.count):
        history = run_seed(seed, task.theme)
        if history.wrong:
            found.append(Wrong(seed, history.scenario.theme, tuple(history.wrong)))
            if len(found) >= task.enough:
                return


def run_many(first: int, histories: int, processes: int | None = None) -> list[Wrong]:
    """Run histories in several processes."""
    count = processes or len(os.sched_getaffinity(0))
    if count == 1:
        return run_task(Task(first, histories))
    share = -(-histories // (count * 4))
    tasks = [
        Task(start, min(share, first + histories - start)) for start in range(first, first + histories, share)
    ]
    # Not forked: the pools of threads that storage keeps do not survive that.
    with multiprocessing.get_context("spawn").Pool(count, _find, (list(sys.path),)) as pool:
        return [wrong for found in pool.imap(run_task, tasks) for wrong in found]


def _find(path: Sequence[str]) -> None:
    sys.path[:] = path
