"""Hashes as rows of Spark: those that tasks have sent back, and those of stored rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.keys.key_hashes import hash_pairs
from omnigraph.graph.model.hashing import Hashes
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables.table import Table

HASH_FIELDS = "hash long"
PAIR_FIELDS = "id long, hash long"


def unpack_hashes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row for every hash in the payloads."""
    for batch in batches:
        for payload in batch.column("payload"):
            yield pa.record_batch([_numbers(np.frombuffer(payload.as_buffer(), np.uint64))], names=["hash"])


@dataclass(frozen=True)
class StoredTask:
    """Reads hashes of a stored table: of each row's id, and of a group of its columns."""

    namespace: SnapshotNamespace
    table: TableType
    group: Sequence[str]
    key: int
    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts of the table with these numbers."""
        name = self.table.table_key
        table = Table(self.namespace, name)
        for batch in batches:
            for part in batch.column(0).to_pylist():
                for rows in table.part(["id", *self.group], part, self.parts):
                    pair = hash_pairs(self.table, pa.Table.from_batches([rows]), self.group, self.key)
                    yield pa.record_batch([_numbers(hashes) for hashes in pair], names=["id", "hash"])


def _numbers(hashes: Hashes) -> pa.Array:
    """Return hashes as signed integers, since Spark has no unsigned ones."""
    return pa.array(hashes.view(np.int64))
