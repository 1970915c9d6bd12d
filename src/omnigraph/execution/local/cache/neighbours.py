"""Neighbours of nodes as compressed arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omnigraph.execution.local.frame import NULL, Mask, Positions
from omnigraph.execution.local.sorting import order_of, sort_numbers
from omnigraph.storage.numbers import is_first


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of node n are degrees[n] numbers of `far` from begins[n] on.

    `begins` and `degrees` end with an empty entry for NULL.
    """

    begins: Positions
    degrees: Positions
    far: Positions

    @staticmethod
    def of(near: Positions, far: Positions, nodes: int) -> Neighbours:
        """Compress pairs, which need not be sorted, for `nodes` nodes."""
        order = order_of(near)
        return Neighbours._from_sorted(near, far[order], nodes)

    @staticmethod
    def distinct(near: Positions, far: Positions, nodes: int) -> Neighbours:
        """Compress pairs, each pair once."""
        return Neighbours.distinct_counted(near, far, nodes)[0]

    @staticmethod
    def distinct_counted(near: Positions, far: Positions, nodes: int) -> tuple[Neighbours, RepeatedPairs]:
        """Compress pairs, each pair once; return which pairs there are several times, too."""
        bits = int(far.max(initial=0)).bit_length()
        ordered = sort_numbers((near << bits) | far)
        places = np.flatnonzero(is_first(ordered))
        keys = ordered[places]
        repeated = RepeatedPairs.none(bits)
        if len(keys) < len(ordered):
            counts = np.diff(places, append=len(ordered))
            repeated = RepeatedPairs(bits, keys[counts > 1], counts[counts > 1])
        found = Neighbours._from_sorted(keys >> bits, keys & ((1 << bits) - 1), nodes)
        return found, repeated

    @staticmethod
    def _from_sorted(near: Positions, far: Positions, nodes: int) -> Neighbours:
        degrees = np.bincount(near, minlength=nodes + 1).astype(np.int64)
        return Neighbours(np.cumsum(degrees) - degrees, degrees, far)

    @property
    def nodes(self) -> int:
        """How many nodes there are on the near side."""
        return len(self.degrees) - 1

    @property
    def pairs(self) -> int:
        """How many neighbours all nodes have together."""
        return len(self.far)

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many neighbours each node has."""
        return self.degrees[nodes]

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""
        if len(nodes) == 1:
            begin, count = self.begins[nodes[0]], self.degrees[nodes[0]]
            return np.zeros(count, dtype=np.int64), self.far[begin : begin + count]
        places, numbers = list_places(self.begins[nodes], self.degrees[nodes])
        return places, self.far[numbers]

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Return for each pair whether the second is a neighbour of the first."""
        bits, keys, seen = self._all_pairs
        asked = (near << bits) | far
        found = seen[_places_in_table(asked, seen)]
        # An entry of the table may come from another pair.
        likely = np.flatnonzero(found)
        if len(keys):
            at = np.searchsorted(keys, asked[likely])
            found[likely] = keys[np.minimum(at, len(keys) - 1)] == asked[likely]
        found[(near == NULL) | (far == NULL) | (far >= self.size)] = False
        return found

    @property
    def size(self) -> int:
        """One more than the largest node on either side."""
        return max(len(self.degrees), self._largest + 1)

    @property
    def nbytes(self) -> int:
        """How much memory the pairs take."""
        pairs = self.__dict__.get("_all_pairs")
        asked = 0 if pairs is None else pairs[1].nbytes + pairs[2].nbytes
        return int(self.begins.nbytes + self.degrees.nbytes + self.far.nbytes + asked)

    @cached_property
    def _largest(self) -> int:
        return int(self.far.max(initial=0))

    @cached_property
    def _all_pairs(self) -> tuple[int, Positions, Mask]:
        """All pairs as sorted numbers, and a hash table of flags that rules out most other pairs."""
        near, far = self.expand(np.arange(self.nodes, dtype=np.int64))
        bits = self.size.bit_length()
        keys = sort_numbers((near << bits) | far)
        seen = np.zeros(1 << max(10, int(len(keys) * 8).bit_length()), dtype=bool)
        seen[_places_in_table(keys, seen)] = True
        return bits, keys, seen


@dataclass(frozen=True)
class RepeatedPairs:
    """Pairs of nodes that several edges connect, as sorted numbers, and how many do."""

    bits: int
    keys: Positions
    counts: Positions

    @staticmethod
    def none(bits: int) -> RepeatedPairs:
        """Return that no pair is connected by several edges."""
        return RepeatedPairs(bits, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def without(self, near: Positions, far: Positions) -> tuple[Positions, Positions]:
        """Return the pairs that no edge connects any longer when one is gone for each pair given."""
        ordered = sort_numbers((near << self.bits) | far)
        places = np.flatnonzero(is_first(ordered))
        keys, gone = ordered[places], np.diff(places, append=len(ordered))
        there = np.ones(len(keys), dtype=np.int64)
        if len(self.keys):
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            there = np.where(self.keys[at] == keys, self.counts[at], 1)
        keys = keys[gone >= there]
        return keys >> self.bits, keys & ((1 << self.bits) - 1)

    @property
    def nbytes(self) -> int:
        """How much memory the pairs take."""
        return self.keys.nbytes + self.counts.nbytes


def list_places(begins: Positions, counts: Positions) -> tuple[Positions, Positions]:
    """Return, for each item of some lists, the number of its list and its place in the array of all lists."""
    places = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    shifts = begins - (np.cumsum(counts) - counts)
    return places, np.arange(len(places), dtype=np.int64) + shifts[places]


def _places_in_table(keys: Positions, table: Mask) -> Positions:
    """Return the place of each pair in a hash table whose length is a power of two."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - (len(table) - 1).bit_length())).astype(np.int64)
