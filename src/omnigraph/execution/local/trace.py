"""What the steps of a plan really did: rows, time, and what was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from omnigraph.base import clock


@dataclass
class ActualWork:
    """The work of one step, over all pieces."""

    calls: int = 0
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0
    requests: int = 0
    bytes: int = 0
    taken: str | None = None
    """The way that the step took in the end, if that is not the planned one."""


@dataclass(frozen=True)
class StepStart:
    """When a step began, and what had been read by then."""

    moment: float
    requests: int
    bytes: int


@dataclass
class Trace:
    """Actual work by step; steps are told apart by identity, since two may be equal."""

    read_so_far: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """How many requests storage has answered, and the bytes that they brought."""
    steps: dict[int, ActualWork] = field(default_factory=dict)
    seconds: float = 0.0
    rows: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    """Counters of storage, by name."""

    def start(self) -> StepStart:
        """Note the moment at which a step begins."""
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
        """Note that an action took another way than planned; it is told with the step that it belongs to."""
        self.steps.setdefault(id(action), ActualWork()).taken = way

    def finish(self, seconds: float, rows: int, reads: dict[str, int]) -> None:
        """Note what the whole query did."""
        self.seconds, self.rows, self.reads = seconds, rows, reads

    def of(self, step: object) -> ActualWork:
        """Return what a step did."""
        found = self.steps.get(id(step), ActualWork())
        other = self.steps.get(id(getattr(step, "action", None)))
        if other is not None:
            found.taken = other.taken
        return found
