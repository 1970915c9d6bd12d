"""Small tables behind our namespaces, for tests that watch what Lance does with them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import lance
import pyarrow as pa
from lance.fragment import write_fragments

from omnigraph.storage.filters import ComparedColumn
from omnigraph.storage.namespace import Pin, PinnedTable, SnapshotNamespace, WriteAttempt
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.opening import open_dataset
from omnigraph.storage.tables.staging import create_table

TABLE = "t"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 4)),
    ]
)


def has(column: str, value: Any) -> ComparedColumn:
    """Return the filter for rows with a value."""
    return ComparedColumn(column, "=", pa.scalar(value))


def rows(first: int, end: int, add: int = 0) -> pa.Table:
    """Return rows `r<first>` to `r<end - 1>`; `n` is the row's number plus `add`."""
    numbers = range(first, end)
    return pa.table(
        {
            "id": [f"r{number}" for number in numbers],
            "n": [number + add for number in numbers],
            "text": [f"Running number {number}" for number in numbers],
            "vec": pa.array([[float(number)] * 4 for number in numbers], pa.list_(pa.float32(), 4)),
        },
        schema=SCHEMA,
    )


class Recording(WriteAttempt):
    """A write attempt that remembers what Lance asked of it."""

    def __init__(self, store: ObjectStore, pin: Pin | None) -> None:
        super().__init__(store, {TABLE: PinnedTable(TABLE, pin)})
        self.created: list[int] = []
        self.staging_names: list[str] = []

    def create_table_version(self, request: Any) -> Any:
        self.created.append(request["version"])
        self.staging_names.append(request["manifest_path"].rsplit("/", 1)[1])
        return super().create_table_version(request)

    @property
    def pin(self) -> Pin:
        """The newest staged version."""
        return self.staged_pins()[TABLE]

    def open(self) -> Any:
        """Open the newest version, as the product does."""
        return open_dataset(self, TABLE)


@dataclass(frozen=True)
class PinnedFolder:
    """A table's folder in a store, and its newest pin."""

    store: ObjectStore
    pin: Pin

    @staticmethod
    def create(store: ObjectStore, count: int = 0, schema: pa.Schema = SCHEMA) -> PinnedFolder:
        """Create a table and append `count` rows: version 1 is empty, version 2 has them."""
        attempt = Recording(store, None)
        create_table(attempt, TABLE, schema)
        if count:
            append(attempt.open(), rows(0, count))
        return PinnedFolder(store, attempt.pin)

    def attempt(self) -> Recording:
        """Begin to write on top of the pin."""
        return Recording(self.store, self.pin)

    def at(self, pin: Pin) -> PinnedFolder:
        """Return the same folder at another pin."""
        return PinnedFolder(self.store, pin)

    def snapshot(self) -> SnapshotNamespace:
        """Return a read-only view."""
        return SnapshotNamespace(
            self.store.root_uri, self.store.lance_options(), {TABLE: PinnedTable(TABLE, self.pin)}
        )

    def open(self) -> Any:
        """Open the pinned version for reading."""
        return open_dataset(self.snapshot(), TABLE)

    def ids(self) -> list[str]:
        """Return the stored ids, sorted."""
        return sorted(self.open().to_table(columns=["id"])["id"].to_pylist())

    def files(self, folder: str = "") -> list[str]:
        """Return the paths of all files in the table's folder, or in a folder of it."""
        return [info.path for info in self.store.list(f"{TABLE}/{folder}" if folder else TABLE)]


def append(dataset: Any, data: pa.Table) -> Any:
    """Write rows and commit them on top of an opened version."""
    return commit(dataset, lance.LanceOperation.Append(write_fragments(data, dataset)))


def commit(dataset: Any, operation: Any) -> Any:
    """Commit an operation on top of an opened version."""
    return lance.LanceDataset.commit(dataset, operation, read_version=dataset.version, max_retries=0)


def read_ids(namespace: SnapshotNamespace) -> list[str]:
    """Read a table through a namespace that came from another process."""
    return sorted(open_dataset(namespace, TABLE).to_table(columns=["id"])["id"].to_pylist())


def write_through(namespace: SnapshotNamespace, first: int, end: int) -> list[str]:
    """Stage fragments of a table that another process has pinned; return their metadata."""
    written = write_fragments(rows(first, end), open_dataset(namespace, TABLE))
    return [pickle.dumps(item).hex() for item in written]


def unpickled(staged: list[str]) -> list[Any]:
    """Return fragments that came from another process."""
    return [pickle.loads(bytes.fromhex(item)) for item in staged]


def run_task(namespace: SnapshotNamespace, task: bytes) -> bytes:
    """Carry out a compaction task that was planned in another process."""
    return pickle.dumps(pickle.loads(task).execute(open_dataset(namespace, TABLE)))


def build_segment(namespace: SnapshotNamespace, fragment: int) -> bytes:
    """Build the part of an index that covers one fragment, without committing it."""
    dataset = open_dataset(namespace, TABLE)
    return pickle.dumps(
        dataset.create_index_uncommitted("id", "BTREE", name="by_id", fragment_ids=[fragment])
    )
