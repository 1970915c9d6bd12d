"""What a search has reached: a label has a node, the edge to it, and the label that the edge comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.execution.local.cache.exact_numbers import Limbs
from omnigraph.execution.local.frame import NULL, Positions

_FIRST_ROOM_LABELS = 1 << 10


class Labels:
    """Labels by number. A chain of them is a path, to its root, which has no edge."""

    def __init__(self, limbs: int) -> None:
        """Take how many limbs a cost has; none without weights."""
        self._count = 0
        self._columns = [np.empty(_FIRST_ROOM_LABELS, dtype=np.int64) for _ in range(4 + limbs)]

    def __len__(self) -> int:
        return self._count

    def add(
        self, nodes: Positions, edges: Positions, parents: Positions, hops: Positions, costs: Limbs
    ) -> Positions:
        """Add labels and return their numbers."""
        end = self._count + len(nodes)
        if end > len(self._columns[0]):
            room = max(end, 2 * len(self._columns[0]))
            self._columns = [
                np.concatenate([item, np.empty(room - len(item), dtype=np.int64)]) for item in self._columns
            ]
        for column, values in zip(self._columns, (nodes, edges, parents, hops, *costs), strict=True):
            column[self._count : end] = values
        numbers = np.arange(self._count, end, dtype=np.int64)
        self._count = end
        return numbers

    def add_roots(self, nodes: Positions) -> Positions:
        """Add labels that nothing precedes."""
        nothing, zeros = np.full(len(nodes), NULL, dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
        return self.add(nodes, nothing, nothing, zeros, [zeros for _ in self._columns[4:]])

    def nodes(self, numbers: Positions) -> Positions:
        """Return the nodes of labels."""
        return self._columns[0][numbers]

    def edges(self, numbers: Positions) -> Positions:
        """Return the edges by which labels were reached."""
        return self._columns[1][numbers]

    def parents(self, numbers: Positions) -> Positions:
        """Return the labels before some labels, -1 before a root."""
        return self._columns[2][numbers]

    def hops(self, numbers: Positions) -> Positions:
        """Return how many edges lead to labels."""
        return self._columns[3][numbers]

    def costs(self, numbers: Positions) -> Limbs:
        """Return the sums of the weights of the edges that lead to labels."""
        return [column[numbers] for column in self._columns[4:]]

    @property
    def nbytes(self) -> int:
        """How much memory the labels take."""
        return sum(column.nbytes for column in self._columns)


@dataclass(frozen=True)
class Layer:
    """Labels with equally many edges, of several searches."""

    origins: Positions
    """The number of the search that each label belongs to."""
    nodes: Positions
    labels: Positions
