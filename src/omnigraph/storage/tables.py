"""Reading one version of one table, and a cache of opened versions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lance
import pyarrow as pa

from omnigraph.base import telemetry
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.namespace import SnapshotNamespace


@dataclass(frozen=True, slots=True)
class TableState:
    """How large a table version is."""

    rows: int
    fragments: int


def open_dataset(namespace: SnapshotNamespace, table_id: str) -> Any:
    """Open a table through a namespace, with a Lance session of its own.

    Lance caches index metadata by (address, version), and two lineages both have a version 17, so a
    session must never be shared between lineages.
    """
    telemetry.count("tables.open")
    with translated(f"opening table {table_id}", reading=True):
        return lance.dataset(namespace_client=namespace, table_id=[table_id])


class Table:
    """One version of one table, open for reading; safe to use from several threads."""

    def __init__(self, dataset: Any, name: str) -> None:
        self._dataset = dataset
        self._name = name

    @property
    def schema(self) -> pa.Schema:
        """The table's Arrow schema."""
        return self._dataset.schema

    @property
    def dataset(self) -> Any:
        """The Lance dataset under this table, for other parts of storage."""
        return self._dataset

    def count(self) -> int:
        """Return the number of rows."""
        return int(self._dataset.count_rows())

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: pa.compute.Expression | None = None,
    ) -> pa.Table:
        """Return the rows that pass the filter, with the given columns."""
        with translated(f"scanning table {self._name}", reading=True):
            return self._dataset.to_table(columns=list(columns) if columns else None, filter=filter)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        filter: pa.compute.Expression | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that pass the filter, batch by batch."""
        with translated(f"scanning table {self._name}", reading=True):
            yield from self._dataset.to_batches(columns=list(columns) if columns else None, filter=filter)


class TableCache:
    """Opened table versions by the path of their pin, which is unique; the least recently used go first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, namespace: SnapshotNamespace, table_id: str) -> Table:
        """Return the table as this namespace pins it, opening it when nobody has yet."""
        key = namespace.pin_path(table_id)
        with self._lock:
            found = self._tables.get(key)
            if found is not None:
                self._tables.move_to_end(key)
                return found
        opened = Table(open_dataset(namespace, table_id), table_id)
        with self._lock:
            self._tables[key] = opened
            while len(self._tables) > self._capacity:
                self._tables.popitem(last=False)
        return opened

    def clear(self) -> None:
        """Close all."""
        with self._lock:
            self._tables.clear()
