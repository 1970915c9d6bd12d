"""Cancelling the jobs of a read when its time is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import ResourceLimit
from omnigraph.base.ids import new_ulid
from omnigraph.execution.spark.remote import is_remote

_RETRY_SECONDS = 0.1
"""Seconds between attempts to cancel jobs."""
_GRACE_SECONDS = 5.0
"""Seconds for Spark to cancel its jobs; a healthy session needs a few tenths of one."""
_INTERRUPT_PROPERTY = "spark.job.interruptOnCancel"


class TimeLimit:
    """The seconds that Spark may work for one read in all; 0 for no limit."""

    def __init__(self, spark: Any, seconds: float, abandon: Callable[[], None]) -> None:
        """Take a session, a limit, and what ends the session if it does not cancel its jobs."""
        self._spark = spark
        self._seconds = seconds
        self._left = seconds
        self._abandon = abandon

    @contextmanager
    def enforce(self) -> Iterator[None]:
        """Cancel the jobs that this thread starts in the block when the time is over."""
        if not self._seconds:
            yield
            return
        began = clock.current().monotonic()
        done, over = threading.Event(), threading.Event()
        left = max(self._left, 0.0)
        try:
            with _endable(self._spark) as end:
                _start(self._end, left, done, over, end)
                _start(self._give_up, left + _GRACE_SECONDS, done)
                yield
        except Exception as error:
            if not over.is_set():
                raise
            raise self._too_long() from error
        finally:
            done.set()
            self._left -= clock.current().monotonic() - began
        if over.is_set():
            raise self._too_long()

    def _end(
        self, seconds: float, done: threading.Event, over: threading.Event, end: Callable[[], object]
    ) -> None:
        if not done.wait(seconds):
            over.set()
        while not done.wait(_RETRY_SECONDS):  # a job that is about to start cannot be cancelled yet
            with suppress(Exception):  # the session may have died meanwhile
                end()

    def _give_up(self, seconds: float, done: threading.Event) -> None:
        """End a JVM with full memory, which would collect garbage for minutes before it cancels a job."""
        if not done.wait(seconds):
            self._abandon()

    def _too_long(self) -> ResourceLimit:
        return ResourceLimit(
            f"the query worked on Spark for more than {self._seconds:g} seconds: narrow it, or raise "
            "OMNIGRAPH_QUERY_SECONDS",
            resource="query_seconds",
            limit=self._seconds,
        )


def _start(target: Callable[..., None], *given: object) -> None:
    threading.Thread(target=target, args=given, daemon=True).start()


@contextmanager
def _endable(spark: Any) -> Iterator[Callable[[], object]]:
    """Yield a function that cancels the jobs that this thread starts in the block."""
    tag = f"omnigraph-{new_ulid()}"
    if is_remote(spark):
        spark.addTag(tag)
        try:
            yield lambda: spark.interruptTag(tag)
        finally:
            spark.removeTag(tag)
        return
    # A session's tags do not reach the thread that collects Arrow; those of the context are local
    # properties, which threads hand on.
    context = spark.sparkContext
    before = context.getLocalProperty(_INTERRUPT_PROPERTY)
    context.addJobTag(tag)
    # Otherwise the tasks of a cancelled job would go on, and the next read would wait for their cores.
    context.setInterruptOnCancel(True)
    try:
        yield lambda: context.cancelJobsWithTag(tag)
    finally:
        context.removeJobTag(tag)
        context.setLocalProperty(_INTERRUPT_PROPERTY, before)
