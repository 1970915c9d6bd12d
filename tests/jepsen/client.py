"""A client: a process that opens the graph and does random operations until it is told to stop."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jepsen.history import BROKEN, FAIL, OK, UNKNOWN, Log, read_ops

if TYPE_CHECKING:
    import omnigraph as og

STOP = "stop"
"""The file whose presence ends all clients."""

Facts = Mapping[str, Any]
_KEYS = 8


@dataclass(frozen=True)
class Assignment:
    """What a client is to do, where, and as whom."""

    name: str
    seed: str
    uri: str
    options: Mapping[str, str] | None
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    machine: str | None = None
    """The pid namespace that it claims to live in: to clients of another one it is on another machine."""
    focus: str = "all"
    """Which operations it prefers (`workloads.FOCUSES`)."""
    record_rest: float | None = None
    """Seconds after which cleanup removes records of dropped commits, where the engine waits at all."""


class Client:
    """What operations share: the graph, the dice, the log, and what was seen before."""

    def __init__(self, given: Assignment) -> None:
        self.given = given
        self.name = given.name
        self.dice = random.Random(given.seed)
        self.log = Log(given.folder, given.name)
        self.remembered: list[str] = []
        """Commits that this client has read."""
        self.tags: list[str] = []
        """Tags that this client has made."""
        self.schema = ""
        """The name of the schema that was last seen."""
        self.keys: list[tuple[str, str, int]] = []
        """Writes with an idempotency key: their kind, their token, and how many rows they have."""
        self._graph: og.Graph | None = None

    def remember_key(self, kind: str, token: str, rows: int) -> None:
        """Keep a write that may be sent again."""
        if (kind, token, rows) not in self.keys:
            self.keys = [*self.keys[-_KEYS:], (kind, token, rows)]

    def inherit(self) -> None:
        """Take over the last writes of the client in whose place this one is: it may have died in one."""
        slot, _, generation = self.name.partition("g")
        if int(generation):
            for op in read_ops(self.given.folder, f"{slot}g{int(generation) - 1}")[-_KEYS:]:
                if op.kind in ("append", "load") and op.facts["keyed"]:
                    self.remember_key(op.kind, op.name, op.facts["rows"])

    @property
    def graph(self) -> og.Graph:
        """The handle for writing, on main."""
        assert self._graph is not None
        return self._graph

    def open(self) -> bool:
        """Open the graph anew; say whether that worked."""
        import omnigraph as og

        def act() -> Facts:
            self._graph = og.open(self.given.uri, actor=self.name, storage_options=self.given.options)
            return {}

        return self.attempt("open", {}, act) is not None

    def attempt(self, kind: str, facts: Facts, act: Callable[[], Facts]) -> Facts | None:
        """Do one operation between two lines of the log; return its answer when it went well."""
        from omnigraph.base.errors import CorruptState, OmniError, Unavailable

        number = self.log.invoke(kind, facts)
        try:
            answer = act()
        except OmniError as error:
            told = {"code": error.code, "message": str(error)[:2000]}
            if isinstance(error, CorruptState):
                told["trace"] = traceback.format_exc()
                self.log.end(number, BROKEN, told)
            else:
                self.log.end(number, UNKNOWN if isinstance(error, Unavailable) else FAIL, told)
            return None
        except Exception as error:
            told = {"code": type(error).__name__, "message": str(error)[:2000]}
            self.log.end(number, BROKEN, {**told, "trace": traceback.format_exc()})
            return None
        self.log.end(number, OK, answer)
        return answer


def serve(connection: Connection) -> None:
    """Load what takes long, wait for an assignment, and carry it out."""
    import omnigraph.sdk.graph  # noqa: F401
    from jepsen.workloads import choose

    connection.send("ready")
    given: Assignment = connection.recv()
    prepare(given)
    client = Client(given)
    client.inherit()
    stop = given.folder / STOP
    while not stop.exists() and not client.open():
        pass
    while not stop.exists():
        choose(client.dice, given.focus)(client)


def prepare(given: Assignment) -> None:
    """Make this process the client that it is to be: its settings, and which machine it claims to run on."""
    os.environ.update(given.environment)
    trace = open(given.folder / f"{given.name}.trace", "w", encoding="utf-8")  # noqa: SIM115
    faulthandler.enable(trace)
    faulthandler.register(signal.SIGUSR1, trace)
    if given.machine is not None:
        disguise(given.machine)
    if given.record_rest is not None:
        hurry(given.record_rest)


def disguise(machine: str) -> None:
    """Claim to live in another pid namespace, as a container does: others cannot tell whether we live."""
    read_link = os.readlink

    def told(path: Any, *given: Any, **named: Any) -> Any:
        return f"pid:[{machine}]" if path == "/proc/self/ns/pid" else read_link(path, *given, **named)

    os.readlink = told


def hurry(seconds: float) -> None:
    """Let minutes of the engine be seconds: when records may go, and when a head is looked up anew."""
    from omnigraph.graph.manifest import chain

    for name, value in (("RECORD_REST_SECONDS", seconds), ("HINT_AFTER_SECONDS", seconds / 2)):
        if hasattr(chain, name):
            setattr(chain, name, value)
