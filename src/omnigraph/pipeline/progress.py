"""Progress of loads and of Spark's stages, reported from a thread while a call waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from omnigraph.execution.load.progress import LoadProgress, watch_load
from omnigraph.execution.spark.remote import is_remote
from omnigraph.pipeline.session import active

Report = Callable[[str, int, int], None]
"""The phase of a load or the name of a stage, how many of its tasks are done, and how many there are."""
_POLL_SECONDS = 0.25


@contextmanager
def watch_stages(report: Report, seconds: float = _POLL_SECONDS) -> Iterator[None]:
    """Report the phases of a load and the stages of Spark that run inside the block.

    A load says its phase (read, check, write, publish), its rows, and while they are read how many a second.
    Of a remote Spark no stages are known.
    """
    done, progress = threading.Event(), LoadProgress()

    def watch() -> None:
        while not done.wait(seconds):
            # A session may start or end meanwhile; reporting must not disturb the work.
            with suppress(Exception):
                _report_once(progress.describe(), report)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with watch_load(progress):
            yield
    finally:
        done.set()
        watcher.join()
        with suppress(Exception):  # how it ended is told, however quick it was
            _report_once(progress.describe(), report)


def _report_once(phase: str | None, report: Report) -> None:
    spark = active()
    stages = [] if spark is None or is_remote(spark) else _running_stages(spark.sparkContext.statusTracker())
    for stage in stages:
        name = f"stage {stage.stageId}"
        report(f"{phase}, {name}" if phase else name, stage.numCompletedTasks, stage.numTasks)
    if phase and not stages:
        report(phase, 0, 0)


def _running_stages(tracker: Any) -> list[Any]:
    found = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return [stage for stage in found if stage is not None]  # one can end between the two calls
