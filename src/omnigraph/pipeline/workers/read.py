"""The task of a load: read one split, check every record by itself, write the rows as data files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.keys.key_hashes import hashed_keys
from omnigraph.execution.load.keys.located_problems import PlacedProblems
from omnigraph.execution.load.keys.row_digest import CONTENT, packed
from omnigraph.execution.load.sources.source import Source, Split
from omnigraph.execution.load.stage.intake import TableIntake, key_columns, nothing_pending
from omnigraph.execution.load.stage.read_source import Reading
from omnigraph.execution.load.stage.sinks import FragmentSink
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.model.hashing import Hashes
from omnigraph.pipeline.workers.outcome import Runs, SplitOutcome, TableOutcome, encode
from omnigraph.storage.files.inputs import own_folder, within
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables.staging import StagedFragments, StagedTable

_NOTHING = StagedFragments((), 0)


@dataclass(frozen=True)
class ReadTask:
    """What to do with the splits of a source; sent to the workers and called there with split numbers."""

    catalog: Catalog
    splits: Sequence[Split]
    namespace: SnapshotNamespace | None
    """The tables that data files are written for; None when the records are only looked at."""
    key: int
    """Of the hashes."""
    limit: int
    """Problems of one split that are told; the others are counted."""
    vectors: MissingVectors | None = None
    skip: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By split, the places of records that are left out and sent back."""
    folder: str | None = field(default_factory=own_folder)
    """That relative paths begin at: the program's, where a worker has one of its own."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the splits with these numbers."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.read(number, self.splits[number].source)

    def read(self, number: int, source: Source) -> Iterator[pa.RecordBatch]:
        """Read one split and yield what is to be told about it."""
        pa.set_cpu_count(1)  # Spark runs as many tasks as there are cores
        outcome, hashes = SplitOutcome(number), {}
        try:
            with within(self.folder):
                hashes = _SplitReading(self, source, outcome).run()
        except OmniError as error:
            if error.retryable:
                raise
            outcome = SplitOutcome(number, error=error)
        yield from encode(outcome, hashes)


@dataclass(frozen=True)
class FrameTask:
    """The same for a Spark data frame, whose partitions bring their rows along."""

    read: ReadTask
    of_partition: Callable[[Iterable[pa.RecordBatch]], Source]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the partition that these batches are."""
        from pyspark import TaskContext

        yield from self.read.read(TaskContext.get().partitionId(), self.of_partition(batches))


class _SplitReading:
    """One split on its way through readers, rules and sinks: those of a load in process."""

    def __init__(self, task: ReadTask, source: Source, outcome: SplitOutcome) -> None:
        self._task, self._source, self._outcome = task, source, outcome
        self._problems = PlacedProblems(task.limit)
        self._intakes: dict[str, TableIntake] = {}
        self._sinks: dict[str, FragmentSink] = {}

    def run(self) -> dict[str, Hashes]:
        """Read everything, fill in the outcome and return the hashes of the keys."""
        outcome = self._outcome
        skip = self._task.skip.get(outcome.split, frozenset())
        reading = Reading(self._source, self._task.catalog, self._intake, self._problems.add)
        outcome.records = reading.run(skip, lambda place, record: outcome.skipped.append((place, record)))
        for intake in self._intakes.values():
            intake.flush()
        outcome.problems, outcome.total = self._problems.found(), self._problems.total
        hashes: dict[str, Hashes] = {}
        for key, intake in self._intakes.items():
            hashes |= self._finish(key, intake)
        return hashes

    def _intake(self, table: TableType) -> TableIntake:
        found = self._intakes.get(table.table_key)
        if found is None:
            vectors = self._task.vectors
            found = TableIntake(
                table,
                self._sink(table),
                self._problems.add,
                self._source.locate,
                vectors.pending if vectors else nothing_pending,
                distinct=self._source.is_distinct(table.name),
            )
            self._intakes[table.table_key] = found
        return found

    def _sink(self, table: TableType) -> Callable[[pa.Table], None]:
        namespace, vectors = self._task.namespace, self._task.vectors
        if namespace is None:
            return lambda rows: None
        sink = FragmentSink(StagedTable(namespace, table.table_key))
        self._sinks[table.table_key] = sink

        def write(rows: pa.Table) -> None:
            if not self._problems.total:
                for part in vectors.filled(table, rows) if vectors else (rows,):
                    sink(part)

        return write

    def _finish(self, key: str, intake: TableIntake) -> dict[str, Hashes]:
        keys = intake.keys()
        mask = keys["_explicit"].combine_chunks()
        given = np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool)
        writes = self._task.namespace is not None
        self._outcome.tables[key] = TableOutcome(
            rows=keys.num_rows,
            staged=self._sinks[key].staged() if writes and not self._problems.total else _NOTHING,
            places=Runs.of(keys["_place"].combine_chunks().to_numpy()),
            explicit=np.packbits(given) if given.any() else None,
            keys=None if writes else _stream(keys.select(key_columns(intake.table))),
            contents=packed(keys[CONTENT]) if intake.distinct else None,
        )
        if not writes or self._problems.total:
            return {}
        try:
            return hashed_keys(intake.table, keys, mask, self._task.key)
        except OmniError:
            self._outcome.doubtful = True
            return {}


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())
