"""Tables and adjacency of a snapshot as arrays. They are immutable, so they are cached by pin and shared."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import cached_property
from math import inf
from typing import Any, TypeVar

from omnigraph.base.cancellation import acquire_cancellable
from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.execution.local.cache.adjacency import Adjacency
from omnigraph.execution.local.cache.table_view import Sized, TableView
from omnigraph.execution.local.cache.united_tables import UnitedTables
from omnigraph.execution.plan.access import AvailableData
from omnigraph.execution.plan.per_type import owners_of
from omnigraph.execution.plan.statistics import Statistics
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.indexes.indexes import IndexKind

_BYTES_PER_ROW = 64
"""The assumed bytes of a row in the columns that queries read."""
_MAX_VERSIONS = 16
"""The most versions of a table, or of its adjacency, that are kept."""
_TRIMS_PER_MEASURE = 16
"""How often entries are measured though there seems to be room: not all growth is told."""
_MEASURES_OF_ALL = 16
"""How often all of them are, and not only those that were used since the last time."""
_Kept = TypeVar("_Kept", bound=Sized)


class Views(AvailableData):
    """The tables and adjacency of one snapshot as arrays, in a cache that snapshots share."""

    def __init__(self, snapshot: Snapshot, memory: Memory) -> None:
        self._snapshot = snapshot
        self._memory = memory
        self.name = snapshot.view_id
        """What tells these views from those of other commits and readers."""
        self._tables: dict[str, TableView] = {}
        self._adjacency: dict[str, Adjacency] = {}
        self._united: dict[tuple[VariableKind, tuple[str, ...]], UnitedTables] = {}

    @cached_property
    def catalog(self) -> Catalog:
        """The schema of the snapshot."""
        return self._snapshot.catalog

    @cached_property
    def statistics(self) -> Statistics:
        """What is known of the data without reading it."""
        rows = {table.key: table.rows for table in self._snapshot.tables}
        return Statistics(self.catalog, rows, self._snapshot.distinct)

    def table(self, key: str) -> TableView:
        """Return one table."""
        found = self._tables.get(key)
        if found is None:
            pin = self._snapshot.namespace.pin_path(key)
            found = self._tables[key] = self._memory.get(
                pin,
                self._subject(key),
                TableView,
                lambda older: TableView(self._snapshot.table(key), older, self._memory.grew),
            )
        return found

    def united_tables(self, variable: Variable) -> UnitedTables:
        """Return the tables of the types of a variable, one after the other."""
        key = (variable.kind, variable.types)
        found = self._united.get(key)
        if found is None:
            owners = owners_of(variable, self.catalog)
            tables = [(owner, self.table(owner.table_key)) for owner in owners]
            found = self._united[key] = UnitedTables(tables)
        return found

    @property
    def changes(self) -> int:
        """How often the cache has changed, so that other plans may be better."""
        return self._memory.changes

    def has_column(self, table: str, column: str) -> bool:
        """Return whether a column is in memory, of this version or of another."""
        return self.table(table).has_column(column)

    def has_words(self, table: str, column: str) -> bool:
        """Return whether the inverted index of a column is in memory."""
        return self.table(table).has_words(column)

    def is_often_asked(self, table: str, column: str) -> bool:
        """Return whether a column is searched for exact values often enough to make a hash table."""
        known = self._tables.get(table)
        return known is not None and known.is_often_asked(column)

    def is_worth_reading(self, table: str) -> bool:
        """Return whether a table was looked up in storage often enough to read whole columns instead."""
        view = self.table(table)
        return view.stored.is_overused and view.rows * _BYTES_PER_ROW <= self._memory.capacity

    def has_adjacency(self, edge: str) -> bool:
        """Return whether the adjacency of a type is in memory, of this version or of another."""
        return edge in self._adjacency or self._memory.has(self._subject(edge))

    def _subject(self, name: str) -> str:
        """Return a name for all versions of a table as this reader sees it: nobody reuses what others see."""
        return name if self._snapshot.sees_all else f"{name}?{self._snapshot.sight}"

    def exact_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with an index of exact values."""
        return self.table(table).stored.columns_with_index(IndexKind.BTREE)

    def text_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with a text index."""
        return self.table(table).stored.columns_with_index(IndexKind.TEXT)

    def vector_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table with a vector index."""
        return self.table(table).stored.columns_with_index(IndexKind.VECTOR)

    def read_so_far(self) -> tuple[int, int]:
        """Return the requests to storage for the tables of this snapshot, and their bytes.

        They would tell how much is hidden: of a snapshot of which something is hidden they are not told.
        """
        if not self._snapshot.sees_all:
            return 0, 0
        found = [view.read_so_far() for view in list(self._tables.values())]
        return sum(item[0] for item in found), sum(item[1] for item in found)

    def adjacency(self, edge: EdgeType) -> Adjacency:
        """Return the edges of a type as positions in the tables of their ends."""
        found = self._adjacency.get(edge.name)
        if found is None:
            keys = (edge.table_key, f"node:{edge.source}", f"node:{edge.target}")
            name = "|".join(self._snapshot.namespace.pin_path(key) for key in keys)
            found = self._adjacency[edge.name] = self._memory.get(
                name, self._subject(edge.name), Adjacency, lambda older: self._connect(*keys, older)
            )
        return found

    def _connect(self, edge: str, source: str, target: str, older: Adjacency | None) -> Adjacency:
        made = Adjacency(self.table(edge), self.table(source), self.table(target), older)
        is_shared = older is not None and made.base is older.base
        self._memory.grew(made.patch_nbytes if is_shared else inf)
        return made


