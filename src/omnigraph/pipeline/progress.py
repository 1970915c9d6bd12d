"""Progress of Spark's stages, reported from a thread while a call waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from omnigraph.execution.spark.remote import is_remote
from omnigraph.pipeline.session import active

Report = Callable[[str, int, int], None]
"""The name of a stage, how many of its tasks are done, and how many there are."""
_POLL_SECONDS = 0.25


@contextmanager
def watch_stages(report: Report, seconds: float = _POLL_SECONDS) -> Iterator[None]:
    """Report the stages that run inside the block; nothing without Spark, or on a remote Spark."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(seconds):
            # A session may start or end meanwhile; reporting must not disturb the work.
            with suppress(Exception):
                spark = active()
                if spark is not None and not is_remote(spark):
                    _report_stages(spark.sparkContext.statusTracker(), report)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _report_stages(tracker: Any, report: Report) -> None:
    running = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    for stage in filter(None, running):  # a stage can end between the two calls
        report(f"stage {stage.stageId}", stage.numCompletedTasks, stage.numTasks)
