"""One run: clients in processes of their own, the nemesis among them, and what is left when they are gone."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from jepsen.client import STOP as STOP_FILE
from jepsen.client import Assignment, serve
from jepsen.history import NEMESIS, Log
from jepsen.nemesis import KILL, Fault, plan_faults
from jepsen.observe import observe
from jepsen.schemas import ACCOUNTS, FIRST, OPENING, TEXTS
from jepsen.workloads import FOCUSES
from omnigraph.base import clock
from omnigraph.storage.objects import open_store

_SPAWN = multiprocessing.get_context("spawn")
_FORKS = multiprocessing.get_context("forkserver")
_LOADED = [
    "jepsen.driver",
    "jepsen.workloads",
    "omnigraph.sdk.opening",
    "obstore",
    "support.frozen_memory",
]
"""What the server that forks clients has loaded and never used: a killed client is replaced at once."""
_ENDING_SECONDS = 120.0
"""How long a client may take to end once it is told to: no operation waits longer than that."""
_OBSERVING_SECONDS = 300.0
_OBSERVED = "observed.json"


@dataclass(frozen=True)
class Plan:
    """All that a run is made from."""

    seed: int
    seconds: float
    uri: str
    folder: Path
    """Where logs go."""
    options: Mapping[str, str] | None = None
    clients: int = 4
    machines: int = 2
    """Clients of different machines cannot see whether the others live; they go by the lease."""
    turn: float = 0.2
    lease: float = 0.3
    faults_a_second: float = 1.2
    record_rest: float = 1.0

    @property
    def focus(self) -> str:
        """Which operations the clients prefer: each seed has its turn."""
        return list(FOCUSES)[self.seed % len(FOCUSES)]

    @property
    def environment(self) -> dict[str, str]:
        """The settings of every client; the grace period of cleanup is the seed's choice."""
        grace = random.Random(f"grace-{self.seed}").choice([0.0, 0.5, 2.0])
        return {
            "OMNIGRAPH_TURN_SECONDS": str(self.turn),
            "OMNIGRAPH_PLAN_LEASE_SECONDS": str(self.lease),
            "OMNIGRAPH_CLEANUP_GRACE_SECONDS": str(grace),
        }

    def faults(self) -> list[Fault]:
        """Return what the nemesis is to do."""
        return plan_faults(self.seed, self.seconds, self.clients, self.turn, self.lease, self.faults_a_second)

    def assignment(self, slot: int, generation: int) -> Assignment:
        """Return what the client in a place is to do."""
        name = f"c{slot}g{generation}"
        machine = str(4_026_000_000 + slot % self.machines) if self.machines > 1 else None
        return Assignment(
            name,
            f"{self.seed}-{name}",
            self.uri,
            self.options,
            self.folder,
            self.environment,
            machine,
            self.focus,
            self.record_rest,
        )


