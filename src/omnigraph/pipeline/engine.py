"""Spark as the engine of loads, reads, exports and `optimize`; it is imported only when it is used.

`execution/engine.py` decides whether it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import SparkMissing
from omnigraph.base.settings import Settings
from omnigraph.execution.engine import Availability, Engine, EngineChoice, Estimate
from omnigraph.pipeline.requirements import require_spark
from omnigraph.pipeline.session import SparkOptions, abandon, active, describe_configuration, session
from omnigraph.pipeline.worker_python import require_worker_python

if TYPE_CHECKING:
    from omnigraph.execution.export.export import Export
    from omnigraph.execution.load.executor import Executor
    from omnigraph.execution.load.sources.source import LoadSource
    from omnigraph.execution.result import Result
    from omnigraph.graph.maintenance.optimize.executor import MaintenanceExecutor


def find_spark(starts: bool, environment: Mapping[str, str] = os.environ) -> Availability:
    """Return whether `auto` may use Spark: a running or configured one, with `starts` also a new one."""
    if active() is not None:
        return Availability(True, "a session is running")
    given = describe_configuration(environment)
    if given is None and not starts:
        return Availability(False, "no Spark session is running or configured")
    if SparkOptions.from_environment(environment).remote is None:
        try:
            require_spark(environment)
        except SparkMissing as error:
            return Availability(False, error.message)
    return Availability(True, given or "Spark can be started")


class SparkEngine:
    """`BulkEngine` of `run_load`: Spark, started when the first load needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def availability(self) -> Availability:
        """Return whether `auto` may run a load on Spark; it may start Java."""
        return find_spark(starts=True)

    def estimate(self, source: LoadSource) -> Estimate | EngineChoice:
        """Return the size of a source; the rows of a Spark data frame are always loaded on Spark."""
        if source.frame is not None:
            return EngineChoice(Engine.SPARK, "the source is a Spark data frame")
        return Estimate("the source has", source.size_bytes(), "byte", self._settings.spark_load_bytes)

    def executor(self, source: LoadSource) -> Executor:
        """Return the executor of a load."""
        from omnigraph.pipeline.jobs.load import SparkExecutor

        spark = source.frame.rows.sparkSession if source.frame is not None else session()
        require_worker_python(spark)
        return SparkExecutor(spark, self._settings)


class SparkReader:
    """`BulkReader` of a graph's reads: Spark, started when the first read needs it."""

    def availability(self) -> Availability:
        """Return whether `auto` may run a read on Spark.

        Starting Java takes longer than most time limits, so it is done only when asked for.
        """
        return find_spark(starts=False)

    def read(self, *given: Any) -> Result:
        """Run a bound read; takes what `run_on_spark` takes after the session and its end."""
        spark = session()
        from omnigraph.execution.spark.run import run_on_spark

        return run_on_spark(spark, lambda: abandon(spark), *given)


def start_spark_maintenance(settings: Settings) -> MaintenanceExecutor:
    """Return the executor that optimizes tables as Spark jobs."""
    from omnigraph.pipeline.jobs.optimize import SparkMaintenance

    return SparkMaintenance(session(), settings)


def run_spark_export(*given: Any) -> Export:
    """Export a snapshot on Spark; takes what `spark_export` takes after the session."""
    from omnigraph.pipeline.jobs.export import spark_export

    return spark_export(session, *given)
