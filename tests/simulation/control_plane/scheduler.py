"""Who runs next, what time it is, and who crashes or freezes where: all of it decided by one seed.

Every actor is a thread, but only the one that holds the baton runs. It gives the baton away at a storage
call, and nowhere else, so a history is a sequence of storage calls that the seed alone decides.
"""

from __future__ import annotations

import ctypes
import random
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

STEP_LIMIT = 12_000
"""Storage calls after which a history counts as one that does not end."""
START_US = 1_700_000_000_000_000


class Crash(BaseException):
    """The process that runs is killed here."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to an actor at its n-th storage call."""

    call: int
    kind: str
    """crash_before, crash_after, unavailable, lost, own_try, freeze, clock or pass."""
    steps: int = 0
    """How many storage calls of others a freeze lasts."""
    seconds: float = 0.0
    """How much time passes, or how far the clock of the machine is put."""
    mode: str = ""
    """Of a freeze: stop (all clocks go on), suspend (only the wall clock does), clone (none does)."""


@dataclass
class Process:
    """A simulated process on a machine of its own: alive or not, with its own clocks and caches."""

    name: str
    number: int
    alive: bool = True
    wall_us: int = 0
    """How far its wall clock is from the storage's."""
    stopped_us: int = 0
    """How much time its monotonic clock has missed."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What it has opened."""


class Actor:
    """A thread that runs operations as one process, and after a crash as another."""

    def __init__(self, index: int, events: Sequence[Event], body: Callable[[Actor], None]) -> None:
        self.index, self.body = index, body
        self.process: Process = Process(f"p{index}", index)
        self.gate = threading.Lock()
        self.gate.acquire()
        self.calls = 0
        self.wake = 0
        self.done = False
        self.thread: int | None = None
        self.pending: list[str] = []
        """Faults that wait for a call that they fit."""
        self.events: dict[int, list[Event]] = {}
        for event in events:
            self.events.setdefault(event.call, []).append(event)


@dataclass(frozen=True)
class Pace:
    """How the baton goes round."""

    kind: str = "runs"
    """runs: for a random number of calls each; priority: the highest runs, and falls at some steps."""
    mean: float = 4.0
    changes: tuple[int, ...] = ()
    tick_us: int = 1_000


