"""The writer of UPDATE, MERGE INTO and DELETE: tasks stage rows, the last process publishes one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.base import clock
from omnigraph.execution.lineage.follow import LoadFacts, follow_load
from omnigraph.execution.load.sources.table_source import OneType, rows_of_partition, to_arrow_stream
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.changes.diff import diff
from omnigraph.graph.changes.model import ChangeFilter
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.write.base_hold import release_hold
from omnigraph.graph.write.integrity.problems import SHOWN_PROBLEMS
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.holds import hold_commits, renew_holds
from omnigraph.pipeline.jobs.written_tasks import WrittenTasks
from omnigraph.pipeline.options import read_strings
from omnigraph.pipeline.sql.places import find_type, open_graph_of
from omnigraph.pipeline.sql.row_changes import ChangedRowsWork
from omnigraph.pipeline.workers.read import ReadTask

_DELETED, _UPDATED = 0, 1


@dataclass
class ChangesMessage(WriterCommitMessage):  # type: ignore[misc]
    """The outcome of a task: what a load's task says of its rows, and ids."""

    stream: bytes
    updated: list[str]
    removed: list[str]


class ChangesWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes rows with what is to become of them, as one commit."""

    def __init__(self, told: Mapping[str, str]) -> None:
        self._told = dict(told)
        graph = self._open()
        graph.internals.check_allowed("change", graph.branch)
        state = graph.internals.read_state()
        snapshot = graph.snapshot(commit=told["read_commit"])
        table = find_type(snapshot, told["table"])
        self._table_key, self._has_key = table.table_key, bool(table.key)
        self._schema, self._staged_behind = state.head.schema, state.head.fence
        self._shape, self._began = OneType(table.name, {}), clock.current().now_us()
        self._held = hold_commits(graph, snapshot.record, state.head)
        base = WriteBase(graph.internals.core.truth.store, state)
        key = int.from_bytes(clock.current().random_bytes(8), "big")
        vectors = MissingVectors(graph.embedder)
        self._task = ReadTask(
            graph.catalog_at(self._schema), (), base.view_pinned(), key, SHOWN_PROBLEMS, vectors=vectors
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Check the new rows of a partition and stage them."""
        from pyspark import TaskContext

        updated: list[str] = []
        removed: list[str] = []
        number = TaskContext.get().partitionId()
        with attach_details(), renew_holds(self._open, self._held):
            rows = self._rows(iterator, updated, removed)
            said = pa.Table.from_batches(self._task.read(number, rows_of_partition(self._shape, rows)))
        return ChangesMessage(to_arrow_stream(said), updated, removed)

    def _rows(
        self, batches: Iterator[pa.RecordBatch], updated: list[str], removed: list[str]
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            what, ids = batch.column("__op"), batch.column("__id")
            removed += ids.filter(pc.equal(what, _DELETED)).to_pylist()
            updated += ids.filter(pc.equal(what, _UPDATED)).to_pylist()
            rows = batch.filter(pc.not_equal(what, _DELETED))
            if rows.num_rows:
                given = rows.column("__id")
                kept = [name for name in rows.schema.names if name not in ("__op", "__id")]
                columns = {name: rows.column(name) for name in kept}
                yield pa.record_batch(columns if self._has_key else {"id": given, **columns})

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Check the rules between the rows of all partitions, and publish them."""
        said = [cast(ChangesMessage, message) for message in messages if message is not None]
        updated = frozenset(id_ for message in said for id_ in message.updated)
        removed = frozenset(id_ for message in said for id_ in message.removed)
        with attach_details():
            graph = self._open()
            try:
                if said:
                    self._publish(graph, said, updated, removed)
            finally:
                self._let_go(graph)

    def _publish(
        self, graph: Graph, said: Sequence[ChangesMessage], updated: frozenset[str], removed: frozenset[str]
    ) -> None:
        command = self._told["command"].lower()
        outcomes = pa.concat_tables([pa.ipc.open_stream(message.stream).read_all() for message in said])
        work = ChangedRowsWork(
            WrittenTasks(outcomes, self._task.key, self._schema),
            rows_of_partition(self._shape, ()),
            self._table_key,
            updated,
            removed,
            lambda head: self._find_changed_since(graph, head),
            graph.catalog_at,
            command,
        )
        facts = LoadFacts(graph, "spark", (self._shape.table,), list, began=self._began, verb=command)
        with follow_load(facts) as followed:
            published = graph.commit_work(
                work,
                message=self._told.get("message"),
                metadata=read_strings(self._told, "metadata"),
                durable=True,
                staged_behind=self._staged_behind,
                idempotency_key=self._told.get("idempotency_key"),
            )
            if followed is not None:
                followed.tell(published, work.answer(), {})

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Let cleanups go on: nothing refers to the staged files, and they remove them."""
        with attach_details():
            self._let_go(self._open())

    def _let_go(self, graph: Graph) -> None:
        for name in self._held:
            release_hold(graph.internals.core.truth, name)

    def _find_changed_since(self, graph: Graph, head: CommitRecord) -> Iterator[str]:
        """Yield the ids of the type's rows that the head has otherwise than the commit that was read."""
        read = graph.snapshot(commit=self._told["read_commit"]).record
        before, after = read.by_key().get(self._table_key), head.by_key().get(self._table_key)
        if before is None or after is None or before.pin == after.pin:
            return
        kind, _, name = self._table_key.partition(":")
        only = ChangeFilter.of([kind], [name], None)
        for change in diff(graph.internals.core, read, head, only, images=False):
            yield change.id

    def _open(self) -> Graph:
        return open_graph_of(self._told, False, self._told["branch"])
