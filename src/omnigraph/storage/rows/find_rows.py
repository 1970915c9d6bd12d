"""Finding a few rows of a large table through an index, and reading only those."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.base import telemetry
from omnigraph.storage.filters import Filter, read_filtered
from omnigraph.storage.indexes.indexes import IndexKind, list_indexes
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.tables.table import Table

ROW_ID, ROW_ADDRESS = "_rowid", "_rowaddr"


def list_indexed_columns(table: Table, kind: IndexKind) -> frozenset[str]:
    """Return the columns that have an index of a kind."""
    return frozenset(item.column for item in list_indexes(table.dataset) if item.kind is kind)


def find_rows(table: Table, filter: Filter | None, columns: Sequence[str]) -> pa.Table:
    """Return the rows that pass a filter: the columns, `_rowid` and `_rowaddr`."""
    telemetry.count("tables.finds")
    with translate_errors("looking for rows", reading=True):
        return read_filtered(table.dataset, columns, filter, with_row_id=True, with_row_address=True)


def read_rows(table: Table, row_ids: npt.NDArray[np.int64], column: str) -> pa.Array:
    """Return a column of the rows with these row ids, in their order."""
    return read_rows_of(table, row_ids, [column])[column].combine_chunks()


def read_rows_of(table: Table, row_ids: npt.NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
    """Return some columns of the rows with these row ids, in their order."""
    telemetry.count("tables.takes")
    with translate_errors(f"reading rows of {', '.join(columns[:3])}", reading=True):
        return table.dataset._take_rows(row_ids.tolist(), columns=list(columns))
