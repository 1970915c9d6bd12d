"""`df.write.format("omnigraph")`: the load job, split between the Python processes that Spark makes for it.

The first process pins the graph and defines the tasks; tasks check and write rows, as in any load on Spark;
the last process gets their outcomes, checks the rules between rows, and publishes once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.lineage.follow import LoadFacts, follow_load
from omnigraph.execution.load.load_work import LoadWork
from omnigraph.execution.load.metrics import LoadMetrics
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.parse.strict_json import unknown_field_problem
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.run import commit_valid, note_batch
from omnigraph.execution.load.sources.json_rows import absent_column_error, property_names
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.load.sources.table_source import OneType, rows_of_partition, to_arrow_stream
from omnigraph.execution.load.stage.patches import PatchedTables
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.handle import Graph
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.write.base_hold import release_hold
from omnigraph.graph.write.integrity.problems import SHOWN_PROBLEMS, Problem, as_error
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.holds import hold_commits, renew_holds
from omnigraph.pipeline.jobs.rejected_files import check_file, puts_aside
from omnigraph.pipeline.jobs.written_tasks import WrittenTasks
from omnigraph.pipeline.options import read_strings
from omnigraph.pipeline.steps.read_again import read_again
from omnigraph.pipeline.steps.time_zone import place_batches_in_zone
from omnigraph.pipeline.workers.outcome import NO_OUTCOMES
from omnigraph.pipeline.workers.read import ReadTask
from omnigraph.pipeline.workers.record_frame import RecordFrame

_log = logging.getLogger("omnigraph")
Opened = Callable[[Mapping[str, str], bool], Graph]


@dataclass
class TaskMessage(WriterCommitMessage):  # type: ignore[misc]
    """The outcome of a task's partition: a few rows, as an Arrow stream."""

    stream: bytes


@dataclass(frozen=True)
class StagedFor:
    """What the tasks of a write were made for; the process that publishes may be another one."""

    schema: str
    """The schema by which rows are checked."""
    fence: int
    """The newest cleanup that was known before."""
    held: str
    """The name of the hold on the commit that files are written for."""
    key: int
    """The key of the hashes."""
    version: str
    """The path of the version of the table that patches are completed from."""
    began: int
    """When it began, in epoch microseconds."""


class RowStaging:
    """The tasks of a write: made in one process, sent to others, and each of them stages a partition."""

    def __init__(self, told: Mapping[str, str], table: str | None, mode: Mode, opened: Opened) -> None:
        """Pin the graph for rows of a type, or without one for graph records."""
        graph = opened(told, False)
        graph.internals.check_allowed("change", graph.branch)
        state = graph.internals.read_state()
        self._told, self._opened = dict(told), opened
        self.source_of = source_of_partition(table, read_strings(told, "mapping"))
        held = hold_commits(graph, state.head)  # tasks of other processes open what the branch has now
        base = WriteBase(graph.internals.core.truth.store, state)
        key = int.from_bytes(clock.current().random_bytes(8), "big")
        pinned = base.view_pinned()
        patched = PatchedTables(pinned) if mode == "patch" else None
        catalog = graph.catalog_at(state.head.schema)
        vectors = MissingVectors(graph.embedder)
        self._spools = puts_aside(told)
        self._task = ReadTask(
            catalog,
            (),
            pinned,
            key,
            SHOWN_PROBLEMS,
            vectors=vectors,
            patched=patched,
            puts_aside=self._spools,
        )
        owner = None if table is None else catalog.node(table) or catalog.edge(table)
        version = base.rely_on(owner.table_key).pin.path if owner is not None else ""
        self.staged_for = StagedFor(
            state.head.schema, state.head.fence, next(iter(held), ""), key, version, clock.current().now_us()
        )

    def stage(self, iterator: Iterator[pa.RecordBatch]) -> bytes:
        """Check the rows of a partition and write them to files that no commit names."""
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        spooled = read_again if self._spools else nullcontext
        with attach_details(), self._renew_hold(), spooled(place_batches_in_zone(iterator)) as batches:
            rows = pa.Table.from_batches(self._task.read(number, self.source_of(batches)))
        return to_arrow_stream(rows)

    def _renew_hold(self) -> AbstractContextManager[None]:
        held = self.staged_for.held
        return renew_holds(lambda: self._opened(self._told, False), [held] if held else [])


