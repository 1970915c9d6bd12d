"""Rows of a large table that storage finds, as long as reading whole columns is not worth it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.cancellation import acquire_cancellable
from omnigraph.execution.local.frame import Positions
from omnigraph.execution.plan.access import MAX_LOOKUPS
from omnigraph.execution.search.text import Postings, TextIndex
from omnigraph.storage.filters import Filter, OneOf
from omnigraph.storage.format.fragments import Fragment
from omnigraph.storage.indexes.indexes import IndexKind
from omnigraph.storage.numbers import unite
from omnigraph.storage.rows.find_rows import (
    ROW_ADDRESS,
    ROW_ID,
    find_rows,
    list_indexed_columns,
    read_rows,
    read_rows_of,
)
from omnigraph.storage.rows.search import DISTANCE, nearest, rows_to_look_at
from omnigraph.storage.tables.table import Table

_DISTANCE_ROUNDING = 1e-5
"""An upper bound for the rounding of a distance in single precision."""
_LOOKUPS_BEFORE_READING = 16
"""Look-ups after which whole columns are worth reading; a scan counts for _LOOKUPS_PER_SCAN."""
_LOOKUPS_PER_SCAN = 4
_LOOKUPS_PER_SEARCH = 2
"""A search for a few ids without an index counts for so many: all of them would have to be hashed, too."""
_KEPT_ANSWERS = 8
"""The number of results that are kept with their columns."""
_MAX_KNOWN_ROWS = 1 << 20
"""The most rows whose row ids are kept to read more columns."""
_NO_ROWS = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64))


@dataclass(frozen=True)
class Found:
    """Rows that storage found, by ascending position, and some of their columns."""

    positions: Positions
    columns: pa.Table

    def places(self, positions: Positions) -> Positions | None:
        """Return the places of some rows here; None unless all are here."""
        return _find_places(self.positions, positions)


class StorageLookup:
    """Look-ups in storage for one version of one table.

    Threads share it: what is kept is replaced as a whole, never changed in place.
    """

    def __init__(
        self,
        table: Table,
        fragments: tuple[Fragment, ...],
        on_overused: Callable[[], None] = lambda: None,
        used: int = 0,
    ) -> None:
        """Take a table; `on_overused` is called once reading whole columns has become better.

        `used` are the look-ups in another version: who reads between writes reads on.
        """
        self._table = table
        self._on_overused = on_overused
        self._rows = sum(fragment.rows for fragment in fragments)
        self._fragments = fragments
        self._known = _NO_ROWS
        self._found: tuple[Found, ...] = ()
        self.used = used
        """How often storage was asked."""
        self._lock = threading.Lock()

    @property
    def is_overused(self) -> bool:
        """Whether there were so many look-ups that reading whole columns is better."""
        return self.used >= _LOOKUPS_BEFORE_READING

    def find(self, filter: Filter, columns: tuple[str, ...], indexed: bool) -> Positions:
        """Return the sorted positions of the rows that pass a filter, and keep some of their columns."""
        return self._keep(self._ask_storage(filter, columns, indexed)).positions

    def find_values(self, column: str, values: pa.Array, *more: str) -> tuple[Positions, pa.Table]:
        """Return the sorted positions of the rows with some values, and these columns of them."""
        self._count(1 if column in self.columns_with_index(IndexKind.BTREE) else _LOOKUPS_PER_SEARCH)
        found = self._keep(find_rows(self._table, OneOf(column, pc.unique(values)), (column, *more)))
        return found.positions, found.columns

    def find_words(self, column: str, text: str, columns: tuple[str, ...]) -> Positions | None:
        """Return the sorted positions of the rows that contain a word of a text; None without an index.

        A text index may be outdated: each row that it finds is checked.
        """
        found = rows_to_look_at(self._table, column, text, sorted({column, *columns}))
        if found is None:
            return None
        self._count(1)
        index = TextIndex([Postings.of(found[column].combine_chunks())], None)
        return self._keep(found.filter(pa.array(index.contains_word(text, 0)))).positions

    def nearest(
        self, column: str, vector: tuple[float, ...], count: int, among: Positions | None
    ) -> Positions | None:
        """Return approximately the nearest rows and those that tie with them, among all rows or some.

        None if all must be compared.
        """
        length = np.linalg.norm(vector)
        if length == 0:
            return None  # all vectors are equally far from the zero vector
        allowed = None if among is None else self._all_row_ids[among]
        asked = np.asarray(vector) / length
        # With their vectors: the ranking computes their distances again, in double precision.
        found = nearest(self._table, column, asked, count, allowed=allowed, columns=(column,))
        wanted = min(count, self._rows if among is None else len(among))
        if found is None or found.num_rows < max(wanted, 1):
            return None
        # The index does not hold zero vectors, whose distance to everything is 1.
        is_known = bool((found[DISTANCE].to_numpy() < 1 - _DISTANCE_ROUNDING).all())
        return self._keep(found).positions if is_known else None

    def find_column(self, column: str, positions: Positions) -> tuple[pa.Array, Positions] | None:
        """Return a kept array with a column of some rows, and their places in it; None without one."""
        for found in reversed(self._found):
            places = found.places(positions) if column in found.columns.column_names else None
            if places is not None:
                return found.columns[column].combine_chunks(), places
        return None

    def can_read(self, columns: Sequence[str], positions: Positions) -> bool:
        """Return whether these rows were found here; columns that are not kept are then read together."""
        if len(positions) > MAX_LOOKUPS:
            return all(self.find_column(column, positions) is not None for column in columns)
        known, row_ids = self._known
        rows = unite(positions)
        places = _find_places(known, rows)
        if places is None:
            return False
        missing = [column for column in columns if self.find_column(column, positions) is None]
        if len(missing) > 1:
            found = read_rows_of(self._table, row_ids[places].astype(np.int64), missing)
            with acquire_cancellable(self._lock):
                self._found = (*self._found, Found(rows, found))[-_KEPT_ANSWERS:]
        return True

    def read(self, column: str, positions: Positions) -> pa.Array | None:
        """Return a column of rows that were found here, if it is kept or the rows are few; else None."""
        held = self.find_column(column, positions)
        if held is not None:
            return held[0].take(pa.array(held[1]))
        if len(positions) > MAX_LOOKUPS:
            return None
        known, row_ids = self._known
        places = _find_places(known, positions)
        return None if places is None else read_rows(self._table, row_ids[places].astype(np.int64), column)

    @property
    def nbytes(self) -> int:
        """How much memory the kept results take."""
        kept = sum(item.positions.nbytes + item.columns.nbytes for item in self._found)
        every = self.__dict__.get("_all_row_ids")
        return int(kept + sum(item.nbytes for item in self._known) + (0 if every is None else every.nbytes))

    def _ask_storage(self, filter: Filter, columns: tuple[str, ...], indexed: bool) -> pa.Table:
        self._count(1 if indexed else _LOOKUPS_PER_SCAN)
        return find_rows(self._table, filter, columns)

    def _count(self, uses: int) -> None:
        with acquire_cancellable(self._lock):
            before, self.used = self.is_overused, self.used + uses
            becomes_overused = self.is_overused and not before
        if becomes_overused:
            self._on_overused()

    def _keep(self, found: pa.Table) -> Found:
        """Keep the positions, row ids and columns of the rows found."""
        positions = self._positions_of(np.asarray(found[ROW_ADDRESS].to_numpy(), dtype=np.uint64))
        row_ids = np.asarray(found[ROW_ID].to_numpy(), dtype=np.uint64)
        if len(positions) > 1 and (np.diff(positions) < 0).any():
            order = np.argsort(positions, kind="stable")
            positions, row_ids, found = positions[order], row_ids[order], found.take(pa.array(order))
        kept = Found(positions, found.drop([ROW_ADDRESS, ROW_ID]))
        with acquire_cancellable(self._lock):
            if kept.columns.num_columns:
                self._found = (*self._found, kept)[-_KEPT_ANSWERS:]
            known, ids = self._known
            if len(known) + len(positions) <= _MAX_KNOWN_ROWS:
                known, first = np.unique(np.concatenate([known, positions]), return_index=True)
                self._known = (known, np.concatenate([ids, row_ids])[first])
            else:
                self._known = (positions, row_ids)
        return kept

    def _positions_of(self, addresses: npt.NDArray[np.uint64]) -> Positions:
        fragments = (addresses >> np.uint64(32)).astype(np.int64)
        return self._starts[fragments] + addresses.astype(np.uint32).astype(np.int64)

    @cached_property
    def _starts(self) -> Positions:
        """The position of the first row of each fragment, by the number of the fragment."""
        starts = np.cumsum([0, *(fragment.rows for fragment in self._fragments)])
        numbers = [fragment.number for fragment in self._fragments]
        found = np.zeros(max(numbers, default=0) + 1, dtype=np.int64)
        found[numbers] = starts[:-1]
        return found

    @cached_property
    def _all_row_ids(self) -> npt.NDArray[np.uint64]:
        found = find_rows(self._table, None, [])
        row_ids = np.zeros(self._rows, dtype=np.uint64)
        addresses = np.asarray(found[ROW_ADDRESS].to_numpy(), dtype=np.uint64)
        row_ids[self._positions_of(addresses)] = found[ROW_ID].to_numpy()
        return row_ids

    def columns_with_index(self, kind: IndexKind) -> frozenset[str]:
        """Return the columns that have an index of a kind."""
        return self._indexes[kind]

    @cached_property
    def _indexes(self) -> dict[IndexKind, frozenset[str]]:
        return {kind: list_indexed_columns(self._table, kind) for kind in IndexKind}


def _find_places(known: Positions, asked: Positions) -> Positions | None:
    """Return the places of some numbers in a sorted array; None unless all are in it."""
    if len(known) == 0:
        return None if len(asked) else asked
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return at if bool((known[at] == asked).all()) else None
