"""Tables and adjacency of a snapshot as arrays. They are immutable, so they are kept by pin and shared."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.execution.local.adjacency import Adjacency
from omnigraph.execution.local.frame import Mask, Positions
from omnigraph.execution.local.lookup import Lookup
from omnigraph.execution.local.ranks import Ranks, rank
from omnigraph.execution.search.text import Postings, TextIndex
from omnigraph.execution.search.vectors import VectorColumn
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.tables import Fragment, Table

_OFTEN = 3
"""A column without a key gets an index when it is asked for the positions of values so many times."""


class Sized(Protocol):
    """Something that takes memory."""

    @property
    def nbytes(self) -> int:
        """How much."""


_Kept = TypeVar("_Kept", bound=Sized)


class TableView:
    """One version of one table: columns as arrays, read when first asked for.

    A row is its position among all stored rows of all fragments, deleted ones included, so that a version
    which only adds and removes rows leaves the positions of the others as they are.
    """

    def __init__(self, table: Table, older: TableView | None = None) -> None:
        """Look at a table; what an older version has read of the same files is not read again."""
        self._table = table
        self.fragments = table.fragments()
        self.rows = sum(fragment.rows for fragment in self.fragments)
        self._older = older._known() if older is not None else Known({}, {})
        self._columns: dict[str, pa.Array] = {}
        self._derived: dict[tuple[str, str], Sized] = {}
        self._parts: dict[tuple[str, int, tuple[str, ...]], Part] = {}
        self._masks: dict[Any, Mask] = {}
        self._asked: Counter[str] = Counter()
        self._live: Mask | None = None
        self._nodes: Positions | None = None
        self._lock = threading.RLock()

    @property
    def live(self) -> Mask | None:
        """Which rows are still there; None when all are."""
        if self._live is None and any(item.deletion is not None for item in self.fragments):
            self._live = np.concatenate([self.live_in(item) for item in self.fragments])
        return self._live

    @property
    def positions(self) -> Positions:
        """All rows that are still there."""
        if self._nodes is None:
            live = self.live
            self._nodes = np.arange(self.rows, dtype=np.int64) if live is None else np.flatnonzero(live)
        return self._nodes

    def column(self, name: str) -> pa.Array:
        """Return a whole column."""
        found = self._columns.get(name)
        if found is None:
            with self._lock:
                found = self._columns.get(name)
                if found is None:
                    found = self._columns[name] = self._read(name)
        return found

    def is_loaded(self, name: str) -> bool:
        """Say whether a column is in memory."""
        return name in self._columns

    def lookup(self, name: str, key: bool) -> Lookup | None:
        """Return the index of a column: of a key at once, of others once it is worth making."""
        if not key and ("lookup", name) not in self._derived:
            self._asked[name] += 1
            if self._asked[name] < _OFTEN:
                return None
        return self._derive("lookup", name, lambda: Lookup(self._alive(self.column(name))))

    def ranks(self, name: str) -> Ranks:
        """Return the ranks of a whole column."""
        return self._derive("ranks", name, lambda: rank(self.column(name)))

    def has_ranks(self, name: str) -> bool:
        """Say whether the ranks of a column are known."""
        return ("ranks", name) in self._derived

    def texts(self, name: str) -> TextIndex:
        """Return the words of a column's texts."""
        return self._derive("texts", name, lambda: TextIndex(self._postings_of(name), self.live))

    def vectors(self, name: str) -> VectorColumn:
        """Return the vectors of a column as one matrix."""
        return self._derive("vectors", name, lambda: VectorColumn(self.column(name)))

    @property
    def nbytes(self) -> int:
        """How much memory the view takes."""
        columns = sum(int(column.nbytes) for column in list(self._columns.values()))
        return columns + sum(item.nbytes for item in list(self._derived.values()))

    def _derive(self, kind: str, name: str, make: Callable[[], _Kept]) -> _Kept:
        """Return what is made from a column, making it once."""
        found = self._derived.get((kind, name))
        if found is None:
            with self._lock:
                found = self._derived.get((kind, name))
                if found is None:
                    found = self._derived[kind, name] = make()
        return cast(_Kept, found)

    def _postings_of(self, name: str) -> list[Postings]:
        """Return the words of each fragment's texts, taken apart once for all versions that have them."""
        number, column, start, parts = self._table.column_id(name), self.column(name), 0, []
        for fragment in self.fragments:
            made = self._older.part("words", number, fragment, self)
            if made is None:
                texts = column.slice(start, fragment.rows)
                made = Part(Postings.of(texts), self._parts["column", number, fragment.files].under)
            parts.append(self._parts.setdefault(("words", number, fragment.files), made).made)
            start += fragment.rows
        return parts

    def _alive(self, column: pa.Array) -> pa.Array:
        """Return a column without the values of deleted rows."""
        live = self.live
        if live is None or bool(live.all()):
            return column
        places = np.arange(self.rows, dtype=np.int64)
        return column.take(pa.array(places, mask=~live))

    def _read(self, name: str) -> pa.Array:
        number, start = self._table.column_id(name), 0
        arrays = []
        for fragment in self.fragments:
            known = self._older.part("column", number, fragment, self)
            if known is None:
                known = Part(self._table.stored_column(name, fragment), fragment.deletion)
            arrays.append(known.made)
            self._parts["column", number, fragment.files] = known
        if not arrays:
            return pa.nulls(0, self._table.schema.field(name).type)
        whole = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
        for fragment in self.fragments:
            place = ("column", number, fragment.files)
            self._parts[place] = replace(self._parts[place], made=whole.slice(start, fragment.rows))
            self._older.parts.pop(place, None)
            start += fragment.rows
        return whole

    def live_in(self, fragment: Fragment) -> Mask:
        """Say of each stored row of a fragment whether it is still there."""
        if fragment.deletion is None:
            return np.ones(fragment.rows, dtype=bool)
        place = (fragment.files, fragment.deletion)
        if place not in self._masks:
            known = self._older.masks.get(place)
            self._masks[place] = self._table.live_rows(fragment) if known is None else known
        return self._masks[place]

    def _known(self) -> Known:
        with self._lock:
            return Known(dict(self._parts), dict(self._masks))


