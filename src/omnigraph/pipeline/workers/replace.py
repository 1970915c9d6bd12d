"""The tasks of a merge: read ids of stored and staged rows to be joined, and mark rows as deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.storage.namespace import PinnedTable, SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.opening import open_dataset
from omnigraph.storage.tables.row_addresses import delete_at, ids_with_addresses
from omnigraph.storage.tables.staging import StagedFragments
from omnigraph.storage.tables.unpublished_rows import UnpublishedRows

STORED_FIELDS = "id string, fragment int, address long"
LOADED_FIELDS = "id string"
DELETED_FIELDS = "fragment int, metadata string"

_IDS = pa.schema([pa.field("id", pa.string(), nullable=False)])
_ANSWER = pa.schema([("fragment", pa.int32()), ("metadata", pa.string())])


@dataclass(frozen=True)
class StoredIds:
    """Reads the ids and row addresses of some fragments of a table."""

    namespace: SnapshotNamespace
    key: str
    parts: Sequence[Sequence[int]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts with these numbers."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                dataset = open_dataset(self.namespace, self.key)
                for columns in ids_with_addresses(dataset, self.parts[number]):
                    yield pa.record_batch(list(columns), names=["id", "fragment", "address"])


@dataclass(frozen=True)
class LoadedIds:
    """Reads the ids of rows that are staged and belong to no version."""

    store: ObjectStore
    pinned: PinnedTable
    parts: Sequence[StagedFragments]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts with these numbers."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from UnpublishedRows(self.store, self.pinned, self.parts[number]).batches(_IDS)


@dataclass(frozen=True)
class DeleteRows:
    """Marks rows of one fragment as deleted, in a file that no version names yet."""

    namespace: SnapshotNamespace
    key: str

    def of_fragment(self, rows: pa.Table) -> pa.Table:
        """Delete the rows with these addresses; return the new fragment, or nothing when no row is left."""
        fragment = rows["fragment"][0].as_py()
        left = delete_at(open_dataset(self.namespace, self.key), fragment, rows["address"])
        return pa.table({"fragment": [fragment], "metadata": [left]}, schema=_ANSWER)
