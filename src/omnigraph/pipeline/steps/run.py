"""Runs a task over splits on Spark, and translates Spark's errors."""

from __future__ import annotations

from typing import Any

from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.execution.spark.remote import is_remote
from omnigraph.graph.model.hashing import Hashes
from omnigraph.pipeline.steps.time_zone import place_in_zone
from omnigraph.pipeline.workers.outcome import COUNTED, FIELDS, OUTCOME, SplitOutcome, decode
from omnigraph.pipeline.workers.read import FrameTask, ReadTask

METRICS = "omnigraph.load"
"""The name under which Spark observes what the tasks of a load have counted."""
_REMOTE_CORES = 8


def run_reading(
    spark: Any, source: LoadSource, task: ReadTask
) -> tuple[list[SplitOutcome], dict[str, list[Hashes]]]:
    """Run the task over all splits of a source and return the answers in the order of the splits."""
    with spark_errors("reading the source"):
        return decode(_observe_counts(_frame(spark, source, task)).toArrow())


def run_and_keep(spark: Any, source: LoadSource, task: ReadTask) -> tuple[list[SplitOutcome], Any]:
    """Do the same, but leave the hashes in Spark; the answers of all tasks are persisted on its disks."""
    from pyspark import StorageLevel

    with spark_errors("reading the source"):
        answers = _frame(spark, source, task).persist(StorageLevel.DISK_ONLY)
        return decode(answers.filter(answers.name == OUTCOME).toArrow())[0], answers


def _observe_counts(answers: Any) -> Any:
    """Let Spark add up what the tasks have counted, for whoever listens to its queries."""
    from pyspark.sql import functions

    return answers.observe(METRICS, *(functions.sum(name).alias(name) for name in COUNTED))


def cores_of(spark: Any) -> int:
    """Return the number of tasks that the session runs at the same time."""
    return _REMOTE_CORES if is_remote(spark) else int(spark.sparkContext.defaultParallelism)


def _frame(spark: Any, source: LoadSource, task: ReadTask) -> Any:
    if source.frame is not None:
        of_frame = FrameTask(task, source.frame.of_partition)
        return place_in_zone(source.frame.rows).mapInArrow(of_frame.__call__, FIELDS)
    count = len(task.splits)
    return spark.range(0, count, 1, count).mapInArrow(task.__call__, FIELDS)
