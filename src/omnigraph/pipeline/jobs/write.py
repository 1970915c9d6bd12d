"""`df.write.format("omnigraph")`: the load job, split between the Python processes that Spark makes for it.

The first process pins the graph and defines the tasks; tasks check and write rows, as in any load on Spark;
the last process gets their outcomes, checks the rules between rows, and publishes once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast, get_args

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, Conflict, OmniError
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.execution.load.load_work import LoadWork
from omnigraph.execution.load.metrics import LoadMetrics
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.parse.strict_json import unknown_field_problem
from omnigraph.execution.load.sources.json_rows import absent_column_error, property_names
from omnigraph.execution.load.sources.table_source import OneType, rows_of_partition, to_arrow_stream
from omnigraph.execution.load.stage.patches import PatchedTables
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.write.base_hold import BaseHold, release_hold
from omnigraph.graph.write.integrity.problems import SHOWN, as_error
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.load import collect
from omnigraph.pipeline.options import read_strings
from omnigraph.pipeline.steps.split import first_places
from omnigraph.pipeline.workers.outcome import NO_OUTCOMES, decode
from omnigraph.pipeline.workers.read import ReadTask

_log = logging.getLogger("omnigraph")
_RENEWAL_SECONDS = 60.0
Opened = Callable[[Mapping[str, str], bool], Graph]


@dataclass
class TaskMessage(WriterCommitMessage):  # type: ignore[misc]
    """The outcome of a task's partition: a few rows, as an Arrow stream."""

    stream: bytes


class TableWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes rows of one type as one commit."""

    def __init__(self, told: Mapping[str, str], table: str, mode: Mode, opened: Opened) -> None:
        graph = opened(told, False)
        state = graph._state()
        self._told, self._opened, self._mode = dict(told), opened, mode
        self._schema = state.head.schema
        self._staged_behind = state.head.fence
        self._shape = OneType(table, read_strings(told, "mapping"))
        self._metadata = read_strings(told, "metadata")
        self._began = clock.current().now_us()
        hold = BaseHold(graph._core.truth, graph.settings, graph.actor, state.head)
        hold.place()  # tasks of other processes open what the branch has now, whatever cleanups do meanwhile
        self._held = hold.name
        base = WriteBase(graph._core.truth.store, state)
        key = int.from_bytes(clock.current().random_bytes(8), "big")
        vectors = MissingVectors(graph.embedder)
        pinned = base.pinned()
        patched = PatchedTables(pinned) if mode == "patch" else None
        catalog = graph.catalog_at(self._schema)
        self._task = ReadTask(catalog, (), pinned, key, SHOWN, vectors, patched=patched)
        owner = catalog.node(table) or catalog.edge(table)
        self._version = base.rely_on(owner.table_key).pin.path if owner is not None else ""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Check the rows of a partition and stage them."""
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        with attach_details(), self._renewing():
            rows = pa.Table.from_batches(self._task.read(number, rows_of_partition(self._shape, iterator)))
        return TaskMessage(to_arrow_stream(rows))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Check the rules between the rows of all partitions, and publish them."""
        streams = [cast(TaskMessage, message).stream for message in messages if message is not None]
        # A data frame without partitions has no tasks: there is nothing to load, or all of a type goes.
        said = pa.concat_tables([NO_OUTCOMES, *(pa.ipc.open_stream(stream).read_all() for stream in streams)])
        with attach_details():
            graph = self._opened(self._told, False)
            tasks = WrittenTasks(said, self._task.key, self._schema, self._version)
            metrics = LoadMetrics("spark")
            metrics.add("read", (clock.current().now_us() - self._began) / 1e6)  # in the tasks
            nothing = rows_of_partition(self._shape, ())
            work = LoadWork(tasks, nothing, self._mode, graph.catalog_at, metrics=metrics)
            graph.commit_work(
                work,
                message=self._told.get("message"),
                metadata=self._metadata,
                durable=True,
                staged_behind=self._staged_behind,
                idempotency_key=self._told.get("idempotency_key"),
            )
            release_hold(graph._core.truth, self._held)
        for warning in work.warnings():
            _log.warning("%s", warning)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Let cleanups go on: nothing refers to the staged files, and they remove them."""
        with attach_details():
            release_hold(self._opened(self._told, False)._core.truth, self._held)

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        """Say, in a task that takes long, that the write goes on."""
        over = threading.Event()

        def renew() -> None:
            seconds = _RENEWAL_SECONDS
            while not over.wait(seconds):
                with suppress(OmniError, OSError):
                    graph = self._opened(self._told, False)
                    graph._core.truth.tags.renew(self._held)
                    seconds = min(_RENEWAL_SECONDS, graph.settings.write_hold_seconds / 4)

        keeper = threading.Thread(target=renew, daemon=True, name="omnigraph-hold")
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()


@dataclass(frozen=True)
class WrittenTasks(Executor):
    """Tasks that have run already."""

    said: pa.Table
    key: int
    schema: str
    """The schema by which the rows were checked."""
    version: str = ""
    """The path of the version of the table that patches were completed from."""
    can_read_again = False

    def read(self, order: ReadOrder, base: WriteBase) -> ReadSource:
        if not same_schema(base.state.head.schema, self.schema):
            raise Conflict("the schema was changed while rows were written: write the data frame again")
        outcomes, hashes = decode(self.said)
        keys = KeysInMemory(hashes, self.key)
        read = collect(order, outcomes, first_places((), outcomes), keys, None)
        if order.mode == "patch" and any(base.rely_on(key).pin.path != self.version for key in read.tables):
            raise Conflict("the table was changed while its rows were patched: write the data frame again")
        return read


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


def mode_of(told: Mapping[str, str], overwrite: bool) -> Mode:
    """Return how rows are loaded: by the option `mode`, or by Spark's save mode."""
    given: Any = told.get("mode", "overwrite" if overwrite else "append")
    if given not in get_args(Mode) or (overwrite and given != "overwrite"):
        raise BadInput(
            f"the option mode is {given!r}: use append, merge, patch or overwrite, "
            "with Spark's mode('append')",
            mode=given,
        )
    return cast(Mode, given)
