"""Errors of Spark as errors of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base.errors import SparkFailed


@contextmanager
def spark_errors(action: str) -> Iterator[None]:
    """Re-raise errors of Spark and its gateway as SparkFailed."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"{action} failed on Spark: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return the line of a long report that says what happened."""
    if "No module named 'omnigraph'" in str(error):
        return "its workers have no OmniGraph: set PYSPARK_PYTHON to a Python of theirs that has it"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Fault)\b.*:", line)]
    named = [line for line in errors if not line.startswith(("org.apache.spark", "java."))]
    without_frames = [line for line in lines if not line.startswith(("at ", "... "))]
    return (named or errors or without_frames or [type(error).__name__])[-1][:500]
