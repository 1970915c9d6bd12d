"""What a worker does to optimize a table: one step, on a version that does not change meanwhile."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.storage.indexes import indexes
from omnigraph.storage.indexes.indexes import IndexChanges
from omnigraph.storage.namespace import PinnedTable, SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables import maintenance_parts as care_parts
from omnigraph.storage.tables.maintenance_parts import PlannedIndex
from omnigraph.storage.tables.opening import open_dataset

OUTCOME_FIELDS = "number int, outcome binary"


class Step(Protocol):
    """Work that can be sent to a worker and safely repeated."""

    def run(self) -> Any:
        """Run the step; the result can be pickled."""


@dataclass(frozen=True)
class AttemptTable:
    """A table in a write attempt."""

    namespace: SnapshotNamespace
    key: str

    def open(self) -> Any:
        """Open the table, for this step alone."""
        return open_dataset(self.namespace, self.key)


@dataclass(frozen=True)
class JoinFragments:
    """Write some fragments as one."""

    at: AttemptTable
    task: Any
    """Lance's compaction task."""

    def run(self) -> Any:
        """Return Lance's result of the rewrite."""
        return care_parts.join_fragments(self.at.open(), self.task)


@dataclass(frozen=True)
class CountVectors:
    """Count the vectors of some fragments."""

    at: AttemptTable
    column: str
    fragments: Sequence[int]

    def run(self) -> int:
        """Return the number of vectors."""
        return indexes.count_vectors(self.at.open(), self.column, self.fragments)


@dataclass(frozen=True)
class TrainVectors:
    """Train the centroids of a vector index on a sample of all rows."""

    at: AttemptTable
    index: PlannedIndex

    def run(self) -> pa.Array:
        """Return the centroids."""
        assert self.index.partitions is not None
        return care_parts.train(self.at.open(), self.index.column, self.index.partitions)


@dataclass(frozen=True)
class BuildPart:
    """Build the part of an index that covers some fragments."""

    at: AttemptTable
    index: PlannedIndex
    fragments: Sequence[int]

    def run(self) -> Any:
        """Return Lance's metadata of it."""
        return care_parts.build_part(self.at.open(), self.index, self.fragments)


@dataclass(frozen=True)
class JoinParts:
    """Join the parts of an index."""

    at: AttemptTable
    parts: Sequence[Any]

    def run(self) -> Any:
        """Return Lance's metadata of the whole."""
        return care_parts.join_parts(self.at.open(), self.parts)


@dataclass(frozen=True)
class FoldIndex:
    """Add new rows to one index."""

    store: ObjectStore
    pinned: PinnedTable
    key: str
    name: str

    def run(self) -> IndexChanges:
        """Return the changes of the index."""
        return care_parts.fold_apart(self.store, self.pinned, self.key, [self.name])


@dataclass(frozen=True)
class MaintenanceTask:
    """Sent to the workers, and called there with the numbers of steps."""

    steps: Sequence[Step]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the steps with these numbers; an error that a retry would not change is an outcome."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch(
                    [pa.array([number], pa.int32()), pa.array([pickle.dumps(self._outcome(number))])],
                    names=["number", "outcome"],
                )

    def _outcome(self, number: int) -> Any:
        try:
            return self.steps[number].run()
        except OmniError as error:
            if error.retryable:
                raise
            return error
