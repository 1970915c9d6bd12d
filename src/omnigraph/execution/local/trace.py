"""The actual numbers of the steps of a plan: rows, time, and reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from omnigraph.base import clock


@dataclass
class ActualWork:
    """The actual numbers of one step, over all pieces."""

    calls: int = 0
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0
    requests: int = 0
    bytes: int = 0
    taken: str | None = None
    """The access path that was used, if it is not the planned one."""


@dataclass(frozen=True)
class StepStart:
    """When a step began, and what had been read by then."""

    moment: float
    requests: int
    bytes: int


@dataclass
class Trace:
    """Actual numbers by step; steps are identified by id(), since two may be equal."""

    read_so_far: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Returns the number of requests to storage so far, and their bytes."""
    steps: dict[int, ActualWork] = field(default_factory=dict)
    seconds: float = 0.0
    rows: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    """Counters of storage, by name."""

    def start(self) -> StepStart:
        """Return the time and the reads at which a step begins."""
        requests, size = self.read_so_far()
        return StepStart(clock.current().monotonic(), requests, size)

    def add(self, step: object, rows_in: int, rows_out: int, began: StepStart) -> None:
        """Count one call of a step."""
        actual = self.steps.setdefault(id(step), ActualWork())
        actual.calls += 1
        actual.rows_in += rows_in
        actual.rows_out += rows_out
        actual.seconds += clock.current().monotonic() - began.moment
        requests, size = self.read_so_far()
        actual.requests += requests - began.requests
        actual.bytes += size - began.bytes

    def note_deviation(self, action: object, way: str) -> None:
        """Note that an action used another access path than planned; it is reported with its step."""
        self.steps.setdefault(id(action), ActualWork()).taken = way

    def finish(self, seconds: float, rows: int, reads: dict[str, int]) -> None:
        """Note the numbers of the whole query."""
        self.seconds, self.rows, self.reads = seconds, rows, reads

    def of(self, step: object) -> ActualWork:
        """Return the numbers of a step."""
        found = self.steps.get(id(step), ActualWork())
        other = self.steps.get(id(getattr(step, "action", None)))
        if other is not None:
            found.taken = other.taken
        return found
