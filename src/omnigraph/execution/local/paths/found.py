"""The paths of one path variable: rows have their numbers, and values read them when they are asked for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.values import PathPart, PathValue
from omnigraph.execution.local.frame import NULL, Positions
from omnigraph.execution.local.paths.costs import as_integers
from omnigraph.execution.local.paths.labels import Labels
from omnigraph.execution.local.paths.space import PathSpace
from omnigraph.graph.model.arrow_values import to_arrow


class FoundPaths:
    """Paths by number: the label at its far end, the loop that follows it if any, and its rank."""

    def __init__(self, space: PathSpace) -> None:
        self.space = space
        self.labels = Labels(0 if space.weights is None else len(space.weights.limbs))
        self._parts: list[tuple[Positions, Positions, Positions, Positions]] = []
        self._count = 0
        self._whole: tuple[Positions, ...] = ()

    def add(self, labels: Positions, loops: Positions, ranks: Positions, backwards: bool) -> Positions:
        """Add paths and return their numbers; `backwards`, labels are at sources and roots at targets."""
        turned = np.full(len(labels), backwards, dtype=np.int64)
        self._parts.append((labels, loops, ranks, turned))
        self._whole = ()
        numbers = np.arange(self._count, self._count + len(labels), dtype=np.int64)
        self._count += len(labels)
        return numbers

    def array(self, value: PathValue, numbers: Positions) -> pa.Array:
        """Return a part of some paths; NULL for -1."""
        known = numbers != NULL
        labels, loops, ranks, turned = (column[numbers[known]] for column in self._columns())
        match value.part:
            case PathPart.RANK:
                return _spread(ranks, known)
            case PathPart.LENGTH:
                return _spread(self.labels.hops(labels) + (loops != NULL), known)
            case PathPart.COST:
                return self._costs(value, labels, loops, known)
            case PathPart.NODES:
                return self._nodes(labels, loops, turned, known)
            case PathPart.EDGES:
                return self._edges(labels, loops, turned, known)

    def lengths(self, numbers: Positions) -> Positions:
        """Return how many edges some paths have."""
        labels, loops, _, _ = (column[numbers[numbers != NULL]] for column in self._columns())
        sizes: Positions = self.labels.hops(labels) + (loops != NULL)
        return sizes

    def _columns(self) -> tuple[Positions, ...]:
        if not self._whole:
            nothing = [np.empty(0, dtype=np.int64)] * 4
            self._whole = tuple(np.concatenate(item) for item in zip(*(nothing, *self._parts), strict=True))
        return self._whole

    def _costs(self, value: PathValue, labels: Positions, loops: Positions, known: Positions) -> pa.Array:
        weights = self.space.weights
        if weights is None:
            return _spread(self.labels.hops(labels) + (loops != NULL), known)
        shown = iter([weights.show(cost) for cost in as_integers(self.labels.costs(labels))])
        return to_arrow([next(shown) if here else None for here in known.tolist()], value.type)

    def _nodes(self, labels: Positions, loops: Positions, turned: Positions, known: Positions) -> pa.Array:
        """Return the ids of the nodes from source to target; a loop comes back to the last one."""
        hops = self.labels.hops(labels)
        sizes = hops + 1 + (loops != NULL)
        begins = np.cumsum(sizes) - sizes
        found = np.empty(int(sizes.sum()), dtype=np.int64)
        for at, places, current in self._along(labels):
            found[begins[places] + np.where(turned[places], at, hops[places] - at)] = self.labels.nodes(
                current
            )
        looped = np.flatnonzero(loops != NULL)
        ends = begins[looped] + sizes[looped] - 1
        found[ends] = found[ends - 1]
        return _lists(self.space.node_ids(found), sizes, known)

    def _edges(self, labels: Positions, loops: Positions, turned: Positions, known: Positions) -> pa.Array:
        hops = self.labels.hops(labels)
        sizes = hops + (loops != NULL)
        begins = np.cumsum(sizes) - sizes
        found = np.empty(int(sizes.sum()), dtype=np.int64)
        for at, places, current in self._along(labels):
            inner = at < hops[places]
            there, numbers = places[inner], current[inner]
            place = np.where(turned[there], at, hops[there] - at - 1)
            found[begins[there] + place] = self.labels.edges(numbers)
        looped = np.flatnonzero(loops != NULL)
        found[begins[looped] + sizes[looped] - 1] = loops[looped]
        return _lists(self.space.edge_ids(found), sizes, known)

    def _along(self, labels: Positions) -> list[tuple[int, Positions, Positions]]:
        """Return the labels of all paths from the far ends to the roots, step by step, with their places."""
        found, at = [], 0
        places, current = np.arange(len(labels), dtype=np.int64), labels
        while len(current):
            found.append((at, places, current))
            before = self.labels.parents(current)
            places, current, at = places[before != NULL], before[before != NULL], at + 1
        return found


def _spread(values: Positions, known: Positions) -> pa.Array:
    """Return numbers at the places that are known, NULL at the others."""
    found = np.zeros(len(known), dtype=np.int64)
    found[known] = values
    return pa.array(found, pa.int64(), mask=~known)


def _lists(ids: pa.Array, sizes: Positions, known: Positions) -> pa.Array:
    spread = np.zeros(len(known), dtype=np.int64)
    spread[known] = sizes
    offsets = np.concatenate([[0], np.cumsum(spread)]).astype(np.int32)
    kind = pa.list_(pa.field("item", pa.string()))
    return pa.ListArray.from_arrays(pa.array(offsets), ids, type=kind, mask=pa.array(~known))
