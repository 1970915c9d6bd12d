"""Which engine a load or a read runs on, and Spark's side of it; Spark is imported only when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import SparkMissing
from omnigraph.base.settings import Settings
from omnigraph.pipeline.java import require_java
from omnigraph.pipeline.session import abandon, active, configured, session

if TYPE_CHECKING:
    from omnigraph.execution.export.export import Export
    from omnigraph.execution.load.executor import Executor
    from omnigraph.execution.load.sources.source import Source
    from omnigraph.execution.result import Result
    from omnigraph.graph.maintenance.optimize.executor import Hands


class SparkEngine:
    """`BulkEngine` of `run_load`: Spark, started when the first load needs it."""

    name = "spark"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def is_better_for(self, source: Source) -> bool:
        """Say whether a source is so large, or so far away, that Spark is the way to load it."""
        if source.frame is not None:
            return True
        size = source.size_bytes()
        if size is None or size < self._settings.spark_load_bytes:
            return False
        return _is_at_hand()  # the load in process has no limit either; it only takes longer

    def executor(self, source: Source) -> Executor:
        """Return what reads a source."""
        from omnigraph.pipeline.jobs.load import SparkExecutor

        spark = source.frame.rows.sparkSession if source.frame is not None else session()
        return SparkExecutor(spark, self._settings)


class SparkReader:
    """`BulkReader` of a graph's reads: Spark, started when the first read needs it."""

    def at_hand(self) -> str | None:
        """Say by which session Spark would do a read that nobody asked it for, or None.

        Starting Java takes longer than most limits of time, so it is not done unasked.
        """
        return "a session is running" if active() is not None else configured()

    def read(self, *given: Any) -> Result:
        """Run a bound read; takes what `run_on_spark` takes after the session and its end."""
        spark = session()
        from omnigraph.execution.spark.run import run_on_spark

        return run_on_spark(spark, lambda: abandon(spark), *given)


def spark_hands(settings: Settings) -> Hands:
    """Return the hands of Spark for the care of tables."""
    from omnigraph.pipeline.jobs.optimize import SparkHands

    return SparkHands(session(), settings)


def _is_at_hand() -> bool:
    try:
        return active() is not None or bool(require_java())
    except SparkMissing:
        return False


def run_spark_export(*given: Any) -> Export:
    """Export a snapshot on Spark; takes what `spark_export` takes after the session."""
    from omnigraph.pipeline.jobs.export import spark_export

    return spark_export(session, *given)
