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
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
        },
    )
    spark.stop()