@dataclass(frozen=True)
class Part:
    """Something made from a fragment's column as it stood under some deletions."""

    made: Any
    under: tuple[int, int] | None


@dataclass(frozen=True)
class Known:
    """What a view has in memory, by fragment: another version of the table may have the same ones."""

    parts: dict[tuple[str, int, tuple[str, ...]], Part]
    masks: dict[Any, Mask]

    def part(self, kind: str, number: int, fragment: Fragment, view: TableView) -> Part | None:
        """Return a part that has all rows which are still there in another view, else nothing."""
        found = self.parts.get((kind, number, fragment.files))
        if found is None or found.under in (None, fragment.deletion):
            return found
        mask = self.masks.get((fragment.files, found.under))
        if mask is None or bool((view.live_in(fragment) & ~mask).any()):
            return None  # a row that was deleted there, and so is not in the part, is there here
        return found


class Views:
    """What one snapshot looks like as arrays; taken from, and left in, a memory that snapshots share."""

    def __init__(self, snapshot: Snapshot, memory: Memory) -> None:
        self._snapshot = snapshot
        self._memory = memory
        self._tables: dict[str, TableView] = {}
        self._adjacency: dict[str, Adjacency] = {}

    @property
    def catalog(self) -> Catalog:
        """The schema of the snapshot."""
        return self._snapshot.catalog

    def table(self, key: str) -> TableView:
        """Return one table."""
        found = self._tables.get(key)
        if found is None:
            pin = self._snapshot.namespace.pin_path(key)
            found = self._tables[key] = self._memory.get(
                pin, key, TableView, lambda older: TableView(self._snapshot.table(key), older)
            )
        return found

    def adjacency(self, edge: EdgeType) -> Adjacency:
        """Return the edges of a type as positions in the tables of their ends."""
        found = self._adjacency.get(edge.name)
        if found is None:
            keys = (edge.table_key, f"node:{edge.source}", f"node:{edge.target}")
            name = "|".join(self._snapshot.namespace.pin_path(key) for key in keys)
            found = self._adjacency[edge.name] = self._memory.get(
                name, edge.name, Adjacency, lambda older: self._connect(*keys)
            )
        return found

    def _connect(self, edge: str, source: str, target: str) -> Adjacency:
        rows, sources, targets = self.table(edge), self.table(source), self.table(target)
        return Adjacency.of(rows, sources, targets)


class Memory:
    """Arrays by the pins they were made from; the least recently used go first.

    What is kept goes on being used by the queries that hold it, whatever is let go here.
    """

    def __init__(self, capacity: int) -> None:
        """Keep about so many bytes."""
        self._capacity = capacity
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._newest: dict[str, str] = {}
        self._lock = threading.Lock()

    def get(self, name: str, subject: str, kind: type[_Kept], make: Callable[[_Kept | None], _Kept]) -> _Kept:
        """Return what is kept under a name; else make it, perhaps from the newest of the same subject."""
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
                assert isinstance(found, kind)
                return found
            older = self._kept.get(self._newest.get(subject, ""))
        made = make(older)
        with self._lock:
            self._kept[name] = made
            self._newest[subject] = name
            self._let_go()
        return made

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept.clear()
            self._newest.clear()

    def _let_go(self) -> None:
        sizes = {name: item.nbytes for name, item in self._kept.items()}
        total = sum(sizes.values())
        while total > self._capacity and len(self._kept) > 1:
            name, _ = self._kept.popitem(last=False)
            total -= sizes[name]
        live = set(self._kept)
        self._newest = {subject: name for subject, name in self._newest.items() if name in live}
