"""Whether Spark runs in this process or behind a server of Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_remote(spark: SparkSession) -> bool:
    """Return whether a session speaks to a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")
