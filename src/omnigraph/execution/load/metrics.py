"""What a load measures of itself: rows, bytes, and the seconds of each phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from omnigraph.base import clock
from omnigraph.execution.load.progress import begin_phase

Phase = Literal["read", "check", "write", "publish"]
"""Records are read, each is checked and most are written to files; the rules between records are checked;
tables are staged; the commit is published."""

_PREFIX = "load."
_MAX_WARNINGS_CHARACTERS = 2000


@dataclass
class LoadMetrics:
    """The measurements of one load; several threads add only to different tables."""

    engine: str = "local"
    bytes_read: int | None = None
    """The size of the source's files; None when it is not in files."""
    bytes_written: dict[str, int] = field(default_factory=dict)
    """The size of the data files that were written, by table key."""
    seconds: dict[Phase, float] = field(default_factory=dict)

    @contextmanager
    def spend(self, phase: Phase) -> Iterator[None]:
        """Add the time of a block to a phase, also when the block fails."""
        begin_phase(phase)
        now = clock.current().monotonic
        began = now()
        try:
            yield
        finally:
            self.add(phase, now() - began)

    def add(self, phase: Phase, seconds: float) -> None:
        """Add time to a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def as_metadata(self, rows: int, rejected: int, warnings: Sequence[str] = ()) -> Mapping[str, str]:
        """Return what the commit notes: a fixed set of names, with numbers as strings."""
        noted = {"engine": self.engine, "rows": str(rows), "rejected": str(rejected)}
        if self.bytes_read is not None:
            noted["bytes_read"] = str(self.bytes_read)
        noted["bytes_written"] = str(sum(self.bytes_written.values()))
        noted |= {f"seconds_{phase}": f"{seconds:.3f}" for phase, seconds in self.seconds.items()}
        if warnings:
            noted["warnings"] = "\n".join(warnings)[:_MAX_WARNINGS_CHARACTERS]
        return {_PREFIX + name: value for name, value in noted.items()}