def publish_staged(
    graph: Graph,
    told: Mapping[str, str],
    mode: Mode,
    source: LoadSource,
    staged_for: StagedFor,
    streams: Sequence[bytes],
    batch: Mapping[str, int] | None = None,
    rejected_to: Path | None = None,
) -> None:
    """Check the rules between the rows of all partitions, publish them as one commit, and log warnings.

    `batch` says which batch of which application this is; one that has landed is `BatchLanded`.
    """
    # A data frame without partitions has no tasks: there is nothing to load, or all of a type goes.
    said = pa.concat_tables([NO_OUTCOMES, *(pa.ipc.open_stream(stream).read_all() for stream in streams)])
    tasks = WrittenTasks(said, staged_for.key, staged_for.schema, staged_for.version)
    stream = next(iter(batch or {}), None)
    facts = LoadFacts(graph, "spark", source.type_names(), list, stream, staged_for.began)
    quarantine = None if rejected_to is None else Quarantine(rejected_to)

    def try_once() -> tuple[LoadWork, Published | None]:
        metrics = LoadMetrics("spark")
        metrics.add("read", (clock.current().now_us() - staged_for.began) / 1e6)  # in the tasks
        work = LoadWork(tasks, source, mode, graph.catalog_at, quarantine, metrics=metrics)
        return work, graph.commit_work(
            work,
            message=told.get("message"),
            metadata={**note_batch(batch or {}), **read_strings(told, "metadata")},
            durable=True,
            staged_behind=staged_for.fence,
            streams=batch,
            idempotency_key=told.get("idempotency_key"),
        )

    try:
        with follow_load(facts) as followed:
            work, published = commit_valid(quarantine, try_once)
            if followed is not None:
                followed.tell(published, work.answer(), work.metrics.bytes_written)
    finally:
        release_hold(graph.internals.core.truth, staged_for.held)
    if quarantine is not None and quarantine.count:
        _log.warning("%s records were wrong and are in %s", quarantine.count, quarantine.path)
    for warning in work.warnings():
        _log.warning("%s", warning)


def source_of_partition(
    table: str | None, mapping: Mapping[str, str]
) -> Callable[[Iterable[pa.RecordBatch]], LoadSource]:
    """Return what makes a source of the rows of a partition: rows of a type, or graph records."""
    if table is None:
        return partial(RecordFrame, None)
    return partial(rows_of_partition, OneType(table, mapping))


class TableWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes rows of one type as one commit."""

    def __init__(self, told: Mapping[str, str], table: str, mode: Mode, opened: Opened) -> None:
        self._told, self._opened, self._mode = dict(told), opened, mode
        self._rejected_to = check_file(told)
        self._staging = RowStaging(told, table, mode, opened)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Check the rows of a partition and stage them."""
        return TaskMessage(self._staging.stage(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Check the rules between the rows of all partitions, and publish them."""
        streams = [cast(TaskMessage, message).stream for message in messages if message is not None]
        with attach_details():
            graph, source = self._opened(self._told, False), self._staging.source_of(())
            staged_for, aside = self._staging.staged_for, self._rejected_to
            publish_staged(graph, self._told, self._mode, source, staged_for, streams, rejected_to=aside)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Let cleanups go on: nothing refers to the staged files, and they remove them."""
        with attach_details():
            truth = self._opened(self._told, False).internals.core.truth
            release_hold(truth, self._staging.staged_for.held)


def check_written_columns(table: TableType, columns: Sequence[str], mapping: Mapping[str, str]) -> None:
    """Refuse columns that a type does not have, and a mapping of columns that are not there."""
    for column in mapping:
        if column not in columns:
            raise absent_column_error(column, None, suggest(column, columns) or "")
    ends = ("from", "to") if table.kind == "edge" else ()
    names = property_names(columns, mapping)
    unknown = [name for name in names if name not in (*table.by_name, "id", *ends)]
    if unknown:
        raise as_error([unknown_field_problem(table, name) for name in unknown], len(unknown))


def check_needed_columns(table: TableType, columns: Sequence[str], mapping: Mapping[str, str]) -> None:
    """Refuse columns among which one is not that every new row needs."""
    names = property_names(columns, mapping)
    ends = ("from", "to") if table.kind == "edge" else ()
    needed = [
        item.name
        for item in table.properties
        if not item.type.nullable and item.default is None and item.embed is None
    ]
    missing = [name for name in (*ends, *needed) if name not in names]
    if missing:
        every = [f"no column is {table.name}.{name}, which every row needs" for name in missing]
        told = [
            Problem("required", table.name, text, name) for text, name in zip(every, missing, strict=True)
        ]
        raise as_error(told, len(told))


def mode_of(told: Mapping[str, str], overwrite: bool, otherwise: Mode = "append") -> Mode:
    """Return how rows are loaded: by the option `mode`, or by Spark's save or output mode."""
    given: Any = told.get("mode", "overwrite" if overwrite else otherwise)
    if given not in get_args(Mode) or (overwrite and given != "overwrite"):
        raise BadInput(
            f"the option mode is {given!r}: use append, merge, patch or overwrite, with Spark's "
            "mode('append') or outputMode('append')",
            mode=given,
        )
    return cast(Mode, given)
