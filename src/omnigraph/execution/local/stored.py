"""Rows of a large table that are found through its indexes, while reading whole columns is not worth it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.execution.local.frame import Positions
from omnigraph.storage.finding import ROW_ADDRESS, ROW_ID, find_rows, indexed_columns, read_rows
from omnigraph.storage.tables import Fragment, Table

LARGE = 100_000
"""A table with fewer rows is read: that takes milliseconds, and every query after it is quicker."""
FEW = 256
"""Values that are looked for through an index at once."""
_ENOUGH = 16
"""Look-ups through an index after which a column is worth reading."""


class StoredRows:
    """What was found through the indexes of one version of one table."""

    def __init__(self, table: Table, fragments: tuple[Fragment, ...]) -> None:
        self._table = table
        self._rows = sum(fragment.rows for fragment in fragments)
        starts = np.cumsum([0, *(fragment.rows for fragment in fragments)])
        self._starts = {fragment.number: int(at) for fragment, at in zip(fragments, starts, strict=False)}
        self._row_ids: dict[int, int] = {}
        self._used = 0

    def can_find(self, column: str, values: int = 1) -> bool:
        """Say whether to look for some values of a column through an index, rather than read the column."""
        few = self._rows >= LARGE and values <= FEW and self._used < _ENOUGH
        return few and column in self._indexed

    def find(self, column: str, values: pa.Array, *more: str) -> tuple[Positions, pa.Table]:
        """Return the positions of the rows with some values, and those rows with further columns."""
        self._used += 1
        found = find_rows(self._table, column, pc.unique(values), [column, *more])
        addresses = np.asarray(found[ROW_ADDRESS].to_numpy(), dtype=np.uint64)
        fragments = (addresses >> np.uint64(32)).astype(np.int64)
        offsets = addresses.astype(np.uint32).astype(np.int64)
        starts = np.array([self._starts[int(number)] for number in fragments], dtype=np.int64)
        positions = starts + offsets
        self._row_ids.update(zip(positions.tolist(), found[ROW_ID].to_pylist(), strict=True))
        return positions, found

    def has(self, positions: Positions) -> bool:
        """Say whether rows were found here, and are few enough to be read one by one."""
        return 0 < len(positions) <= FEW and all(at in self._row_ids for at in positions.tolist())

    def read(self, column: str, positions: Positions) -> pa.Array:
        """Return a column of rows that were found here."""
        row_ids = np.array([self._row_ids[at] for at in positions.tolist()], dtype=np.int64)
        return read_rows(self._table, row_ids, column)

    @cached_property
    def _indexed(self) -> frozenset[str]:
        return indexed_columns(self._table)
