"""Ending the jobs of a read when its time is over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from omnigraph.base.errors import ResourceLimit, SparkFailed
from omnigraph.base.ids import new_ulid

_AGAIN = 0.1
"""Seconds between attempts to end what still runs."""


@contextmanager
def limited(spark: Any, seconds: float) -> Iterator[None]:
    """Let Spark work for so many seconds, or for any time with 0."""
    if not seconds:
        yield
        return
    tag, done, over = f"omnigraph-{new_ulid()}", threading.Event(), threading.Event()

    def watch() -> None:
        if not done.wait(seconds):
            over.set()
        while not done.wait(_AGAIN):  # a job that is only about to start is not there to be ended
            spark.interruptTag(tag)

    spark.addTag(tag)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except SparkFailed as error:
        if not over.is_set():
            raise
        raise _too_long(seconds) from error
    finally:
        done.set()
        watcher.join()
        spark.removeTag(tag)
    if over.is_set():
        raise _too_long(seconds)


def _too_long(seconds: float) -> ResourceLimit:
    return ResourceLimit(
        f"the query worked on Spark for more than {seconds:g} seconds: narrow it, or raise "
        "OMNIGRAPH_QUERY_SECONDS",
        resource="query_seconds",
        limit=seconds,
    )
