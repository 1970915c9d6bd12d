"""Ending the jobs of a read when its time is over."""

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
"""Seconds between attempts to end what still runs."""
_GRACE_SECONDS = 5.0
"""Seconds that Spark has to end its jobs; it takes some tenths of one as long as it is well."""
_INTERRUPT_PROPERTY = "spark.job.interruptOnCancel"


class TimeLimit:
    """The seconds that Spark may work for one read, however often it is asked to; 0 is any time."""

    def __init__(self, spark: Any, seconds: float, abandon: Callable[[], None]) -> None:
        """Take what ends a session that does not answer when its jobs are to be ended."""
        self._spark = spark
        self._seconds = seconds
        self._left = seconds
        self._abandon = abandon

    @contextmanager
    def enforce(self) -> Iterator[None]:
        """Let Spark work for the seconds that are left; what this thread starts is ended then."""
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
        while not done.wait(_RETRY_SECONDS):  # a job that is only about to start is not there to be ended
            with suppress(Exception):  # the session may have died meanwhile
                end()

    def _give_up(self, seconds: float, done: threading.Event) -> None:
        """End a Java whose memory is full: it would collect garbage for minutes before it ends a job."""
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
    """Give what ends the jobs that this thread starts in the block."""
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
    # Or the tasks of an ended job would go on, and the next read would wait for their cores.
    context.setInterruptOnCancel(True)
    try:
        yield lambda: context.cancelJobsWithTag(tag)
    finally:
        context.removeJobTag(tag)
        context.setLocalProperty(_INTERRUPT_PROPERTY, before)
