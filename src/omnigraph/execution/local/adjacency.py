"""Edges as arrays of positions, compressed by node, made from integers once for each edge-table version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.frame import NULL, Mask, Positions
from omnigraph.execution.local.lookup import Lookup


@dataclass(frozen=True)
class Neighbours:
    """Compressed rows: what lies next to node n stands at starts[n] to starts[n + 1], in ascending order."""

    starts: Positions
    far: Positions

    @staticmethod
    def of(near: Positions, far: Positions, nodes: int) -> Neighbours:
        """Compress pairs, which need not be in order, for so many nodes."""
        order = np.argsort(near, kind="stable")
        return Neighbours(_starts(near, nodes), far[order])

    @staticmethod
    def distinct(near: Positions, far: Positions, nodes: int) -> Neighbours:
        """Compress pairs, each pair once."""
        bits = int(far.max(initial=0)).bit_length()
        keys = np.unique((near << bits) | far)
        return Neighbours(_starts(keys >> bits, nodes), keys & ((1 << bits) - 1))

    @cached_property
    def degrees(self) -> Positions:
        """The number of neighbours of each node, with a 0 at the end for NULL."""
        return np.append(np.diff(self.starts), 0)

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""
        if len(nodes) == 1 and nodes[0] != NULL:
            found = self.far[self.starts[nodes[0]] : self.starts[nodes[0] + 1]]
            return np.zeros(len(found), dtype=np.int64), found
        counts = self.degrees[nodes]
        ends = np.cumsum(counts)
        places = np.repeat(np.arange(len(nodes), dtype=np.int64), counts)
        shifts = self.starts[nodes] - (ends - counts)
        return places, self.far[np.arange(len(places), dtype=np.int64) + shifts[places]]

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Say of each pair whether it is one of these."""
        bits, keys, seen = self._pairs
        asked = (near << bits) | far
        found = seen[_short(asked, seen)]
        # A mark in the short table may come from another pair.
        likely = np.flatnonzero(found)
        if len(keys):
            at = np.searchsorted(keys, asked[likely])
            found[likely] = keys[np.minimum(at, len(keys) - 1)] == asked[likely]
        found[(near == NULL) | (far == NULL)] = False
        return found

    @property
    def nbytes(self) -> int:
        """How much memory the pairs take."""
        return self.starts.nbytes + self.far.nbytes

    @cached_property
    def _pairs(self) -> tuple[int, Positions, Mask]:
        """All pairs as sorted numbers, and a table that tells most other pairs from them."""
        near = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int64), np.diff(self.starts))
        bits = max(int(self.far.max(initial=0)), len(self.starts)).bit_length()
        keys = np.sort((near << bits) | self.far)
        seen = np.zeros(1 << max(10, int(len(keys) * 8).bit_length()), dtype=bool)
        seen[_short(keys, seen)] = True
        return bits, keys, seen


class EdgeRows(Protocol):
    """The table view that adjacency is made from."""

    rows: int

    @property
    def live(self) -> Mask | None:
        """Which rows are still there."""

    def column(self, name: str) -> pa.Array:
        """A whole column."""

    def lookup(self, name: str, key: bool) -> Lookup | None:
        """An index of a column."""


@dataclass(frozen=True)
class Adjacency:
    """The edges of a table as positions of their ends; edges without both ends are left out."""

    sources: Positions
    targets: Positions
    edges: Positions
    """The positions of the edges in their own table."""
    source_rows: int
    target_rows: int

    @staticmethod
    def of(rows: EdgeRows, sources: EdgeRows, targets: EdgeRows) -> Adjacency:
        """Find the ends of all edges among the nodes."""
        from_, to = _ends(rows.column("src"), sources), _ends(rows.column("dst"), targets)
        whole = (from_ != NULL) & (to != NULL)
        if rows.live is not None:
            whole &= rows.live
        edges = np.flatnonzero(whole)
        return Adjacency(from_[edges], to[edges], edges, sources.rows, targets.rows)

    def neighbours(self, direction: Direction) -> Neighbours:
        """Return the distinct neighbours of each node, over edges in a direction."""
        if direction is Direction.BOTH:
            return self._both
        return self._forward if direction is Direction.FORWARD else self._backward

    def incident(self, direction: Direction) -> tuple[Neighbours, Positions, Positions]:
        """Return the numbers of the edges at each node, and by number the far ends and the edges."""
        if direction is Direction.BOTH:
            return self._edges_at
        if direction is Direction.FORWARD:
            return self._edges_out, self.targets, self.edges
        return self._edges_in, self.sources, self.edges

    @property
    def nbytes(self) -> int:
        """How much memory the adjacency takes."""
        parts = [item for item in vars(self).values() if isinstance(item, Neighbours)]
        return 3 * self.sources.nbytes + sum(item.nbytes for item in parts)

    @cached_property
    def _forward(self) -> Neighbours:
        return Neighbours.distinct(self.sources, self.targets, self.source_rows)

    @cached_property
    def _backward(self) -> Neighbours:
        return Neighbours.distinct(self.targets, self.sources, self.target_rows)

    @cached_property
    def _both(self) -> Neighbours:
        near = np.concatenate([self.sources, self.targets])
        far = np.concatenate([self.targets, self.sources])
        return Neighbours.distinct(near, far, self.source_rows)

    @cached_property
    def _edges_out(self) -> Neighbours:
        return Neighbours.of(self.sources, np.arange(len(self.sources), dtype=np.int64), self.source_rows)

    @cached_property
    def _edges_in(self) -> Neighbours:
        return Neighbours.of(self.targets, np.arange(len(self.targets), dtype=np.int64), self.target_rows)

    @cached_property
    def _edges_at(self) -> tuple[Neighbours, Positions, Positions]:
        other = self.sources != self.targets  # a loop is met once
        near = np.concatenate([self.sources, self.targets[other]])
        far = np.concatenate([self.targets, self.sources[other]])
        edges = np.concatenate([self.edges, self.edges[other]])
        numbers = np.arange(len(near), dtype=np.int64)
        return Neighbours.of(near, numbers, self.source_rows), far, edges


def _ends(values: pa.Array, nodes: EdgeRows) -> Positions:
    index = nodes.lookup("id", key=True)
    assert index is not None
    return index.find_each(values)


def _starts(near: Positions, nodes: int) -> Positions:
    starts = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(near, minlength=nodes), out=starts[1:])
    return starts


def _short(keys: Positions, table: Mask) -> Positions:
    """Return a place in a table, whose length is a power of two, for each pair."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - (len(table) - 1).bit_length())).astype(np.int64)