@dataclass
class Running:
    """A client's process, told or not yet told what to do."""

    name: str = ""
    stopped_until: float | None = None

    def __post_init__(self) -> None:
        self._connection, theirs = _FORKS.Pipe()
        self.process = _FORKS.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def wait_ready(self) -> None:
        """Wait until it has loaded all that it needs."""
        assert self._connection.poll(_ENDING_SECONDS), "a client did not start"

    def tell(self, given: Assignment) -> None:
        """Give it its assignment."""
        self.name = given.name
        self._connection.send(given)

    def signal(self, number: int) -> None:
        """Send a signal, if it still lives."""
        if self.process.is_alive() and self.process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def end(self) -> None:
        """Kill it and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.process.join()
        self._connection.close()


@dataclass
class Run:
    """A run in progress."""

    plan: Plan
    clients: dict[int, Running] = field(default_factory=dict)
    generations: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = Log(self.plan.folder, NEMESIS)
        self._clock = clock.Clock()

    def play(self) -> None:
        """Start all, do what the nemesis planned, and end all."""
        plan = self.plan
        try:
            for slot in range(plan.clients):
                self.start(slot)
                self.clients[slot].wait_ready()
            began = self._clock.monotonic()
            for fault in plan.faults():
                self.wait_until(began + fault.at)
                self.inflict(fault)
            self.wait_until(began + plan.seconds)
            self.finish()
        finally:
            for running in self.clients.values():
                running.end()

    def start(self, slot: int) -> None:
        """Put a client in a place."""
        generation = self.generations[slot] = self.generations.get(slot, -1) + 1
        running = Running()
        given = self.plan.assignment(slot, generation)
        running.tell(given)
        self.clients[slot] = running
        self.log.write({"is": "start", "client": given.name, "machine": given.machine})

    def inflict(self, fault: Fault) -> None:
        """Let a client meet its fault."""
        running = self.clients[fault.slot]
        if fault.kind == KILL:
            self.log.write({"is": "kill", "client": running.name})
            running.end()
            self.start(fault.slot)
        elif running.stopped_until is None:
            self.log.write({"is": "stop", "client": running.name, "seconds": fault.seconds})
            running.signal(signal.SIGSTOP)
            running.stopped_until = self._clock.monotonic() + fault.seconds

    def wait_until(self, moment: float) -> None:
        """Let time pass, wake who has slept long enough, and replace who died by itself."""
        while (now := self._clock.monotonic()) < moment:
            for running in self.clients.values():
                if running.stopped_until is not None and running.stopped_until <= now:
                    self.wake(running)
            ends = [item.stopped_until for item in self.clients.values() if item.stopped_until is not None]
            alarm = min([moment, *ends])
            gone = wait([item.process.sentinel for item in self.clients.values()], max(0.0, alarm - now))
            for slot, running in list(self.clients.items()):
                if running.process.sentinel in gone:
                    self.note_death(running)
                    running.end()
                    self.start(slot)

    def wake(self, running: Running) -> None:
        """Let a stopped client go on."""
        running.signal(signal.SIGCONT)
        running.stopped_until = None
        self.log.write({"is": "continue", "client": running.name})

    def note_death(self, running: Running) -> None:
        """Note that a client died though nobody killed it."""
        running.process.join()
        self.log.write({"is": "died", "client": running.name, "code": running.process.exitcode})

    def finish(self) -> None:
        """Wake all, tell them to stop, and wait for them; who does not end is noted with what it is doing."""
        for running in self.clients.values():
            if running.stopped_until is not None:
                self.wake(running)
        (self.plan.folder / STOP_FILE).touch()
        deadline = self._clock.monotonic() + _ENDING_SECONDS
        for running in self.clients.values():
            running.process.join(max(0.0, deadline - self._clock.monotonic()))
            if running.process.is_alive():
                running.signal(signal.SIGUSR1)  # writes the stacks of all threads to its trace file
                running.process.join(1.0)
                self.log.write({"is": "hung", "client": running.name})
            elif running.process.exitcode != 0:
                self.note_death(running)


def prepare_graph(plan: Plan) -> None:
    """Make the graph, with money in every account."""
    import omnigraph as og

    graph = og.init(plan.uri, TEXTS[FIRST], storage_options=plan.options)
    records = [{"type": "Account", "data": {"name": name, "balance": OPENING}} for name in ACCOUNTS]
    graph.load(records, mode="append", message="opening")


def run(plan: Plan) -> Mapping[str, Any]:
    """Carry out a plan and return what can be read of the graph afterwards; the logs are in its folder."""
    process = _SPAWN.Process(target=drive, args=(plan,))
    process.start()
    process.join(plan.seconds + 2 * _ENDING_SECONDS + _OBSERVING_SECONDS)
    if process.is_alive():
        process.kill()
    process.join()
    path = plan.folder / _OBSERVED
    assert path.exists(), (
        f"the run ended with {process.exitcode} before the graph was read: see {plan.folder}"
    )
    found: Mapping[str, Any] = json.loads(path.read_text())
    return found


def drive(plan: Plan) -> None:
    """Be the process that starts clients: it has a fork server of its own, with the engine loaded."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the fork server has one thread only
    main = sys.modules["__main__"]
    main.__file__ = main.__spec__ = None  # clients need nothing of the program that runs the tests
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    os.environ["PYTHONWARNINGS"] = "ignore:lance is not fork-safe"  # it has not been used there
    _FORKS.set_forkserver_preload(_LOADED)
    prepare_graph(plan)
    Run(plan).play()
    keep_copy(plan)
    (plan.folder / _OBSERVED).write_text(json.dumps(observed(plan)))


def keep_copy(plan: Plan) -> None:
    """Copy the graph as the clients left it, for whoever looks into a failure."""
    store, target = open_store(plan.uri, plan.options), plan.folder / "graph"
    if store.is_local:
        shutil.copytree(plan.uri, target)
        return
    for info in store.list():
        path = target / info.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.get(info.path))


def observed(plan: Plan) -> Mapping[str, Any]:
    """Read what is left in a process of its own, which damage may abort."""
    mine, theirs = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(
        target=observe, args=(theirs, plan.uri, plan.options, plan.environment), daemon=True
    )
    process.start()
    theirs.close()
    try:
        if not mine.poll(_OBSERVING_SECONDS):
            return {"errors": [{"stage": "observe", "code": "hung", "message": "reading did not end"}]}
        found: Mapping[str, Any] = mine.recv()
        return found
    except EOFError:
        process.join()
        message = f"the process that read it ended with {process.exitcode}"
        return {"errors": [{"stage": "observe", "code": "died", "message": message}]}
    finally:
        process.kill()
        process.join()
