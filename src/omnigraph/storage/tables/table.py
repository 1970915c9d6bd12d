"""Reading one version of one table, and a cache of such versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.base import telemetry
from omnigraph.base.lru import Lru
from omnigraph.storage import filters
from omnigraph.storage.filters import Filter
from omnigraph.storage.format.deletions import find_deleted, offsets_of
from omnigraph.storage.format.fragments import Fragment
from omnigraph.storage.indexes.indexes import TableIndex, list_indexes
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables.opening import find_version

_MAX_ROWS_TO_TAKE = 64
"""Up to so many rows of a fragment are taken by their places: no scan has to be planned."""


@dataclass(frozen=True, slots=True)
class TableState:
    """How large a table version is."""

    rows: int
    fragments: int


class Table:
    """One version of one table, for reading; safe to use from several threads."""

    def __init__(self, namespace: SnapshotNamespace, name: str) -> None:
        """Take the version that a namespace pins."""
        self._version = find_version(namespace, name)
        self._name = name
        self._read = namespace.folder(name).read

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's Arrow schema, which Lance makes anew for each who asks."""
        return self.dataset.schema

    @property
    def dataset(self) -> Any:
        """The Lance dataset under this table, for other parts of storage."""
        return self._version.dataset

    @cached_property
    def indexes(self) -> tuple[TableIndex, ...]:
        """The indexes of this version, by column and kind; asked for once, since a version never changes."""
        return list_indexes(self.dataset)

    def read_so_far(self) -> tuple[int, int]:
        """Return how many requests this version was read with since it was opened, and their bytes."""
        return self._version.read_so_far()

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.dataset.count_rows())

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the fragments in the order in which a scan reads them."""
        return self._version.fragments

    def column_id(self, name: str) -> int:
        """Return the number that a column keeps when it is renamed."""
        return self.column_ids[name]

    @property
    def column_ids(self) -> dict[str, int]:
        """The numbers of all columns, by their names."""
        return self._version.column_ids

    def stored_columns(self, names: Sequence[str], fragment: Fragment) -> list[pa.Array]:
        """Return columns of a fragment with a value for each stored row; any value where a row is deleted."""
        if (written := self._version.find_written(names, fragment)) is not None:
            return written
        telemetry.count("tables.columns")
        columns = list(names)
        with translate_errors(f"scanning table {self._name}", reading=True):
            part = self.dataset.get_fragment(fragment.number)
            if fragment.deletion is None:
                if fragment.rows <= _MAX_ROWS_TO_TAKE and not self._has_blob(columns):
                    found = part.take(list(range(fragment.rows)), columns=columns)
                else:
                    found = part.to_table(columns=columns)
                return [_whole(found[name]) for name in columns]
            found = part.scanner(columns=columns, with_row_address=True).to_table()
        places = np.full(fragment.rows, -1, dtype=np.int64)
        places[offsets_of(found)] = np.arange(found.num_rows)
        at = pa.array(places, mask=places < 0)
        return [_whole(found[name]).take(at) for name in columns]

    def _has_blob(self, columns: Sequence[str]) -> bool:
        # Lance takes no rows of columns whose values lie in other files (pinned in test_lance_surface).
        return any(isinstance(self.schema.field(name).type, pa.BaseExtensionType) for name in columns)

    def deleted_rows(self, fragment: Fragment) -> npt.NDArray[np.int64]:
        """Return the sorted places of the deleted rows of a fragment."""
        with translate_errors(f"scanning table {self._name}", reading=True):
            return find_deleted(lambda: self.dataset, fragment, self._read)

    def scan(self, columns: Sequence[str] | None = None, filter: Filter | None = None) -> pa.Table:
        """Return the rows that pass the filter, with the given columns."""
        with translate_errors(f"scanning table {self._name}", reading=True):
            return filters.read_filtered(self.dataset, columns or None, filter)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all rows, batch by batch."""
        with translate_errors(f"scanning table {self._name}", reading=True):
            yield from self.dataset.to_batches(columns=list(columns) if columns else None)

    def part(self, columns: Sequence[str], number: int, parts: int) -> Iterator[pa.RecordBatch]:
        """Yield one of several parts of the rows: all parts together are all rows, each once."""
        some = self.dataset.get_fragments()[number::parts]
        if some:
            with translate_errors(f"scanning table {self._name}", reading=True):
                yield from self.dataset.scanner(columns=list(columns), fragments=some).to_batches()


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class TableCache:
    """Opened table versions by the path of their pin, which is unique; the least recently used go first."""

    def __init__(self, capacity: int) -> None:
        self._tables: Lru[str, Table] = Lru(capacity)

    def get(self, namespace: SnapshotNamespace, table_id: str) -> Table:
        """Return the table as this namespace pins it, opening it when nobody has yet."""
        key = namespace.pin_path(table_id)
        found = self._tables.get(key)
        if found is None:
            found = Table(namespace, table_id)
            self._tables.put(key, found)
        return found

    def clear(self) -> None:
        """Close all."""
        self._tables.clear()
