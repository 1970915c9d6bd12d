"""Timestamps without a zone are wall-clock times of the session's time zone, as everywhere in Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import BadInput

SETTING = "spark.sql.session.timeZone"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_IS_UTC = ("Z", "UT")
"""Names of UTC that only Java knows."""
_EPOCH = datetime(1970, 1, 1)
_DAY_MICROS = 86_400_000_000
_CYCLE_MICROS = 146_097 * _DAY_MICROS
"""Four hundred years."""
_FIRST_MICROS, _LAST_MICROS = (
    (end - _EPOCH) // timedelta(microseconds=1) for end in (datetime(1, 1, 2), datetime(9999, 12, 30))
)


def place_in_zone(frame: Any) -> Any:
    """Return a data frame whose columns of `timestamp_ntz`, and of arrays of them, are moments."""
    from pyspark.sql.types import ArrayType, TimestampNTZType, TimestampType

    for item in frame.schema.fields:
        is_array = isinstance(item.dataType, ArrayType)
        if isinstance(item.dataType.elementType if is_array else item.dataType, TimestampNTZType):
            quoted = item.name.replace("`", "``")
            wanted = ArrayType(TimestampType()) if is_array else TimestampType()
            frame = frame.withColumn(item.name, frame[f"`{quoted}`"].cast(wanted))
    return frame


def place_batches_in_zone(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the same in a task of a write, whose batches are what Spark sends."""
    zone: tzinfo | None = None
    for batch in batches:
        columns = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            is_list = pa.types.is_list(column.type)
            if _has_no_zone(column.type.value_type if is_list else column.type):
                zone = zone or _zone_of_task(name)
                columns[name] = _place_lists(column, zone) if is_list else place_column(column, zone)
            else:
                columns[name] = column
        yield pa.record_batch(columns)


def place_column(column: pa.Array, zone: tzinfo) -> pa.Array:
    """Return wall-clock times as moments, as Java has them: of two it is the earlier.

    A time that clocks leave out is moved on by as much as they are: it is taken at the offset before. Arrow
    does otherwise, and knows no summer after 2037.
    """
    wall = column.cast(pa.timestamp("us")).cast(pa.int64())
    times = wall.fill_null(0).to_numpy()
    days, place = np.unique(times // _DAY_MICROS, return_inverse=True)
    begins, ends = (
        np.array([_offset(zone, int(day) * _DAY_MICROS) for day in some], np.int64)
        for some in (days, days + 1)
    )
    offsets = begins[place]
    for at in np.flatnonzero((begins != ends)[place]):  # clocks change on this day
        offsets[at] = _offset(zone, int(times[at]))
    moments = pa.array(times - offsets, pa.int64(), mask=np.asarray(column.is_null()))
    return moments.cast(pa.timestamp("us", "UTC"))


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name in Java; LookupError when it is not known here."""
    found = _OFFSET.fullmatch(name)
    if found is not None:
        since = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return timezone(-since if found[1] == "-" else since)
    try:
        return UTC if name in _IS_UTC else ZoneInfo(name)
    except (ValueError, OSError) as error:
        raise LookupError(name) from error


def _offset(zone: tzinfo, wall: int) -> int:
    """Return the offset of a wall-clock time, in microseconds."""
    while wall > _LAST_MICROS:  # Python's calendar ends; years, weekdays and so summers repeat
        wall -= _CYCLE_MICROS
    local = _EPOCH + timedelta(microseconds=max(wall, _FIRST_MICROS))
    return (zone.utcoffset(local) or timedelta()) // timedelta(microseconds=1)


def keep_zone(spark: Any) -> None:
    """Make the time zone of a session explicit: tasks only get what is set."""
    spark.conf.set(SETTING, spark.conf.get(SETTING))


def _has_no_zone(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.tz is None)


def _place_lists(column: pa.Array, zone: tzinfo) -> pa.Array:
    if column.offset:
        column = pa.concat_arrays([column, column.slice(0, 0)])  # Arrow cannot give a slice other members
    return pa.ListArray.from_arrays(column.offsets, place_column(column.values, zone), mask=column.is_null())


def _zone_of_task(column: str) -> tzinfo:
    from pyspark import TaskContext

    context = TaskContext.get()
    said = context.getLocalProperty(SETTING) if context is not None else None
    if said is None:
        raise BadInput(
            f"{column} is a timestamp without a zone, and the session does not say its own: set {SETTING}, "
            "or cast the column to timestamp",
            column=column,
        )
    try:
        return zone_of(str(said))
    except LookupError:
        raise BadInput(
            f"{column} is a timestamp without a zone, and the session has {said!r}, which is not known here: "
            f"set {SETTING} to one such as Europe/Berlin or +02:00, or cast the column to timestamp",
            column=column,
        ) from None
