"""One version of one table as arrays; what another version has read from the same files is reused."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import is_floating, is_integer

from omnigraph.base.cancellation import acquire_cancellable
from omnigraph.execution.local.cache.exact_numbers import ExactNumbers
from omnigraph.execution.local.cache.fragment_cache import Parts
from omnigraph.execution.local.cache.lookup import GrowingTable, HashTable, Lookup
from omnigraph.execution.local.cache.parted_column import PartedColumn
from omnigraph.execution.local.cache.ranks import Ranks, rank
from omnigraph.execution.local.cache.storage_lookup import StorageLookup
from omnigraph.execution.local.frame import NULL, Mask, Positions
from omnigraph.execution.plan import access
from omnigraph.execution.plan.access import MAX_LOOKUPS
from omnigraph.execution.search.text import Postings, TextIndex
from omnigraph.execution.search.vectors import Distances, Queries, VectorIndex, Vectors
from omnigraph.storage.indexes.indexes import IndexKind
from omnigraph.storage.tables.table import Table

_MAX_ROWS_BY_NUMPY = 1024
"""The most rows that are taken with numpy, whose calls cost less than those of Arrow."""
_ROWS_PER_TAKEN_ROW = 8
"""A whole column is made if at least one row in so many is taken."""
_MAX_PARTED_BYTES = 1 << 30
"""Columns of more bytes are measured as one array, as they may not fit into one."""
_SEARCHES_BEFORE_HASHING = 3
"""Searches for exact values after which a column that is not unique gets a hash table."""


class Sized(Protocol):
    """Something that takes memory."""

    @property
    def nbytes(self) -> int:
        """How much memory, in bytes."""


_Made = TypeVar("_Made", bound=Sized)


class TableView:
    """One version of one table: columns as arrays, read on first use.

    A row is its position among all stored rows of all fragments, deleted ones included, so that a version
    which only adds and removes rows leaves the positions of the others as they are.
    """

    def __init__(
        self, table: Table, older: TableView | None = None, grew: Callable[[float], None] = lambda _: None
    ) -> None:
        """Take a table; what an older version has read from the same files is not read again.

        `grew` is called when the view takes more memory, with how many bytes at most.
        """
        self._table = table
        self._grew = grew
        self.fragments = table.fragments()
        self.rows = sum(fragment.rows for fragment in self.fragments)
        used = 0 if older is None else older.stored.used
        self.stored: StorageLookup = StorageLookup(table, self.fragments, partial(grew, 0), used)
        self._parts: Parts = (
            older._hand_over(table) if older is not None else Parts(table, self.fragments, None)
        )
        self.runs = self._parts.runs
        self._columns: dict[str, pa.Array] = {}
        self._parted: dict[str, PartedColumn] = {}
        self._numbers: dict[str, npt.NDArray[Any]] = {}
        """The first parts of number columns without NULL, from which numpy takes a few rows faster."""
        self._first_rows = self.runs[0].rows if self.runs else 0
        self._derived: dict[tuple[str, str], Sized] = {}
        self._asked: Counter[str] = Counter()
        self._live: Mask | None = None
        self._deleted: Positions | None = None
        self._is_live_known = False
        self._positions: Positions | None = None
        self._lock = threading.RLock()

    def _hand_over(self, table: Table) -> Parts:
        """Return the parts that another version of the table reuses."""
        with acquire_cancellable(self._lock):
            return Parts(table, table.fragments(), self._parts)

    @property
    def live(self) -> Mask | None:
        """Which rows are not deleted; None for all."""
        if not self._is_live_known:
            deleted = self.deleted
            with acquire_cancellable(self._lock):
                if len(deleted):
                    live = np.ones(self.rows, dtype=bool)
                    live[deleted] = False
                    self._live = live
                self._is_live_known = True
        return self._live

    @property
    def deleted(self) -> Positions:
        """The sorted positions of the deleted rows."""
        if self._deleted is None:
            with acquire_cancellable(self._lock):
                self._deleted = self._parts.deleted_positions()
        return self._deleted

    @property
    def positions(self) -> Positions:
        """The positions of all rows that are not deleted."""
        if self._positions is None:
            live = self.live
            self._positions = np.arange(self.rows, dtype=np.int64) if live is None else np.flatnonzero(live)
        return self._positions

    def column(self, name: str) -> pa.Array:
        """Return a whole column."""
        found = self._columns.get(name)
        if found is None:
            with acquire_cancellable(self._lock):
                found = self._columns.get(name)
                if found is None:
                    found = self._parts.whole(name, self._table.column_id(name))
                    self._columns[name] = found
                    self._part(name)
                    self._grew(found.nbytes)
        return found

    def parted_column(self, name: str) -> PartedColumn:
        """Return a whole column without copying what other versions have of it."""
        found = self._parted.get(name)
        if found is None:
            with acquire_cancellable(self._lock):
                found = self._parted.get(name) or self._part(name)
                self._grew(found.nbytes)
        return found

    def _part(self, name: str) -> PartedColumn:
        number = self._table.column_id(name)
        pieces = self._parts.pieces(name, number)

        def join() -> list[pa.Array]:
            with acquire_cancellable(self._lock):
                return self._parts.by_runs(name, number)

        if pieces.arrays:
            found = PartedColumn(pieces.arrays, pieces.nbytes, join if len(pieces.arrays) > 2 else None)
        else:
            found = PartedColumn.of([pa.nulls(0, self._table.schema.field(name).type)])
        first = found.first
        if first.null_count == 0 and (is_integer(first.type) or is_floating(first.type)):
            self._numbers[name] = first.to_numpy(zero_copy_only=True)
        self._parted[name] = found
        return found

    def read_ahead(self, names: Sequence[str], positions: Positions) -> None:
        """Read columns that some rows will be taken of together, unless storage has found the rows."""
        missing = [name for name in names if name not in self._columns and name not in self._parted]
        if len(missing) < 2 or len(positions) == 0 or self.stored.can_read(missing, positions):
            return
        with acquire_cancellable(self._lock):
            self._parts.read_ahead(missing)
            self._grew(inf)

    def take(self, name: str, positions: Positions, nulls: bool) -> pa.Array:
        """Return a column of some rows; for rows that storage has found, nothing else is read."""
        numbers = self._numbers.get(name)
        if (
            numbers is not None
            and not nulls
            and len(positions) < _MAX_ROWS_BY_NUMPY
            and (self._first_rows == self.rows or positions.max(initial=0) < self._first_rows)
        ):
            return pa.array(numbers[positions])
        if name not in self._columns and name not in self._parted:
            if len(positions) == 0:
                return pa.nulls(0, self._table.schema.field(name).type)
            found = self.stored.read(name, positions)
            if found is not None:
                return found
        if len(positions) * _ROWS_PER_TAKEN_ROW < self.rows and name not in self._columns:
            return self.parted_column(name).take(positions, nulls)
        whole = self.column(name)
        if positions is self._positions and len(positions) == self.rows:
            return whole
        return PartedColumn.of([whole]).take(positions, nulls)

    def arrays_with(self, name: str, positions: Positions) -> list[tuple[pa.Array, Positions]]:
        """Return arrays that have a column of some rows together, and the places of the rows in each."""
        in_memory = name in self._columns or name in self._parted
        found = None if in_memory else self.stored.find_column(name, positions)
        if found is not None:
            return [found]
        column = self.parted_column(name)
        if len(column.parts) == 1 or name in self._columns or column.nbytes > _MAX_PARTED_BYTES:
            return [(self.column(name), positions)]
        return [(part, rows) for part, rows, _ in column.split(positions)]

    def find_each(self, ids: pa.Array) -> Positions:
        """Return the position of each id, -1 for a missing one."""
        if len(ids) <= MAX_LOOKUPS and not self.has_column("id") and self._finds_ids:
            positions, found = self.stored.find_values("id", ids)
            places = pc.index_in(ids, value_set=found["id"].combine_chunks())
            at = np.asarray(places.fill_null(NULL).to_numpy(zero_copy_only=False), dtype=np.int64)
            return np.where(at == NULL, NULL, np.append(positions, NULL)[at])
        return self.lookup("id").find_each(ids)

    @property
    def _finds_ids(self) -> bool:
        if not self.is_large or self.stored.is_overused:
            return False
        return self.rows >= access.MANY_ROWS or "id" in self.stored.columns_with_index(IndexKind.BTREE)

    def read_so_far(self) -> tuple[int, int]:
        """Return the requests to storage for this table, and their bytes."""
        return self._table.read_so_far()

    @property
    def is_large(self) -> bool:
        """Whether look-ups in storage may be better than reading the table."""
        return self.rows >= access.LARGE_TABLE_ROWS

    def has_read(self, name: str) -> bool:
        """Return whether a column was read for this version."""
        return name in self._parted or name in self._columns

    def has_column(self, name: str) -> bool:
        """Return whether a column is in memory, of this version or an older one."""
        in_memory = name in self._columns or name in self._parted
        return in_memory or self._parts.has("column", self._table.column_id(name))

    def has_words(self, name: str) -> bool:
        """Return whether the inverted index of a column is in memory."""
        return ("texts", name) in self._derived

    def is_often_asked(self, name: str) -> bool:
        """Return whether a column has a hash table, or was searched often enough to get one."""
        if self._asked[name] >= _SEARCHES_BEFORE_HASHING or ("lookup", name) in self._derived:
            return True
        return self._parts.has("hashes", self._table.column_id(name))

    def note_exact_search(self, name: str) -> None:
        """Note that all rows were scanned for an exact value of a column."""
        self._asked[name] += 1
        if self._asked[name] == _SEARCHES_BEFORE_HASHING:
            self._grew(0)

    def lookup(self, name: str) -> Lookup:
        """Return the hash table of a column."""
        return self._derive(
            "lookup", name, lambda: Lookup(self.parted_column(name), self.hash_tables(name), self.deleted)
        )

    def hash_tables(self, name: str) -> list[HashTable | GrowingTable]:
        """Return the hash table of each run of a column."""
        return self._by_run("hashes", name, HashTable.of, GrowingTable.grow)

    def ranks(self, name: str) -> Ranks:
        """Return the ranks of a whole column."""
        return self._derive("ranks", name, lambda: rank(self.column(name)))

    def has_ranks(self, name: str) -> bool:
        """Return whether the ranks of a column are known."""
        return ("ranks", name) in self._derived

    def exact_numbers(self, name: str) -> ExactNumbers:
        """Return the numbers of a whole column as integers of any size."""
        return self._derive("exact", name, lambda: ExactNumbers.of(self.column(name), self.live))

    def texts(self, name: str) -> TextIndex:
        """Return the inverted index of a column."""
        return self._derive(
            "texts", name, lambda: TextIndex(self._by_run("words", name, Postings.of), self.live)
        )

    def vectors(self, name: str) -> VectorIndex:
        """Return the vectors of a column."""
        return self._derive("vectors", name, lambda: VectorIndex(self._by_run("vectors", name, Vectors)))

    def distances(self, name: str, positions: Positions, query: Queries) -> Distances:
        """Return the distance of each row's vector to the query, or to its own query; NaN for NULL."""
        if ("vectors", name) not in self._derived and len(positions) <= MAX_LOOKUPS:
            few = self.stored.read(name, positions)
            if few is not None and len(positions):
                return VectorIndex([Vectors(few)]).distances(np.arange(len(positions)), query)
        return self.vectors(name).distances(positions, query)

    def nearest(
        self, name: str, nodes: Positions, query: tuple[float, ...], count: int, indexed: bool
    ) -> Positions:
        """Return the rows that can be among the nearest; with an index, approximately."""
        if indexed:
            among = None if len(nodes) == len(self.positions) else nodes
            found = self.stored.nearest(name, query, count, among)
            if found is not None:
                return found
        return self.vectors(name).nearest(nodes, query, count)

    @property
    def nbytes(self) -> int:
        """How much memory the view takes."""
        columns = sum(column.nbytes for column in list(self._parted.values()))
        derived = sum(item.nbytes for item in list(self._derived.values()))
        return columns + derived + self._parts.nbytes + self.stored.nbytes

    def _derive(self, kind: str, name: str, make: Callable[[], _Made]) -> _Made:
        """Return what is derived from a column; make it once."""
        found: Any = self._derived.get((kind, name))
        if found is None:
            with acquire_cancellable(self._lock):
                found = self._derived.get((kind, name))
                if found is None:
                    found = self._derived[kind, name] = make()
                    self._grew(found.nbytes)
        made: _Made = found
        return made

    def _by_run(
        self,
        kind: str,
        name: str,
        make: Callable[[pa.Array], Any],
        grow: Callable[[Any, pa.Array], Any] | None = None,
    ) -> list[Any]:
        """Return what is derived from a column run by run."""
        number = self._table.column_id(name)
        with acquire_cancellable(self._lock):
            return self._parts.by_run(kind, name, number, make, grow)
