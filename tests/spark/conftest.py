"""One small Spark session for all tests that need one: embedded, or on a cluster of two workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph import spark
from support.spark_cluster import SETTINGS, running_cluster

_WHERE = "OMNIGRAPH_TEST_SPARK"
"""`cluster` runs what takes the session on a standalone cluster, instead of in this process."""


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master of the session that tests share."""
    where = os.environ.get(_WHERE, "embedded")
    assert where in ("embedded", "cluster"), f"{_WHERE} is {where!r}: embedded or cluster"
    if where == "embedded":
        yield "local[2]"
        return
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster.master


@pytest.fixture(scope="session")
def session(master: str) -> Iterator[Any]:
    """A session with two cores, shared by all tests."""
    small = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
    }
    yield spark.session(master, config=small if master.startswith("local") else SETTINGS | small)
    spark.stop()
