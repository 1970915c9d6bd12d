"""One history: a scenario that happens as its seed says, and what was wrong with it."""

from __future__ import annotations

import hashlib
import random
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from omnigraph.base.settings import Settings
from simulation.control_plane import kernel
from simulation.control_plane.actions import Journal, carry_out, live
from simulation.control_plane.checks import check_all
from simulation.control_plane.kernel import World
from simulation.control_plane.scenario import Part, Scenario, scenario
from simulation.control_plane.scheduler import Actor, Scheduler
from simulation.control_plane.store import SimulatedStore


@dataclass
class History:
    """What happened."""

    scenario: Scenario
    wrong: list[str]
    steps: int
    journal: Journal
    trace: list[tuple[int, str, str, str]] = field(default_factory=list)
    digest: str = ""

    def report(self) -> str:
        """Return the whole story."""
        lines = [*self.scenario.describe(), "wrong:", *(f"  {item}" for item in self.wrong), "told:"]
        lines += [f"  {t.by}: {t.op} {t.token}: {t.outcome} {t.error}" for t in self.journal.told]
        lines += ["trace:", *(f"  {step:5} {who:8} {kind:8} {what}" for step, who, kind, what in self.trace)]
        return "\n".join(lines)


class Hang(Exception):
    """A history took so long that something in it does not end."""


@contextmanager
def watched(seconds: float = 20.0) -> Iterator[None]:
    """Raise `Hang` in the main thread when the block does not end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise Hang(f"it has not ended after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(of: Scenario, traced: bool = False) -> History:
    """Let a scenario happen."""
    rng, entropy = random.Random(f"{of.seed} schedule"), random.Random(f"{of.seed} entropy")
    scheduler = Scheduler(rng, of.pace)
    scheduler.trace = [] if traced else None
    store = SimulatedStore(scheduler, of.manner)
    store.objects.update(kernel.empty_graph())
    store.written += [(path, item.data) for path, item in store.objects.items()]
    settings = Settings(prepare_retries=of.prepare_retries, publish_retries=of.publish_retries)
    world = World(scheduler, store, rng, settings, of.wrong_liveness, of.turns)
    journal = Journal()
    with kernel.inside(world, entropy):
        for op in of.setup:
            carry_out(world, journal, op)
        scheduler.process.alive = False
        scheduler.pass_time(of.rest)
        try:
            with watched():
                scheduler.run([_actor(world, journal, index, part) for index, part in enumerate(of.parts)])
                if scheduler.overrun:
                    journal.wrong.append("the history does not end")
                for process in world.processes.values():
                    process.alive = False
                wrong = check_all(world, of, journal)
        except Hang as error:
            places = "".join(traceback.format_tb(error.__traceback__, -3)) + scheduler.end_stuck()
            wrong = [*journal.wrong, f"{error}: {places}"]
    digest = hashlib.md5(repr([(path, data) for path, data in store.written]).encode()).hexdigest()
    return History(of, wrong, scheduler.step, journal, scheduler.trace or [], digest)


def run_seed(seed: int, theme: str | None = None, traced: bool = False) -> History:
    """Let the history of a seed happen."""
    return run(scenario(seed, theme), traced)


def _actor(world: World, journal: Journal, index: int, part: Part) -> Actor:
    return Actor(index, part.events, lambda actor: live(world, journal, part, actor))
