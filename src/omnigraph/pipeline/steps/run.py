"""Running a task over splits on Spark, and what Spark says when it gives up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from omnigraph.base.errors import SparkFailed
from omnigraph.execution.load.sources import Source, TableSource
from omnigraph.pipeline.session import is_remote
from omnigraph.pipeline.workers.hashing import Hashes
from omnigraph.pipeline.workers.outcome import FIELDS, OUTCOME, SplitOutcome, decode
from omnigraph.pipeline.workers.read import FrameTask, ReadTask
from omnigraph.pipeline.workers.splits import FramePartition

_REMOTE_CORES = 8


def run_reading(
    spark: Any, source: Source, task: ReadTask
) -> tuple[list[SplitOutcome], dict[str, list[Hashes]]]:
    """Run the task over all splits of a source; what every task said, in the order of the splits."""
    with spark_errors("reading the source"):
        return decode(_frame(spark, source, task).toArrow())


def run_and_keep(spark: Any, source: Source, task: ReadTask) -> tuple[list[SplitOutcome], Any]:
    """Do the same, but leave the hashes where they are; the answers of all tasks are kept on disk there."""
    from pyspark import StorageLevel

    with spark_errors("reading the source"):
        answers = _frame(spark, source, task).persist(StorageLevel.DISK_ONLY)
        return decode(answers.filter(answers.name == OUTCOME).toArrow())[0], answers


def cores_of(spark: Any) -> int:
    """Return how many tasks the session runs at once."""
    return _REMOTE_CORES if is_remote(spark) else int(spark.sparkContext.defaultParallelism)


@contextmanager
def spark_errors(action: str) -> Iterator[None]:
    """Re-raise what Spark and its gateway raise as ours."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"{action} on Spark was given up: {_reason(error)}") from error


def _frame(spark: Any, source: Source, task: ReadTask) -> Any:
    if isinstance(source, TableSource) and source.frame is not None:
        (split,) = task.splits
        assert isinstance(split, FramePartition)
        of_frame = FrameTask(task, split.shape)
        return source.frame.mapInArrow(of_frame.__call__, FIELDS)
    count = len(task.splits)
    return spark.range(0, count, 1, count).mapInArrow(task.__call__, FIELDS)


def _reason(error: Exception) -> str:
    """Return the line of a long report that says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Fault)\b.*:", line)]
    named = [line for line in told if not line.startswith(("org.apache.spark", "java."))]
    return (named or told or lines or [type(error).__name__])[-1][:500]
