"""One version of one table as arrays, made from what another version has read of the same files."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.execution.local.frame import NULL, Mask, Positions
from omnigraph.execution.local.lookup import HashTable, Lookup
from omnigraph.execution.local.ranks import Ranks, rank
from omnigraph.execution.local.stored import StoredRows
from omnigraph.execution.search.text import Postings, TextIndex
from omnigraph.execution.search.vectors import Distances, VectorIndex, Vectors
from omnigraph.storage.tables import Fragment, Table

_OFTEN = 3
"""A column without a key gets an index when it is asked for the positions of values so many times."""
_TEXTS = 2**31 - 1
"""Bytes of text that one array of the usual kind can hold."""
_SMALL_ROWS = 4096
_SMALL_PART = 256
"""A fragment is large, and expected to stay, when it has so many rows or this part of the table."""


class Sized(Protocol):
    """Something that takes memory."""

    @property
    def nbytes(self) -> int:
        """How much."""


_Made = TypeVar("_Made", bound=Sized)


@dataclass(frozen=True, slots=True)
class Run:
    """Fragments that follow each other: those that are expected to stay, or the small ones after them."""

    start: int
    fragments: tuple[Fragment, ...]
    is_large: bool

    @property
    def rows(self) -> int:
        """How many rows they hold, deleted ones included."""
        return sum(fragment.rows for fragment in self.fragments)

    @property
    def files(self) -> tuple[tuple[str, ...], ...]:
        """What tells these fragments from others."""
        return tuple(fragment.files for fragment in self.fragments)


@dataclass(frozen=True, slots=True)
class Part:
    """Something made from a column of some fragments, as they stood under some deletions."""

    made: Any
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What a view has in memory that another version of its table may use."""

    parts: dict[tuple[str, int, Any], Part]
    masks: dict[tuple[tuple[str, ...], Any], Mask]