class Scheduler:
    """Runs actors until all are done."""

    def __init__(self, rng: random.Random, pace: Pace) -> None:
        self.rng, self.pace = rng, pace
        self.now_us = START_US
        self.step = 0
        self.running: Actor | None = None
        self.process = Process("setup", 99)
        """Who runs now, also before and after the actors do."""
        self.overrun = False
        self.trace: list[tuple[int, str, str, str]] | None = None
        self._actors: list[Actor] = []
        self._home = threading.Lock()
        self._home.acquire()
        self._switch_at = 0
        self._timers: list[tuple[int, float, str, Actor]] = []
        self._ranks: dict[int, float] = {}
        self._next_number = 0
        self._abandoned = False

    def run(self, actors: Sequence[Actor]) -> None:
        """Let actors run, one at a time, until each has finished or crashed."""
        if not actors:
            return
        self._actors = list(actors)
        self._next_number = len(actors)
        outside = self.process
        self._ranks = {actor.index: self.rng.random() for actor in actors}
        for actor in actors:
            _workers.run(partial(self._live, actor))
        self._pass_to(self._choose(None))
        self._home.acquire()
        self.running, self.process = None, outside

    def end_stuck(self) -> str:
        """End an actor that computes for ever, and return where it was."""
        actor = self.running
        self._abandoned = True
        if actor is None or actor.thread is None:
            return ""
        frame = sys._current_frames().get(actor.thread)
        place = "".join(traceback.format_stack(frame, 4)) if frame is not None else ""
        actor.process.alive = False
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(actor.thread), ctypes.py_object(Crash))
        return f"{actor.process.name} is at\n{place}"

    def respawn(self, actor: Actor) -> Process:
        """Return a new process in the place of a crashed one."""
        actor.process = Process(f"p{actor.index}+", self._next_number)
        self._next_number += 1
        actor.pending.clear()
        self.process = actor.process
        return actor.process

    def point(self, kind: str, path: str) -> Actor | None:
        """Be at a storage call: time goes on, something may happen, and somebody else may run first."""
        actor = self.running
        if actor is None:
            self.now_us += 10
            return None
        if not actor.process.alive:
            raise Crash
        self.step += 1
        self.now_us += self.pace.tick_us
        actor.calls += 1
        if self.step > STEP_LIMIT:
            self.overrun = True
            actor.process.alive = False
            raise Crash
        frozen = False
        if actor.calls in actor.events:
            for event in actor.events[actor.calls]:
                frozen |= self._happens(actor, event)
        if self._timers:
            self._ring()
        if frozen or self.step >= self._switch_at:
            self._switch(actor)
        if self.trace is not None:
            self.trace.append((self.step, actor.process.name, kind, path))
        return actor

    def note(self, kind: str, text: str) -> None:
        """Leave a line in the trace."""
        if self.trace is not None:
            self.trace.append((self.step, self.process.name, kind, text))

    def die(self, actor: Actor) -> None:
        """Kill the process that runs."""
        self.note("CRASH", "")
        actor.process.alive = False
        raise Crash

    def pass_time(self, seconds: float) -> None:
        """Let time go on for everybody."""
        self.now_us += int(seconds * 1e6)

    def _happens(self, actor: Actor, event: Event) -> bool:
        self.note(event.kind.upper(), f"{event.seconds:g}s {event.steps} steps {event.mode}")
        if event.kind == "freeze":
            actor.wake = self.step + event.steps
            passes_at = self.step + self.rng.randint(0, event.steps)
            self._timers.append((passes_at, event.seconds, event.mode, actor))
            return True
        if event.kind == "clock":
            actor.process.wall_us += int(event.seconds * 1e6)
        elif event.kind == "pass":
            self.pass_time(event.seconds)
        else:
            actor.pending.append(event.kind)
        return False

    def _ring(self) -> None:
        for timer in [timer for timer in self._timers if timer[0] <= self.step]:
            self._timers.remove(timer)
            _, seconds, mode, actor = timer
            missed = int(seconds * 1e6)
            self.pass_time(seconds)
            if mode in ("suspend", "clone"):
                actor.process.stopped_us += missed
            if mode == "clone":
                actor.process.wall_us -= missed

    def _switch(self, actor: Actor) -> None:
        chosen = self._choose(actor)
        if chosen is not actor:
            self._pass_to(chosen)
            actor.gate.acquire()

    def _choose(self, actor: Actor | None) -> Actor:
        runnable = [item for item in self._actors if not item.done and item.wake <= self.step]
        if not runnable:
            runnable = [min((item for item in self._actors if not item.done), key=lambda item: item.wake)]
            self.step = max(self.step, runnable[0].wake)
            self._ring()
        if self.pace.kind == "priority":
            later = [step for step in self.pace.changes if step > self.step]
            self._switch_at = min(
                [*later, *(item.wake for item in self._actors if item.wake > self.step)], default=STEP_LIMIT
            )
            if actor is not None and self.step in self.pace.changes:
                self._ranks[actor.index] = min(self._ranks.values()) - 1
            return max(runnable, key=lambda item: self._ranks[item.index])
        self._switch_at = self.step + 1 + int(self.rng.expovariate(1.0) * self.pace.mean)
        return runnable[0] if len(runnable) == 1 else runnable[int(self.rng.random() * len(runnable))]

    def _pass_to(self, actor: Actor) -> None:
        self.running, self.process = actor, actor.process
        actor.gate.release()

    def _live(self, actor: Actor) -> None:
        actor.gate.acquire()
        actor.thread = threading.get_ident()
        try:
            actor.body(actor)
        finally:
            actor.done = True
            if self._abandoned:
                pass  # the others wait for ever: nobody may go on beside the next history
            elif all(item.done for item in self._actors):
                self._home.release()
            else:
                self._pass_to(self._choose(None))


class _Workers:
    """Threads that are used again: to start one takes longer than most histories of it."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []

    def run(self, job: Callable[[], None]) -> None:
        """Run a job in a thread of its own."""
        worker = self._idle.pop() if self._idle else _Worker(self._idle)
        worker.take(job)


class _Worker:
    def __init__(self, idle: list[_Worker]) -> None:
        self._idle = idle
        self._lock = threading.Lock()
        self._lock.acquire()
        self._job: Callable[[], None] = lambda: None
        threading.Thread(target=self._serve, daemon=True).start()

    def take(self, job: Callable[[], None]) -> None:
        self._job = job
        self._lock.release()

    def _serve(self) -> None:
        while True:
            self._lock.acquire()
            job, self._job = self._job, lambda: None
            job()
            self._idle.append(self)


_workers = _Workers()