class Memory:
    """Arrays by the pins they were made from; the least recently used are evicted first.

    Queries go on using what they hold after it is evicted.
    """

    def __init__(self, capacity: int) -> None:
        """Keep about `capacity` bytes."""
        self.capacity = capacity
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._subjects: dict[str, str] = {}
        """The subject of each entry."""
        self._newest: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        """How much memory each entry took when it was last measured."""
        self._used: set[str] = set()
        """The entries that were asked for since then."""
        self._trims = 0
        self._measures = 0
        self._making: dict[str, threading.Lock] = {}
        self._versions = Counter[str]()
        """How many entries each subject has."""
        self._grown = False
        self._growth: float = 0
        """Bytes that were added since all was measured, at most."""
        self._measured = 0
        """Bytes that all entries took then."""
        self.changes = 0
        """How often something was added or evicted."""
        self._lock = threading.Lock()

    def get(self, name: str, subject: str, kind: type[_Kept], make: Callable[[_Kept | None], _Kept]) -> _Kept:
        """Return the entry with a name, or make it; `make` gets the newest entry of the same subject."""
        found = self._get(name)
        if found is None:
            with self._lock:
                turn = self._making.setdefault(name, threading.Lock())
            with acquire_cancellable(turn):  # one thread makes it, others wait
                found = self._get(name)
                if found is None:
                    found = make(self._newest_of(subject))
                    with self._lock:
                        self._kept[name] = found
                        self._subjects[name] = subject
                        self._newest[subject] = name
                        self._used.add(name)
                        self._versions[subject] += 1
                        if self._versions[subject] > _MAX_VERSIONS:
                            self._remove_oldest(subject)
                        self._making.pop(name, None)
                    self.grew(0)
        assert isinstance(found, kind)
        return found

    def _get(self, name: str) -> Any:
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
                self._used.add(name)
            return found

    def _newest_of(self, subject: str) -> Any:
        with self._lock:
            return self._kept.get(self._newest.get(subject, ""))

    @property
    def nbytes(self) -> int:
        """How much memory all entries take; what two share counts for both."""
        with self._lock:
            return sum(item.nbytes for item in self._kept.values())

    def grew(self, nbytes: float = inf) -> None:
        """Note that an entry takes more memory than before, at most so many bytes more."""
        self._grown = True
        self._growth += nbytes
        self.changes += 1

    def trim(self) -> bool:
        """Evict the least recently used entries beyond the capacity; return whether any was evicted."""
        if not self._grown:
            return False
        with self._lock:
            self._grown = False
            self._trims += 1
            fits = self._measured + self._growth <= self.capacity
            if fits and self._trims % _TRIMS_PER_MEASURE:
                return False
            gone = self._evict()
        self.changes += gone
        return gone

    def has(self, subject: str) -> bool:
        """Return whether there is an entry of a subject."""
        return subject in self._newest

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            for known in (
                self._kept,
                self._subjects,
                self._newest,
                self._sizes,
                self._used,
                self._versions,
            ):
                known.clear()
            self._measured, self._growth = 0, 0
            self.changes += 1

    def _evict(self) -> bool:
        self._measure()
        total, before = sum(self._sizes.values()), len(self._kept)
        for name in list(self._kept):
            if total > self.capacity:
                total -= self._sizes[name]
                self._remove(name)
        self._measured, self._growth = total, 0
        return len(self._kept) < before

    def _remove_oldest(self, subject: str) -> None:
        self._remove(next(name for name in self._kept if self._subjects[name] == subject))

    def _remove(self, name: str) -> None:
        del self._kept[name]
        subject = self._subjects.pop(name)
        self._versions[subject] -= 1
        self._measured -= self._sizes.pop(name, 0)
        self._used.discard(name)
        if self._newest.get(subject) == name:
            del self._newest[subject]

    def _measure(self) -> None:
        """Measure the entries that may have grown; all of them now and then, as a reader may hold one."""
        self._measures += 1
        every = self._measures % _MEASURES_OF_ALL == 0
        for name, item in self._kept.items():
            if every or name in self._used or name not in self._sizes:
                self._sizes[name] = item.nbytes
        self._used.clear()
