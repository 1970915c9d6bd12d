"""Stored columns as columns of Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import StructField, StructType, TimestampType

from omnigraph.base.errors import BadInput
from omnigraph.pipeline.spark_types import spark_batches


def test_a_moment_that_spark_cannot_hold_is_an_error_that_names_its_column() -> None:
    schema = StructType([StructField("at", TimestampType())])
    for millis in (0, 253_402_300_799_999):
        (batch,) = spark_batches(pa.table({"at": pa.array([millis], pa.timestamp("ms", "UTC"))}), schema)
        assert batch["at"].cast(pa.int64()).to_pylist() == [millis * 1000]
    rows = pa.table({"at": pa.array([2**63 - 1], pa.timestamp("ms", "UTC"))})
    with pytest.raises(BadInput, match="column at has a value that Spark cannot hold"):
        list(spark_batches(rows, schema))
