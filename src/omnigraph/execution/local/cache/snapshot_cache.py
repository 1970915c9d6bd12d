"""Tables and adjacency of a snapshot as arrays. They are immutable, so they are kept by pin and shared."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from omnigraph.base.cancellation import taking
from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.execution.local.cache.adjacency import Adjacency
from omnigraph.execution.local.cache.table_view import Sized, TableView
from omnigraph.execution.plan.access import AvailableData
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.indexes.indexes import IndexKind

_BYTES_PER_ROW = 64
"""Bytes that a row is thought to take of the columns that queries look at."""
_Kept = TypeVar("_Kept", bound=Sized)


class Views(AvailableData):
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
                pin,
                key,
                TableView,
                lambda older: TableView(self._snapshot.table(key), older, self._memory.grew),
            )
        return found

    @property
    def changes(self) -> int:
        """How often what is in memory has changed, so that plans may be other than before."""
        return self._memory.changes

    def has_column(self, table: str, column: str) -> bool:
        """Return whether a column is in memory, of this version or of another."""
        return self.table(table).has_column(column)

    def has_words(self, table: str, column: str) -> bool:
        """Return whether the words of a column's texts are in memory."""
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
        return edge in self._adjacency or self._memory.has(edge)

    def exact_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table whose values have an index."""
        return self.table(table).stored.columns_with_index(IndexKind.BTREE)

    def text_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table whose words have an index."""
        return self.table(table).stored.columns_with_index(IndexKind.TEXT)

    def vector_indexes(self, table: str) -> frozenset[str]:
        """Return the columns of a table whose vectors have an index."""
        return self.table(table).stored.columns_with_index(IndexKind.VECTOR)

    def read_so_far(self) -> tuple[int, int]:
        """Return how many requests, and bytes, storage has answered for the tables of this snapshot."""
        found = [view.read_so_far() for view in list(self._tables.values())]
        return sum(item[0] for item in found), sum(item[1] for item in found)

    def adjacency(self, edge: EdgeType) -> Adjacency:
        """Return the edges of a type as positions in the tables of their ends."""
        found = self._adjacency.get(edge.name)
        if found is None:
            keys = (edge.table_key, f"node:{edge.source}", f"node:{edge.target}")
            name = "|".join(self._snapshot.namespace.pin_path(key) for key in keys)
            found = self._adjacency[edge.name] = self._memory.get(
                name, edge.name, Adjacency, lambda older: self._connect(*keys, older)
            )
        return found

    def _connect(self, edge: str, source: str, target: str, older: Adjacency | None) -> Adjacency:
        self._memory.grew()
        return Adjacency(self.table(edge), self.table(source), self.table(target), older)


class Memory:
    """Arrays by the pins they were made from; the least recently used go first.

    What is kept goes on being used by the queries that hold it, whatever is let go here.
    """

    def __init__(self, capacity: int) -> None:
        """Keep about so many bytes."""
        self.capacity = capacity
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._newest: dict[str, str] = {}
        self._making: dict[str, threading.Lock] = {}
        self._grown = False
        self.changes = 0
        """How often something came to be kept, or was let go."""
        self._lock = threading.Lock()

    def get(self, name: str, subject: str, kind: type[_Kept], make: Callable[[_Kept | None], _Kept]) -> _Kept:
        """Return what is kept under a name; else make it, perhaps from the newest of the same subject."""
        found = self._get(name)
        if found is None:
            with self._lock:
                turn = self._making.setdefault(name, threading.Lock())
            with taking(turn):  # of several that ask at once, one makes it and the others wait
                found = self._get(name)
                if found is None:
                    found = make(self._newest_of(subject))
                    with self._lock:
                        self._kept[name] = found
                        self._newest[subject] = name
                        self._making.pop(name, None)
                    self.grew()
        assert isinstance(found, kind)
        return found

    def _get(self, name: str) -> Any:
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
            return found

    def _newest_of(self, subject: str) -> Any:
        with self._lock:
            return self._kept.get(self._newest.get(subject, ""))

    @property
    def nbytes(self) -> int:
        """How much memory all that is kept takes; what two share counts for both."""
        with self._lock:
            return sum(item.nbytes for item in self._kept.values())

    def grew(self) -> None:
        """Note that something that is kept takes more memory than before."""
        self._grown = True
        self.changes += 1

    def trim(self) -> bool:
        """Let go of what was used least recently, if all takes too much; say whether that was needed."""
        if not self._grown:
            return False
        with self._lock:
            self._grown = False
            gone = self._evict()
        self.changes += gone
        return gone

    def has(self, subject: str) -> bool:
        """Return whether something about a subject is kept."""
        return subject in self._newest

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept.clear()
            self._newest.clear()
            self.changes += 1

    def _evict(self) -> bool:
        sizes = {name: item.nbytes for name, item in self._kept.items()}
        total, before = sum(sizes.values()), len(self._kept)
        while total > self.capacity and self._kept:
            name, _ = self._kept.popitem(last=False)
            total -= sizes[name]
        self._newest = {subject: name for subject, name in self._newest.items() if name in self._kept}
        return len(self._kept) < before
