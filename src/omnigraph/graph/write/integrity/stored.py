"""What set-level rules ask about stored rows; answered by scans that follow the size of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.filters import OneOf

_MAX_REMEMBERED_IDS = 1_000
"""Up to so many ids, storage may know the answer from the ids of small files that it has seen."""
_FEW_STORED_DIVISOR = 4
"""With so many times more ids than stored rows, the ids are searched for in what is stored."""


class StoredData(Protocol):
    """The stored rows of a branch. Every table that is asked about becomes one that the commit relies on."""

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return those of the ids that the table holds."""

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of the rows whose `column` has one of the values."""

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of all rows."""


class BranchRows:
    """`Stored` over the tables of a write's base."""

    def __init__(self, base: WriteBase) -> None:
        self._base = base

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return those of the ids that the table holds."""
        rows = self._base.rely_on(table_key).rows
        if len(ids) <= _MAX_REMEMBERED_IDS and rows:
            return pa.array(sorted(self._base.table(table_key).find_stored_ids(ids)), pa.string())
        if rows * _FEW_STORED_DIVISOR <= len(ids):
            known = self.all_rows(table_key, ("id",))["id"] if rows else pa.array([], pa.string())
            return pc.unique(ids.filter(pc.is_in(ids, known)))
        found: pa.Array = self.rows_where(table_key, "id", ids, ("id",))["id"].combine_chunks()
        return found

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of the rows whose `column` has one of the values."""
        if self._base.rely_on(table_key).rows == 0 or len(values) == 0:
            return self._base.table(table_key).schema_of(columns).empty_table()
        return self._base.table(table_key).scan(columns, OneOf(column, pc.unique(values)))

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of all rows."""
        return self._base.table(table_key).scan(columns)


class NothingStored:
    """`Stored` for tables that are looked at as a whole: all their rows are in the deltas already."""

    def __init__(self, deltas: Mapping[str, TableDelta]) -> None:
        self._deltas = deltas

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return none."""
        return ids.slice(0, 0)

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return none."""
        return self.all_rows(table_key, columns)

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return none."""
        return self._deltas[table_key].rows.slice(0, 0).select(list(columns))
