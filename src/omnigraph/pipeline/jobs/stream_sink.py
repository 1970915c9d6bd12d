"""`writeStream.format("omnigraph")`: a micro-batch is one commit, and lands once whatever Spark remembers.

Spark makes a writer for the tasks of each batch, and another one that publishes. What the second must know
of the first comes with the messages of the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from omnigraph.base.errors import BadInput, BatchLanded
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.write.base_hold import release_hold
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.rejected_files import check_folder, file_of_batch, puts_aside
from omnigraph.pipeline.jobs.stream import check_app_id, json_column_error
from omnigraph.pipeline.jobs.write import (
    Opened,
    RowStaging,
    StagedFor,
    mode_of,
    publish_staged,
    source_of_partition,
)
from omnigraph.pipeline.options import read_strings


@dataclass
class BatchMessage(WriterCommitMessage):  # type: ignore[misc]
    """The outcome of a task's partition, and what the task was made for."""

    stream: bytes
    staged_for: StagedFor


class StreamSink(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the micro-batches of a stream: rows of one type, or graph records as JSON strings."""

    def __init__(self, told: Mapping[str, str], table: str | None, mode: Mode, opened: Opened) -> None:
        self._told, self._table, self._mode, self._opened = dict(told), table, mode, opened
        self._app_id = app_id_of(told)
        self._aside = check_folder(told.get("rejected_to"), "quarantine" if puts_aside(told) else "fail")
        self._staging: RowStaging | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Prepare the tasks: only a writer that they get is pickled."""
        if self._staging is None:
            with attach_details():
                self._staging = RowStaging(self._told, self._table, self._mode, self._opened)
        return self.__dict__

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Check the rows of a partition and stage them."""
        assert self._staging is not None
        return BatchMessage(self._staging.stage(iterator), self._staging.staged_for)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Check the rules between the rows of the batch, and publish them unless they are there already."""
        said = [cast(BatchMessage, message) for message in messages if message is not None]
        if not said:
            return
        with attach_details():
            graph = self._opened(self._told, False)
            source = source_of_partition(self._table, read_strings(self._told, "mapping"))(())
            streams = [message.stream for message in said]
            batch = {self._app_id: batchId}
            aside = None if self._aside is None else file_of_batch(self._aside, self._app_id, batchId)
            staged_for = said[0].staged_for
            try:
                publish_staged(graph, self._told, self._mode, source, staged_for, streams, batch, aside)
            except BatchLanded as landed:
                _require_checkpoint(landed)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Let cleanups go on: nothing refers to the staged files, and they remove them."""
        held = {cast(BatchMessage, message).staged_for.held for message in messages if message is not None}
        with attach_details():
            truth = self._opened(self._told, False).internals.core.truth
            for name in held:
                release_hold(truth, name)


def app_id_of(told: Mapping[str, str]) -> str:
    """Return the name of the stream, which tells its batches from those of others."""
    if "app_id" not in told:
        raise BadInput(
            'which stream? name it, as long as its checkpoint lives: .option("app_id", "orders")',
            option="app_id",
        )
    return check_app_id(told["app_id"])


def stream_mode_of(told: Mapping[str, str], truncate: bool, names_type: bool) -> Mode:
    """Return how a batch is loaded: as a merge, unless the option or the output mode says something else."""
    mode = mode_of(told, truncate, "merge")
    if not names_type and mode not in ("append", "merge"):
        raise BadInput(
            f"graph records of any type are appended or merged: to {mode}, name the type of the rows",
            mode=mode,
        )
    return mode


def check_records(schema: StructType) -> None:
    """Refuse rows that are not one column of strings."""
    if [type(item.dataType) for item in schema.fields] != [StringType]:
        raise json_column_error([(item.name, item.dataType.simpleString()) for item in schema.fields])


def _require_checkpoint(landed: BatchLanded) -> None:
    """Refuse a batch that is older than the last one: Spark itself repeats no other than the last."""
    batch, last = landed.details["batch"], landed.details["landed"]
    if batch < last:
        raise BadInput(
            f"batch {batch} of {landed.details['app_id']!r} was loaded before, and batches up to {last} are: "
            "the stream has lost its checkpoint, or another one has its app_id; give it an app_id of its own",
            **landed.details,
        ) from landed
