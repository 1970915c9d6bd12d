"""The task of a load: read one split, check every record by itself, write the rows as data files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.find_rejected import NO_LIMIT
from omnigraph.execution.load.keys.key_hashes import hash_keys
from omnigraph.execution.load.keys.row_digest import CONTENT_COLUMN, pack_digests
from omnigraph.execution.load.sources.source import LoadSource, Split
from omnigraph.execution.load.sources.table_source import to_arrow_stream
from omnigraph.execution.load.stage.intake import key_columns
from omnigraph.execution.load.stage.patches import PatchedTables
from omnigraph.execution.load.stage.read_split import SplitTask
from omnigraph.execution.load.stage.sinks import FragmentSink
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.model.hashing import Hashes
from omnigraph.graph.write.integrity.blob_sources import BlobSources, allow_sources, said_sources
from omnigraph.pipeline.workers.modules import freeze_modules
from omnigraph.pipeline.workers.outcome import Runs, SplitOutcome, SplitTableOutcome, encode
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
    """The tables that data files are written for; None when the records are only checked."""
    key: int
    """The key of the hashes."""
    limit: int
    """How many problems of one split are reported; the rest are only counted."""
    _: KW_ONLY
    vectors: MissingVectors | None = None
    skip: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By split, the numbers of records that are left out and sent back."""
    patched: PatchedTables | None = None
    """What patches are completed from."""
    puts_aside: bool = False
    """Whether records that are wrong by themselves are left out and sent back, and the others written."""
    rows: Any = None
    """An accumulator of Spark that counts the rows for whoever watches."""
    folder: str | None = field(default_factory=own_folder)
    """The folder that relative paths start from: the program's, since a worker has its own."""
    blob_sources: BlobSources | None = field(default_factory=said_sources)
    """From where blobs may come; None where the environment of the worker says it."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the splits with these numbers."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.read(number, self.splits[number].source)

    def read(self, number: int, source: LoadSource) -> Iterator[pa.RecordBatch]:
        """Read one split and yield its outcome as rows of Spark."""
        pa.set_cpu_count(1)  # Spark runs as many tasks as there are cores
        outcome, hashes = SplitOutcome(number), {}
        try:
            with within(self.folder), allow_sources(self.blob_sources):
                task = self._run(source, self.skip.get(number, frozenset()), outcome)
                if self.puts_aside and task.problems.total:
                    outcome.aside = task.problems.list_first()
                    task = self._run(source, frozenset(place for place, _ in outcome.aside), outcome)
                outcome.cut, outcome.stale = frozenset(source.cut), frozenset(task.stale)
                hashes = _fill_outcome(outcome, task, self.key, self.namespace is not None)
        except OmniError as error:
            if error.retryable:
                raise
            outcome = SplitOutcome(number, error=error)
        if self.rows is not None:
            self.rows.add(outcome.records)
        yield from encode(outcome, hashes)

    def _run(self, source: LoadSource, skip: frozenset[int], outcome: SplitOutcome) -> SplitTask:
        sinks, patched = self._sink_of(), self.patched
        limit = NO_LIMIT if self.puts_aside else self.limit
        task = SplitTask(source, self.catalog, sinks, self.vectors, limit, patched=patched)
        task.run(skip, lambda place, record: outcome.skipped.append((place, record)))
        return task

    def _sink_of(self) -> Callable[[TableType], FragmentSink] | None:
        namespace = self.namespace
        if namespace is None:
            return None
        return lambda table: FragmentSink(StagedTable(namespace, table.table_key))


@dataclass(frozen=True)
class FrameTask:
    """The same for a Spark data frame, whose partitions carry the rows."""

    read: ReadTask
    of_partition: Callable[[Iterable[pa.RecordBatch]], LoadSource]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the partition that consists of these batches."""
        from pyspark import TaskContext

        yield from self.read.read(TaskContext.get().partitionId(), self.of_partition(batches))


def _fill_outcome(outcome: SplitOutcome, task: SplitTask, key: int, writes: bool) -> dict[str, Hashes]:
    """Fill in the outcome of a task that has run, and return the hashes of the keys."""
    outcome.records, outcome.occurring = task.records, frozenset(task.occurring)
    outcome.problems, outcome.total = task.problems.list_first(), task.problems.total
    is_written = writes and not task.problems.total
    hashes: dict[str, Hashes] = {}
    for name, intake in task.intakes.items():
        keys = intake.keys()
        mask = keys["_explicit"].combine_chunks()
        given = np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool)
        outcome.tables[name] = SplitTableOutcome(
            rows=keys.num_rows,
            staged=(is_written and task.sinks[name].collect_fragments()) or _NOTHING,
            places=Runs.of(keys["_place"].combine_chunks().to_numpy()),
            explicit=np.packbits(given) if given.any() else None,
            keys=None if is_written else to_arrow_stream(keys.select(key_columns(intake.table))),
            contents=pack_digests(keys[CONTENT_COLUMN]) if intake.distinct else None,
        )
        if is_written:
            try:
                hashes |= hash_keys(intake.table, keys, mask, key)
            except OmniError:
                outcome.doubtful = True
    return hashes


freeze_modules()
