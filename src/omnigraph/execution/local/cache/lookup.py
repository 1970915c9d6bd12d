"""Finding rows by an exact value, with hash tables in memory that are made once for a run of fragments."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import cancellation as checkpoints
from omnigraph.base.cancellation import checkpoint, chunks
from omnigraph.execution.local.cache.parted_column import PartedColumn
from omnigraph.execution.local.frame import NULL, Mask, Positions
from omnigraph.execution.local.sorting import is_among, order_of
from omnigraph.graph.model.hashing import Hashes, hash_value, hash_values

_ROWS_PER_HASHED_VALUE = 8
"""The hash table is used if there are at least so many rows for each value looked for."""
_FEW_VALUES = 4
"""So many values are looked for one by one, which costs less than calls of numpy and Arrow."""
_BYTES_PER_LISTED_ROW = 256
"""A number, an entry of a dictionary and a list with a number."""
_NONE: Positions = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class HashTable:
    """The rows of a run of values by the hashes of their values; NULL has none."""

    bits: int
    starts: Positions
    hashes: Hashes
    rows: Positions
    size: int
    """How many values there are, NULL included."""

    @staticmethod
    def of(values: pa.Array) -> HashTable:
        """Return the hash table of a run of values."""
        present = np.flatnonzero(np.asarray(values.is_valid().to_numpy(zero_copy_only=False)))
        return HashTable.of_hashes(_hash_in_chunks(values)[present], present, len(values))

    @staticmethod
    def of_hashes(hashes: Hashes, present: Positions, size: int) -> HashTable:
        """Return the hash table of the hashes of the values that are not NULL, and their places."""
        bits = max(1, len(present).bit_length())
        buckets = (hashes >> np.uint64(64 - bits)).astype(np.int64)
        order = order_of(buckets)
        starts = np.zeros((1 << bits) + 1, dtype=np.int64)
        np.cumsum(np.bincount(buckets, minlength=1 << bits), out=starts[1:])
        return HashTable(bits, starts, hashes[order], present[order], size)

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return self.starts.nbytes + self.hashes.nbytes + self.rows.nbytes

    def find(self, hashed: int) -> list[int]:
        """Return the rows with a hash, in order."""
        bucket = hashed >> (64 - self.bits)
        first, last = self.starts[bucket : bucket + 2].tolist()
        rows, hashes = self.rows[first:last].tolist(), self.hashes[first:last].tolist()
        return [row for row, other in zip(rows, hashes, strict=True) if other == hashed]

    def find_each(self, hashes: Hashes) -> Iterator[tuple[Positions, Positions]]:
        """Yield pairs of places and rows with the same hash, until all have been yielded."""
        buckets = (hashes >> np.uint64(64 - self.bits)).astype(np.int64)
        at, ends = self.starts[buckets], self.starts[buckets + 1]
        active = np.flatnonzero(at < ends)
        while len(active):
            hit = self.hashes[at[active]] == hashes[active]
            yield active[hit], self.rows[at[active[hit]]]
            at[active] += 1
            active = active[at[active] < ends[active]]


class _Shared:
    """The hashes of all values that came in one row of versions, NULL for none, and the rows by them."""

    def __init__(self, hashes: list[int | None]) -> None:
        self.hashes: list[int | None] = []
        self.rows: dict[int, list[int]] = {}
        self.lock = threading.Lock()
        self.add(hashes)

    def add(self, hashes: list[int | None]) -> None:
        """Add values at the end; a version looks at its own first ones only."""
        for row, hashed in enumerate(hashes, len(self.hashes)):
            if hashed is not None:
                self.rows.setdefault(hashed, []).append(row)
        self.hashes.extend(hashes)


class GrowingTable:
    """The rows of a run to which versions add some, by the hashes of their values; they share it."""

    def __init__(self, shared: _Shared, size: int) -> None:
        """Take what versions share, and how many values this one has."""
        self._shared = shared
        self.size = size

    @staticmethod
    def of(values: pa.Array) -> GrowingTable:
        """Return the rows of a run of values."""
        return GrowingTable(_Shared(_list_hashes(values)), len(values))

    @staticmethod
    def grow(before: GrowingTable | None, values: pa.Array) -> GrowingTable:
        """Return the rows of a run, None for an empty one, and of more values after it."""
        return GrowingTable.of(values) if before is None else before.extend(values)

    def extend(self, values: pa.Array) -> GrowingTable:
        """Return the rows of this run and of more values after it."""
        shared, more = self._shared, _list_hashes(values)
        with shared.lock:
            if len(shared.hashes) == self.size:
                shared.add(more)
                return GrowingTable(shared, self.size + len(more))
        # Another version has added other rows.
        return GrowingTable(_Shared([*shared.hashes[: self.size], *more]), self.size + len(more))

    @property
    def nbytes(self) -> int:
        """About how much memory the table takes."""
        return self.size * _BYTES_PER_LISTED_ROW

    def find(self, hashed: int) -> list[int]:
        """Return the rows with a hash, in order."""
        return [row for row in self._shared.rows.get(hashed, ()) if row < self.size]

    def find_each(self, hashes: Hashes) -> Iterator[tuple[Positions, Positions]]:
        """Yield pairs of places and rows with the same hash, until all have been yielded."""
        return self._table.find_each(hashes)

    @cached_property
    def _table(self) -> HashTable:
        known = self._shared.hashes[: self.size]
        present = np.array([row for row, hashed in enumerate(known) if hashed is not None], dtype=np.int64)
        hashes = np.array([hashed for hashed in known if hashed is not None], dtype=np.uint64)
        return HashTable.of_hashes(hashes, present, self.size)


class Lookup:
    """Positions by value, for strings and integers. NULL and deleted rows are never found."""

    def __init__(
        self, values: PartedColumn, tables: Sequence[HashTable | GrowingTable], deleted: Positions
    ) -> None:
        """Take a column, the hash tables of its runs, and the sorted positions of deleted rows."""
        self._values = values
        self._tables = tables
        self._starts = tuple(accumulate((table.size for table in tables[:-1]), initial=0))
        self._deleted = deleted

    @property
    def nbytes(self) -> int:
        """How much memory the index takes beside its column."""
        return sum(table.nbytes for table in self._tables)

    def find(self, value: str | int) -> Positions:
        """Return all positions of a value, in order."""
        hashed, found = hash_value(value), list[int]()
        # Two values may share a hash, and a row that has it may be deleted.
        for start, table in zip(self._starts, self._tables, strict=False):
            for row in table.find(hashed):
                if self._values.value(start + row) == value:
                    found.append(start + row)
        if len(self._deleted):
            found = [at for at in found if not self._is_deleted(at)]
        return np.array(found, dtype=np.int64)

    def _is_deleted(self, position: int) -> bool:
        at = int(self._deleted.searchsorted(position))
        return at < len(self._deleted) and bool(self._deleted[at] == position)

    def find_each(self, values: pa.Array) -> Positions:
        """Return the position of each value, and -1 where there is none; for columns without duplicates."""
        if len(values) <= _FEW_VALUES:
            each = (self.find(value) if value is not None else _NONE for value in values.to_pylist())
            return np.array([found[0] if len(found) else NULL for found in each], dtype=np.int64)
        if len(values) * _ROWS_PER_HASHED_VALUE > len(self._values):
            return self._find_all(values)
        hashes = _hash_in_chunks(values)
        found = np.full(len(values), NULL, dtype=np.int64)
        for start, table in zip(self._starts, self._tables, strict=False):
            missing = np.flatnonzero(found == NULL)
            for places, rows in table.find_each(hashes[missing]):
                checkpoint()
                here = self._confirm(values, missing[places], rows + start)
                found[missing[places][here]] = (rows + start)[here]
        return found

    def _find_all(self, values: pa.Array) -> Positions:
        """Return the position of each of many values."""
        found = np.full(len(values), NULL, dtype=np.int64)
        for column, start in zip(self._values.parts, self._values.starts, strict=True):
            alive = column
            first, last = self._deleted.searchsorted([start, start + len(column)])
            if last > first:
                live = np.ones(len(column), dtype=bool)
                live[self._deleted[first:last] - start] = False
                alive = pc.if_else(pa.array(live), column, None)
            for part in chunks(len(values), max(checkpoints.CHUNK_ROWS, len(column))):
                places = pc.index_in(values[part], value_set=alive, skip_nulls=True).fill_null(NULL)
                at = np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)
                found[part] = np.where(at == NULL, found[part], at + start)
        return found

    def _confirm(self, values: pa.Array, places: Positions, positions: Positions) -> Mask:
        """Return whether the value at each place is that at its position, in a row that is not deleted."""
        stored, asked = self._values.take(positions), values.take(pa.array(places))
        same: Mask = np.asarray(pc.fill_null(pc.equal(stored, asked), False).to_numpy(zero_copy_only=False))
        return same & ~is_among(positions, self._deleted)


def _list_hashes(values: pa.Array) -> list[int | None]:
    """Return the hash of each value, None for NULL."""
    if len(values) <= _FEW_VALUES:
        return [None if value is None else hash_value(value) for value in values.to_pylist()]
    hashes, valid = _hash_in_chunks(values).tolist(), values.is_valid().to_pylist()
    return [hashed if is_valid else None for hashed, is_valid in zip(hashes, valid, strict=True)]


def _hash_in_chunks(values: pa.Array) -> Hashes:
    """Return the hashes of values, computed chunk by chunk."""
    found = np.empty(len(values), dtype=np.uint64)
    for part in chunks(len(values)):
        found[part] = hash_values(values[part])
    return found
