"""Neighbours of nodes as compressed arrays; the lists of some nodes may be replaced by newer ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from omnigraph.base.cancellation import is_watched
from omnigraph.execution.local.frame import NULL, Mask, Positions, distinct
from omnigraph.execution.local.sorting import order_of


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of node n are degrees[n] numbers from begins[n] on.

    Positions beyond `far` continue in `newer`. `begins` and `degrees` end with an empty entry for NULL.
    """

    begins: Positions
    degrees: Positions
    far: Positions
    newer: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @staticmethod
    def of(near: Positions, far: Positions, nodes: int) -> Neighbours:
        """Compress pairs, which need not be sorted, for `nodes` nodes."""
        order = order_of(near)
        return Neighbours._from_sorted(near, far[order], nodes)

    @staticmethod
    def distinct(near: Positions, far: Positions, nodes: int) -> Neighbours:
        """Compress pairs, each pair once."""
        bits = int(far.max(initial=0)).bit_length()
        keys = distinct((near << bits) | far)
        return Neighbours._from_sorted(keys >> bits, keys & ((1 << bits) - 1), nodes)

    @staticmethod
    def _from_sorted(near: Positions, far: Positions, nodes: int) -> Neighbours:
        degrees = np.bincount(near, minlength=nodes + 1).astype(np.int64)
        return Neighbours(np.cumsum(degrees) - degrees, degrees, far)

    def replace_lists(self, lists: Neighbours, nodes: Positions, count: int) -> Neighbours:
        """Return the neighbours of `count` nodes, with the lists of some nodes taken from `lists`."""
        known = min(len(self.degrees) - 1, count)
        begins, degrees = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        begins[:known], degrees[:known] = self.begins[:known], self.degrees[:known]
        begins[nodes] = len(self.far) + lists.begins[nodes]
        degrees[nodes] = lists.degrees[nodes]
        return Neighbours(begins, degrees, self.far, lists.far)

    def shift(self, amount: int) -> Neighbours:
        """Return the same lists with an amount added to every neighbour."""
        return Neighbours(self.begins, self.degrees, self.far + amount)

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""
        if len(nodes) == 1:
            begin, count = self.begins[nodes[0]], self.degrees[nodes[0]]
            source = self.far
            if begin >= len(source):
                begin, source = begin - len(source), self.newer
            return np.zeros(count, dtype=np.int64), source[begin : begin + count]
        counts = self.degrees[nodes]
        places = np.repeat(np.arange(len(nodes), dtype=np.int64), counts)
        shifts = self.begins[nodes] - (np.cumsum(counts) - counts)
        return places, self.at(np.arange(len(places), dtype=np.int64) + shifts[places])

    def at(self, numbers: Positions) -> Positions:
        """Return the neighbours at some places."""
        if len(self.newer) == 0:
            return self.far[numbers]
        later = numbers >= len(self.far)
        if not later.any():
            return self.far[numbers]
        found = np.empty(len(numbers), dtype=np.int64)
        found[~later] = self.far[numbers[~later]]
        found[later] = self.newer[numbers[later] - len(self.far)]
        return found

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Return for each pair whether the second is a neighbour of the first."""
        bits, keys, seen = self._pairs
        asked = (near << bits) | far
        found = seen[_places_in_table(asked, seen)]
        # An entry of the table may come from another pair.
        likely = np.flatnonzero(found)
        if len(keys):
            at = np.searchsorted(keys, asked[likely])
            found[likely] = keys[np.minimum(at, len(keys) - 1)] == asked[likely]
        found[(near == NULL) | (far == NULL)] = False
        return found

    @property
    def size(self) -> int:
        """One more than the largest node on either side."""
        return max(len(self.degrees), self._largest + 1)

    @property
    def nbytes(self) -> int:
        """How much memory the pairs take."""
        pairs = self.__dict__.get("_pairs")
        asked = 0 if pairs is None else pairs[1].nbytes + pairs[2].nbytes
        return int(self.begins.nbytes + self.degrees.nbytes + self.far.nbytes + self.newer.nbytes + asked)

    @cached_property
    def _largest(self) -> int:
        return int(max(self.far.max(initial=0), self.newer.max(initial=0)))

    @cached_property
    def _pairs(self) -> tuple[int, Positions, Mask]:
        """All pairs as sorted numbers, and a hash table of flags that rules out most other pairs."""
        near, far = self.expand(np.arange(len(self.degrees) - 1, dtype=np.int64))
        bits = self.size.bit_length()
        keys = (near << bits) | far
        keys = keys[order_of(keys)] if is_watched() else np.sort(keys)
        seen = np.zeros(1 << max(10, int(len(keys) * 8).bit_length()), dtype=bool)
        seen[_places_in_table(keys, seen)] = True
        return bits, keys, seen


def _places_in_table(keys: Positions, table: Mask) -> Positions:
    """Return the place of each pair in a hash table whose length is a power of two."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - (len(table) - 1).bit_length())).astype(np.int64)
