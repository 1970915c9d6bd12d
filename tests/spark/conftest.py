"""One small Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph import spark


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """A session on two cores of this machine, shared by all tests."""
    yield spark.session(
        "local[2]",
        config={
            "spark.driver.memory": "1g",
            # Half of Java's work in short tests is to compile what would be fast in long runs.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
        },
    )
    spark.stop()
