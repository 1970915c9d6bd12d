"""The change feed of a branch as a source of Spark, for streams and for batches.

The position of a stream is a cursor of the feed, which Spark keeps in its checkpoint. The graph stores
nothing about streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.options import read_count
from omnigraph.pipeline.workers.feed import FeedPart, FeedScan

Offset = dict[str, str]
_COMMITS_PER_TASK = 64
_START_WORDS = ("now", "beginning")


class FeedReader(DataSourceReader):  # type: ignore[misc]
    """Reads the feed once, up to the head that the branch had when the frame was made."""

    def __init__(self, scan: FeedScan, schema: StructType, end: str) -> None:
        self.scan, self.wanted, self.end = scan, schema, end

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks."""
        with attach_details():
            return self.scan.parts(first_cursor(self.scan), self.end, _COMMITS_PER_TASK)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        return _read(self.scan, partition, self.wanted)


class FeedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Follows the feed in micro-batches of whole commits.

    An offset is `origin`, where the stream began, and `cursor`, up to where it has read. The first offset
    has no cursor yet: Spark asks for it again whenever it has to repeat the first batch, and `now` has moved
    by then. The origin that the batch was planned with is in its end offset, which Spark has stored.
    """

    def __init__(self, scan: FeedScan, schema: StructType) -> None:
        self.scan, self.wanted = scan, schema
        self.commits = read_count(scan.told, "commits")
        self.target: str | None = None
        """The last offset of a run that stops at the current head."""

    def initialOffset(self) -> Offset:
        """Return where a stream without a checkpoint begins."""
        with attach_details():
            return {"origin": first_cursor(self.scan)}

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the maximum of commits in a batch; Spark has no limit for commits and calls them files."""
        return ReadMaxFiles(self.commits) if self.commits is not None else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Store the current head; later commits wait for the next run."""
        with attach_details():
            feed = self.scan.feed()
            self.target = feed.cursor_at(feed.state.head)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return where the next batch ends."""
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        with attach_details():
            at = start.get("cursor", start["origin"])
            return {"origin": start["origin"], "cursor": self.scan.feed().cursor_on(at, most, self.target)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the tasks of a batch."""
        with attach_details():
            begin = start.get("cursor", end["origin"])
            return self.scan.parts(begin, end["cursor"], _COMMITS_PER_TASK)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        return _read(self.scan, partition, self.wanted)


def first_cursor(scan: FeedScan) -> str:
    """Return the cursor at which the option `changes` starts the feed."""
    start = scan.told["changes"]
    if start in _START_WORDS or start.startswith("after:"):
        return scan.feed().cursor_from(start)
    return scan.feed().check_cursor(start)


def _read(scan: FeedScan, partition: InputPartition, wanted: StructType) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, FeedPart)
    with attach_details():
        yield from scan.read(partition, wanted)
