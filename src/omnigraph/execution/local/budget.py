"""The limits of a query: intermediate rows, memory and time. Exceeding one raises a typed error."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from omnigraph.base import cancellation as checkpoints
from omnigraph.base import clock
from omnigraph.base.errors import ResourceLimit
from omnigraph.base.settings import Settings


class QueryBudget:
    """The limits of one run of a query; time counts from its construction."""

    def __init__(self, settings: Settings, seconds: float | None = None) -> None:
        """Take the limits of a handle; `seconds` is the caller's own time limit."""
        self._rows = settings.query_rows
        self._bytes = settings.query_bytes
        self._seconds = settings.query_seconds if seconds is None else seconds
        self._began = clock.current().monotonic()
        self._held = 0

    @property
    def seconds(self) -> float:
        """The time limit in seconds; 0 for none."""
        return self._seconds

    @property
    def last_moment(self) -> float | None:
        """The deadline by the monotonic clock; None without a limit."""
        return self._began + self._seconds if self._seconds else None

    def check(self) -> None:
        """Raise ResourceLimit if the time is over."""
        if self._seconds:
            used = clock.current().monotonic() - self._began
            if used > self._seconds:
                raise ResourceLimit(
                    f"the query took more than {self._seconds:g} seconds: narrow it, or raise "
                    "OMNIGRAPH_QUERY_SECONDS",
                    resource="query_seconds",
                    limit=self._seconds,
                    actual=round(used, 3),
                )

    def enforce(self) -> AbstractContextManager[None]:
        """Check the time limit, if there is one, at the checkpoints of the work inside."""
        return checkpoints.watch(self.check) if self._seconds else nullcontext()

    def check_rows(self, count: int) -> None:
        """Raise ResourceLimit if there are more intermediate rows than allowed."""
        if count > self._rows:
            raise ResourceLimit(
                f"the query has more than {self._rows} intermediate rows: narrow it, or raise "
                "OMNIGRAPH_QUERY_ROWS",
                resource="query_rows",
                limit=self._rows,
                actual=count,
            )

    def hold(self, size: int) -> None:
        """Count bytes that are held until the result is complete."""
        self.need(size)
        self._held += size

    def need(self, size: int) -> None:
        """Raise ResourceLimit if temporary bytes and those that are held exceed the limit."""
        if self._held + size > self._bytes:
            raise ResourceLimit(
                f"the query needs more than {self._bytes} bytes for its rows: narrow it, or raise "
                "OMNIGRAPH_QUERY_BYTES",
                resource="query_bytes",
                limit=self._bytes,
                actual=self._held + size,
            )
