"""Which phase of a load runs, and how many rows it has read: for whoever watches from another thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from omnigraph.base import clock


@dataclass
class LoadProgress:
    """The progress of one load; only the thread that loads changes it."""

    phase: str | None = None
    rows: int = 0
    """The rows that this process has read."""
    rows_elsewhere: Callable[[], int] | None = None
    """Asks how many rows other processes have read."""
    began: float = field(default_factory=lambda: clock.current().monotonic())
    """When the phase began."""

    def begin(self, phase: str) -> None:
        """Note that a phase begins."""
        self.phase, self.began = phase, clock.current().monotonic()

    def describe(self) -> str | None:
        """Return the phase, its rows, and while they are read how many a second; None outside of a load."""
        if self.phase is None:
            return None
        rows = self.rows + (self.rows_elsewhere() if self.rows_elsewhere is not None else 0)
        if not rows:
            return self.phase
        seconds = clock.current().monotonic() - self.began
        rate = f" ({rows / seconds:,.0f} rows/s)" if self.phase == "read" and seconds > 0 else ""
        return f"{self.phase}: {rows:,} rows{rate}"


_watched: ContextVar[LoadProgress | None] = ContextVar("omnigraph_load_progress", default=None)


def watched_progress() -> LoadProgress | None:
    """Return the progress that somebody watches in this context."""
    return _watched.get()


def begin_phase(phase: str) -> None:
    """Note that a phase of a load begins, if somebody watches."""
    if (progress := _watched.get()) is not None:
        progress.begin(phase)


@contextmanager
def watch_load(progress: LoadProgress) -> Iterator[None]:
    """Let loads inside the block say how far they are."""
    token = _watched.set(progress)
    try:
        yield
    finally:
        _watched.reset(token)
