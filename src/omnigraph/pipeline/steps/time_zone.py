"""Timestamps without a zone are wall-clock times of the session's time zone, as everywhere in Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput

SETTING = "spark.sql.session.timeZone"


def place_in_zone(frame: Any) -> Any:
    """Return a data frame whose columns of `timestamp_ntz` are moments."""
    from pyspark.sql.types import TimestampNTZType, TimestampType

    zoneless = [item.name for item in frame.schema.fields if isinstance(item.dataType, TimestampNTZType)]
    for name in zoneless:
        quoted = name.replace("`", "``")
        frame = frame.withColumn(name, frame[f"`{quoted}`"].cast(TimestampType()))
    return frame


def place_batches_in_zone(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the same in a task of a write, whose batches are what Spark sends."""
    zone: str | None = None
    for batch in batches:
        columns = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_timestamp(column.type) and column.type.tz is None:
                zone = zone or _zone_of_task(name)
                columns[name] = pc.assume_timezone(column, zone, ambiguous="earliest", nonexistent="latest")
            else:
                columns[name] = column
        yield pa.record_batch(columns)


def keep_zone(spark: Any) -> None:
    """Make the time zone of a session explicit: tasks only get what is set."""
    spark.conf.set(SETTING, spark.conf.get(SETTING))


def _zone_of_task(column: str) -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    zone = context.getLocalProperty(SETTING) if context is not None else None
    if zone is None:
        raise BadInput(
            f"{column} is a timestamp without a zone, and the session does not say its own: set {SETTING}, "
            "or cast the column to timestamp",
            column=column,
        )
    return str(zone)
