"""Tables and adjacency of a snapshot as arrays. They are immutable, so they are kept by pin and shared."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.tables import Table

Positions = npt.NDArray[np.int64]


class TableView:
    """One version of one table: columns as arrays, read when first asked for. A row is its position."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._columns: dict[str, pa.Array] = {}
        self._lock = threading.Lock()

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.column("id"))

    def column(self, name: str) -> pa.Array:
        """Return a whole column."""
        with self._lock:
            if name not in self._columns:
                self._columns[name] = self._table.scan([name])[name].combine_chunks()
            return self._columns[name]


@dataclass(frozen=True)
class Adjacency:
    """The edges of a table as positions of their ends; edges without both ends are left out."""

    sources: Positions
    targets: Positions
    edges: Positions
    """The positions of the edges in their own table."""

    @cached_property
    def forward(self) -> Neighbours:
        """From sources to distinct targets."""
        return Neighbours.of(*_distinct(self.sources, self.targets))

    @cached_property
    def backward(self) -> Neighbours:
        """From targets to distinct sources."""
        return Neighbours.of(*_distinct(self.targets, self.sources))

    @cached_property
    def both(self) -> Neighbours:
        """Either way, distinct."""
        near = np.concatenate([self.sources, self.targets])
        far = np.concatenate([self.targets, self.sources])
        return Neighbours.of(*_distinct(near, far))


@dataclass(frozen=True)
class Neighbours:
    """Compressed rows: what lies next to node n stands at starts[n] to starts[n + 1]."""

    starts: Positions
    far: Positions

    @staticmethod
    def of(near: Positions, far: Positions) -> Neighbours:
        """Compress pairs, which need not be in order."""
        order = np.argsort(near, kind="stable")
        size = int(near.max()) + 1 if len(near) else 0
        starts = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(near, minlength=size), out=starts[1:]) if size else None
        return Neighbours(starts, far[order])

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""
        known = np.minimum(nodes, len(self.starts) - 1)
        begin = self.starts[known]
        end = self.starts[np.minimum(nodes + 1, len(self.starts) - 1)]
        counts = np.where(nodes >= 0, end - begin, 0)
        places = np.repeat(np.arange(len(nodes), dtype=np.int64), counts)
        offsets = np.arange(len(places), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, self.far[begin[places] + offsets]


def _distinct(near: Positions, far: Positions) -> tuple[Positions, Positions]:
    if len(near) == 0:
        return near, far
    width = int(far.max()) + 1
    keys = np.unique(near * width + far)
    return keys // width, keys % width


class Views:
    """What one snapshot looks like as arrays; taken from, and left in, a memory that snapshots share."""

    def __init__(self, snapshot: Snapshot, memory: Memory) -> None:
        self._snapshot = snapshot
        self._memory = memory

    @property
    def catalog(self) -> Catalog:
        """The schema of the snapshot."""
        return self._snapshot.catalog

    def table(self, key: str) -> TableView:
        """Return one table."""
        pin = self._snapshot.namespace.pin_path(key)
        return cast(TableView, self._memory.get(pin, lambda: TableView(self._snapshot.table(key))))

    def adjacency(self, edge: EdgeType) -> Adjacency:
        """Return the edges of a type as positions in the tables of their ends."""
        keys = (edge.table_key, f"node:{edge.source}", f"node:{edge.target}")
        name = "|".join(self._snapshot.namespace.pin_path(key) for key in keys)
        return cast(Adjacency, self._memory.get(name, lambda: self._build(*keys)))

    def _build(self, edge: str, source: str, target: str) -> Adjacency:
        rows = self.table(edge)
        sources = _index(rows.column("src"), self.table(source).column("id"))
        targets = _index(rows.column("dst"), self.table(target).column("id"))
        whole = (sources >= 0) & (targets >= 0)
        return Adjacency(sources[whole], targets[whole], np.flatnonzero(whole).astype(np.int64))


def _index(values: pa.Array, among: pa.Array) -> Positions:
    found = pc.index_in(values, value_set=among).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


class Memory:
    """Arrays by the pins they were made from; the least recently used go first."""

    def __init__(self, capacity: int = 64) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, make: Any) -> Any:
        """Return what is kept under a name, making it when it is not."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        made = make()
        with self._lock:
            self._kept[name] = made
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return made