class TableView:
    """One version of one table: columns as arrays, read when first asked for.

    A row is its position among all stored rows of all fragments, deleted ones included, so that a version
    which only adds and removes rows leaves the positions of the others as they are.
    """

    def __init__(
        self, table: Table, older: TableView | None = None, grew: Callable[[], None] = lambda: None
    ) -> None:
        """Look at a table; what an older version has read of the same files is not read again.

        `grew` is called when the view has come to take more memory.
        """
        self._table = table
        self._grew = grew
        self.fragments = table.fragments()
        self.rows = sum(fragment.rows for fragment in self.fragments)
        self.runs = _runs(self.fragments)
        self.stored = StoredRows(table, self.fragments)
        self._older = older.known() if older is not None else Known({}, {})
        self._parts: dict[tuple[str, int, Any], Part] = {}
        self._masks: dict[tuple[tuple[str, ...], Any], Mask] = {}
        self._columns: dict[str, pa.Array] = {}
        self._derived: dict[tuple[str, str], Sized] = {}
        self._asked: Counter[str] = Counter()
        self._live: Mask | None = None
        self._positions: Positions | None = None
        self._lock = threading.RLock()

    @property
    def live(self) -> Mask | None:
        """Which rows are still there; None when all are."""
        if self._live is None and any(item.deletion is not None for item in self.fragments):
            with self._lock:
                self._live = np.concatenate([self._live_in(item) for item in self.fragments])
        return self._live

    @property
    def positions(self) -> Positions:
        """All rows that are still there."""
        if self._positions is None:
            live = self.live
            self._positions = np.arange(self.rows, dtype=np.int64) if live is None else np.flatnonzero(live)
        return self._positions

    def column(self, name: str) -> pa.Array:
        """Return a whole column."""
        found = self._columns.get(name)
        if found is None:
            with self._lock:
                found = self._columns.get(name)
                if found is None:
                    number = self._table.column_id(name)
                    arrays = [self._stored(name, number, fragment) for fragment in self.fragments]
                    found = self._columns[name] = self._joined(name, arrays)
                    self._share(number, found)
                    self._grew()
        return found

    def taken(self, name: str, positions: Positions, nulls: bool) -> pa.Array:
        """Return a column of some rows; of a few that an index has found, nothing else is read."""
        if name not in self._columns:
            if len(positions) == 0:
                return pa.nulls(0, self._table.schema.field(name).type)
            if self.stored.has(positions):
                return self.stored.read(name, positions)
        whole = self.column(name)
        if positions is self._positions and len(positions) == self.rows:
            return whole
        places = pa.array(positions, mask=positions == NULL) if nulls else pa.array(positions)
        found = whole.take(places)
        return found.cast(pa.string()) if pa.types.is_large_string(found.type) else found

    def find(self, name: str, value: str | int, key: bool) -> Positions | None:
        """Return the rows with a value; None when it is better to look at all."""
        if not self._is_near(name) and self.stored.can_find(name):
            return np.sort(self.stored.find_values(name, self._one(name, value))[0])
        index = self.lookup(name, key)
        return None if index is None else index.find(value)

    def _one(self, name: str, value: str | int) -> pa.Array:
        """Return a value as a column of its type; a number that the type cannot hold is no value at all."""
        type_ = self._table.schema.field(name).type
        try:
            return pa.array([value], type_)
        except (pa.ArrowInvalid, OverflowError):
            return pa.array([], type_)

    def find_each(self, ids: pa.Array) -> Positions:
        """Return the position of each id, and -1 where there is none."""
        if not self._is_near("id") and self.stored.can_find("id", len(ids)):
            positions, found = self.stored.find_values("id", ids)
            places = pc.index_in(ids, value_set=found["id"].combine_chunks())
            at = np.asarray(places.fill_null(NULL).to_numpy(zero_copy_only=False), dtype=np.int64)
            return np.where(at == NULL, NULL, np.append(positions, NULL)[at])
        index = self.lookup("id", key=True)
        assert index is not None
        return index.find_each(ids)

    def _is_near(self, name: str) -> bool:
        """Say whether a column is in memory, here or with an older version, so that it costs little."""
        return name in self._columns or any(
            kind == "column" and number == self._table.column_id(name)
            for kind, number, _ in list(self._older.parts)
        )

    def lookup(self, name: str, key: bool) -> Lookup | None:
        """Return the index of a column: of a key at once, of others once it is worth making."""
        if not key and ("lookup", name) not in self._derived:
            self._asked[name] += 1
            if self._asked[name] < _OFTEN:
                return None

        def make() -> Lookup:
            return Lookup(self.column(name), self.hash_tables(name), self.live)

        return self._derive("lookup", name, make)

    def hash_tables(self, name: str) -> list[HashTable]:
        """Return the hash table of each run of a column."""
        return self._by_run("hashes", name, HashTable.of)

    def ranks(self, name: str) -> Ranks:
        """Return the ranks of a whole column."""
        return self._derive("ranks", name, lambda: rank(self.column(name)))

    def has_ranks(self, name: str) -> bool:
        """Say whether the ranks of a column are known."""
        return ("ranks", name) in self._derived

    def texts(self, name: str) -> TextIndex:
        """Return the words of a column's texts."""
        return self._derive(
            "texts", name, lambda: TextIndex(self._by_run("words", name, Postings.of), self.live)
        )

    def vectors(self, name: str) -> VectorIndex:
        """Return the vectors of a column."""
        return self._derive("vectors", name, lambda: VectorIndex(self._by_run("vectors", name, Vectors)))

    def distances(self, name: str, positions: Positions, query: tuple[float, ...]) -> Distances:
        """Return the distances of some rows' vectors; NaN for NULL."""
        if ("vectors", name) not in self._derived and self.stored.has(positions):
            few = VectorIndex([Vectors(self.stored.read(name, positions))] if len(positions) else [])
            return few.distances(np.arange(len(positions)), query)
        return self.vectors(name).distances(positions, query)

    def nearest(
        self, name: str, nodes: Positions, query: tuple[float, ...], count: int, exact: bool
    ) -> Positions:
        """Return the rows that can be among the nearest; through an index, nearly all of those."""
        if not exact and ("vectors", name) not in self._derived and self.stored.can_search(name):
            among = None if len(nodes) == len(self.positions) else nodes
            found = self.stored.nearest(name, query, count, among)
            if found is not None:
                return found
        return self.vectors(name).nearest(nodes, query, count)

    @property
    def nbytes(self) -> int:
        """How much memory the view takes."""
        columns = sum(int(column.nbytes) for column in list(self._columns.values()))
        return columns + sum(item.nbytes for item in list(self._derived.values()))

    def known(self) -> Known:
        """Return what is in memory, for another version of the table."""
        with self._lock:
            return Known(dict(self._parts), dict(self._masks))

    def _derive(self, kind: str, name: str, make: Callable[[], _Made]) -> _Made:
        """Return what is made from a column, making it once."""
        found = self._derived.get((kind, name))
        if found is None:
            with self._lock:
                found = self._derived.get((kind, name))
                if found is None:
                    found = self._derived[kind, name] = make()
                    self._grew()
        return cast(_Made, found)

    def _by_run(self, kind: str, name: str, make: Callable[[pa.Array], Any]) -> list[Any]:
        """Return what is made from a column run by run; that of the large fragments is rarely made again."""
        number = self._table.column_id(name)

        def made(run: Run) -> Any:
            column = partial(self._run_column, name, number, run)
            return self._part(kind, number, run.fragments, lambda: make(column()))

        with self._lock:
            return [made(run) for run in self.runs]

    def _run_column(self, name: str, number: int, run: Run) -> pa.Array:
        if name in self._columns:
            return self._columns[name].slice(run.start, run.rows)
        return self._joined(name, [self._stored(name, number, fragment) for fragment in run.fragments])

    def _stored(self, name: str, number: int, fragment: Fragment) -> pa.Array:
        return self._part("column", number, (fragment,), lambda: self._table.stored_column(name, fragment))

    def _joined(self, name: str, arrays: list[pa.Array]) -> pa.Array:
        if not arrays:
            return pa.nulls(0, self._table.schema.field(name).type)
        if len(arrays) == 1:
            return arrays[0]
        if pa.types.is_string(arrays[0].type) and sum(array.nbytes for array in arrays) > _TEXTS:
            arrays = [array.cast(pa.large_string()) for array in arrays]
        return pa.concat_arrays(arrays)

    def _part(self, kind: str, number: int, fragments: tuple[Fragment, ...], make: Callable[[], Any]) -> Any:
        """Return something made from a column of some fragments, by this view or by an older one."""
        place = (kind, number, tuple(fragment.files for fragment in fragments))
        found = self._parts.get(place)
        if found is None:
            found = self._older.parts.get(place)
            if found is None or not self._has_all(found):
                found = Part(make(), fragments)
            self._parts[place] = found
            self._older.parts.pop(place, None)
        return found.made

    def _share(self, number: int, column: pa.Array) -> None:
        """Let the parts of a column be parts of the whole, so that nothing is kept twice."""
        start = 0
        for fragment in self.fragments:
            place = ("column", number, (fragment.files,))
            self._parts[place] = replace(self._parts[place], made=column.slice(start, fragment.rows))
            start += fragment.rows

    def _has_all(self, part: Part) -> bool:
        """Say whether a part that another version made has every row that is there in this one."""
        here = {fragment.files: fragment for fragment in self.fragments}
        for fragment in part.fragments:
            if fragment.deletion not in (None, here[fragment.files].deletion):
                mask = self._older.masks.get((fragment.files, fragment.deletion))
                if mask is None or bool((self._live_in(here[fragment.files]) & ~mask).any()):
                    return False
        return True

    def _live_in(self, fragment: Fragment) -> Mask:
        if fragment.deletion is None:
            return np.ones(fragment.rows, dtype=bool)
        place = (fragment.files, fragment.deletion)
        if place not in self._masks:
            known = self._older.masks.get(place)
            self._masks[place] = self._table.live_rows(fragment) if known is None else known
        return self._masks[place]


def _runs(fragments: tuple[Fragment, ...]) -> list[Run]:
    """Part fragments into those up to the last large one, and the small ones after it."""
    total = sum(fragment.rows for fragment in fragments)
    least = max(_SMALL_ROWS, total // _SMALL_PART)
    large = [at for at, fragment in enumerate(fragments) if fragment.rows >= least]
    border = large[-1] + 1 if large else 0
    first = Run(0, fragments[:border], is_large=True)
    rest = Run(first.rows, fragments[border:], is_large=False)
    return [run for run in (first, rest) if run.fragments]
