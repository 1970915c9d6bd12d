"""What set-level rules ask about stored rows; answered by scans that follow the size of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.graph.write.base import WriteBase

_PUSHED_DOWN = 2_000
"""More values than this are looked up by reading the whole column, which is then cheaper than a filter."""


_REMEMBERED = 1_000
"""Up to so many ids, storage may know the answer from the ids of small files that it has seen."""


class Stored(Protocol):
    """The stored rows of a branch. Every table that is asked about becomes one that the commit relies on."""

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return those of the ids that the table holds."""

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of the rows whose `column` has one of the values."""

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of all rows."""


class StoredRows:
    """`Stored` over the tables of a write's base."""

    def __init__(self, base: WriteBase) -> None:
        self._base = base

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return those of the ids that the table holds."""
        if len(ids) <= _REMEMBERED and self._base.rely_on(table_key).rows:
            return pa.array(sorted(self._base.table(table_key).stored_ids(ids)), pa.string())
        found: pa.Array = self.rows_where(table_key, "id", ids, ("id",))["id"].combine_chunks()
        return found

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of the rows whose `column` has one of the values."""
        if self._base.rely_on(table_key).rows == 0 or len(values) == 0:
            return self._base.table(table_key).schema_of(columns).empty_table()
        wanted = pc.unique(values)
        if len(wanted) <= _PUSHED_DOWN and _can_be_pushed_down(wanted.type):
            return self._base.table(table_key).scan(columns, pc.field(column).isin(wanted))
        read = list(dict.fromkeys((*columns, column)))
        rows = self.all_rows(table_key, read)
        return rows.filter(pc.is_in(_one_zero(rows[column]), _one_zero(wanted))).select(list(columns))

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of all rows."""
        return self._base.table(table_key).scan(columns)


def _one_zero(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return values in which both zeros of a float are one, as they are to a filter."""
    return pc.add(values, pa.scalar(0, values.type)) if pa.types.is_floating(values.type) else values


def _can_be_pushed_down(type_: pa.DataType) -> bool:
    """Say whether Lance takes a list of such values in a filter; it refuses these kinds."""
    return not (pa.types.is_unsigned_integer(type_) or type_ == pa.date64())
