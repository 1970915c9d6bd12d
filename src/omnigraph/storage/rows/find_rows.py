"""Finding a few rows of a large table through an index, and reading only those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.base import telemetry
from omnigraph.storage.filters import Filter, OneOf, read_filtered
from omnigraph.storage.indexes.indexes import IndexKind, list_indexes
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.tables.columns import LAST_CHANGED
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


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of one table version, and the version of the table in which it was written or changed last."""

    number: int
    last_changed: int


def find_by_id(table: Table, id_: str) -> FoundRow | None:
    """Return the row with an id; None when a version does not hold it."""
    telemetry.count("tables.finds")
    wanted = OneOf("id", pa.array([id_], pa.string()))
    with translate_errors("looking for a row", reading=True):
        found = read_filtered(table.dataset, ["id", LAST_CHANGED], wanted, with_row_id=True)
    if not found.num_rows:
        return None
    return FoundRow(found[ROW_ID][0].as_py(), found[LAST_CHANGED][0].as_py())


def find_equal(table: Table, column: str, value: str) -> npt.NDArray[np.uint64]:
    """Return the numbers of the rows that have a value in a column of strings."""
    telemetry.count("tables.finds")
    wanted = OneOf(column, pa.array([value], pa.string()))
    with translate_errors("looking for rows", reading=True):
        found = read_filtered(table.dataset, ["id"], wanted, with_row_id=True)
    numbers: npt.NDArray[np.uint64] = found[ROW_ID].to_numpy()
    return numbers
