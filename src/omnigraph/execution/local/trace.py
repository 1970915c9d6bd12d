"""What the steps of a plan really did: rows, time, and what was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.base import clock
from omnigraph.execution.plan.nodes import PlanStep


@dataclass
class Actual:
    """The work of one step, over all pieces."""

    calls: int = 0
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0


@dataclass
class Trace:
    """Actual work by step; steps are told apart by identity, since two may be equal."""

    steps: dict[int, Actual] = field(default_factory=dict)
    seconds: float = 0.0
    rows: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    """Counters of storage, by name."""

    def start(self) -> float:
        """Return the moment at which a step begins."""
        return clock.current().monotonic()

    def add(self, step: PlanStep, rows_in: int, rows_out: int, began: float) -> None:
        """Count one call of a step."""
        actual = self.steps.setdefault(id(step), Actual())
        actual.calls += 1
        actual.rows_in += rows_in
        actual.rows_out += rows_out
        actual.seconds += clock.current().monotonic() - began

    def finish(self, seconds: float, rows: int, reads: dict[str, int]) -> None:
        """Note what the whole query did."""
        self.seconds, self.rows, self.reads = seconds, rows, reads

    def of(self, step: PlanStep) -> Actual:
        """Return what a step did."""
        return self.steps.get(id(step), Actual())
