"""Rows of a large table that are found through its indexes, while reading whole columns is not worth it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.execution.local.frame import Positions
from omnigraph.storage.filters import Filter, OneOf
from omnigraph.storage.finding import ROW_ADDRESS, ROW_ID, find_rows, indexed_columns, read_rows
from omnigraph.storage.indexes import IndexKind
from omnigraph.storage.search import DISTANCE, nearest
from omnigraph.storage.tables import Fragment, Table

LARGE = 100_000
"""A table with fewer rows is read: that takes milliseconds, and every query after it is quicker."""
FEW = 256
"""Values that are looked for through an index at once, and rows that are read one by one."""
_TIES = 16
"""Rows beyond those asked for, among which ties are told apart by id."""
_ENOUGH = 16
"""Times that an index is used before a column is worth reading."""


class StoredRows:
    """What was found through the indexes of one version of one table."""

    def __init__(self, table: Table, fragments: tuple[Fragment, ...]) -> None:
        self._table = table
        self._rows = sum(fragment.rows for fragment in fragments)
        starts = np.cumsum([0, *(fragment.rows for fragment in fragments)])
        numbers = [fragment.number for fragment in fragments]
        self._starts = np.zeros(max(numbers, default=0) + 1, dtype=np.int64)
        self._starts[numbers] = starts[:-1]
        self._row_ids: dict[int, int] = {}
        self._used = 0

    def can_find(self, column: str, values: int = 1) -> bool:
        """Say whether to look for some values of a column through an index, rather than read the column."""
        return values <= FEW and self._is_worth_it() and column in self._indexed

    def find(self, filter: Filter, *columns: str) -> tuple[Positions, pa.Table]:
        """Return the positions of the rows that pass a filter, and those rows with some columns."""
        self._used += 1
        found = find_rows(self._table, filter, columns)
        return self._known(found), found

    def find_values(self, column: str, values: pa.Array, *more: str) -> tuple[Positions, pa.Table]:
        """Return the positions of the rows with some values, and those rows with further columns."""
        return self.find(OneOf(column, pc.unique(values)), column, *more)

    def can_search(self, column: str) -> bool:
        """Say whether to look for the nearest vectors through an index, rather than measure all."""
        return self._rows >= LARGE and column in self._searchable

    def nearest(
        self, column: str, vector: tuple[float, ...], count: int, among: Positions | None
    ) -> Positions | None:
        """Return about the nearest rows, perhaps only among some; None when all must be measured."""
        allowed = None if among is None else self._all_row_ids[among]
        found = nearest(self._table, column, vector, count + _TIES, allowed=allowed)
        wanted = min(count, self._rows if among is None else len(among))
        if found is None or found.num_rows < max(wanted, 1):
            return None
        # The index does not know the zero vector, whose distance to everything is one.
        return None if pc.max(found[DISTANCE]).as_py() >= 1 else self._known(found)

    def has(self, positions: Positions) -> bool:
        """Say whether rows were found here, and are few enough to be read one by one."""
        return len(positions) <= FEW and all(at in self._row_ids for at in positions.tolist())

    def read(self, column: str, positions: Positions) -> pa.Array:
        """Return a column of rows that were found here."""
        row_ids = np.array([self._row_ids[at] for at in positions.tolist()], dtype=np.int64)
        return read_rows(self._table, row_ids, column)

    def _is_worth_it(self) -> bool:
        return self._rows >= LARGE and self._used < _ENOUGH

    def _known(self, found: pa.Table) -> Positions:
        """Return the positions of rows, and remember how to read more of them."""
        positions = self._positions(found)
        self._row_ids.update(zip(positions.tolist(), found[ROW_ID].to_pylist(), strict=True))
        return positions

    def _positions(self, found: pa.Table) -> Positions:
        addresses = np.asarray(found[ROW_ADDRESS].to_numpy(), dtype=np.uint64)
        fragments = (addresses >> np.uint64(32)).astype(np.int64)
        return self._starts[fragments] + addresses.astype(np.uint32).astype(np.int64)

    @cached_property
    def _all_row_ids(self) -> npt.NDArray[np.uint64]:
        found = find_rows(self._table, None, [])
        row_ids = np.zeros(self._rows, dtype=np.uint64)
        row_ids[self._positions(found)] = found[ROW_ID].to_numpy()
        return row_ids

    @cached_property
    def _indexed(self) -> frozenset[str]:
        return indexed_columns(self._table, IndexKind.BTREE)

    @cached_property
    def _searchable(self) -> frozenset[str]:
        return indexed_columns(self._table, IndexKind.VECTOR)
