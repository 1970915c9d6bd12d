"""The best paths between two nodes, one after the other, from the target backwards.

What the labels of a search from the source say of a node bounds how good a path over it can be. So ends of
paths are taken best first, and whole paths come out in their sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate

import numpy as np

from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.paths.costs import as_integers, as_limbs
from omnigraph.execution.local.paths.labels import Labels, Layer
from omnigraph.execution.local.paths.space import PathSpace

_ENDS_PER_CHECK = 256
"""Ends of paths that are taken between two looks at the limits."""


class LeastCosts:
    """The best cost of each node with so many edges from one source."""

    def __init__(self, space: PathSpace, labels: Labels, layers: list[Layer], origin: int) -> None:
        """Take the labels of a search."""
        chosen = [layer.labels[layer.origins == origin] for layer in layers]
        numbers = np.concatenate(chosen)
        nodes, hops = labels.nodes(numbers), labels.hops(numbers)
        order = np.lexsort((hops, nodes))
        self._labels = labels
        self._weighed = space.weights is not None
        self._nodes, self._hops, self._numbers = nodes[order], hops[order], numbers[order]

    def best(self, node: int, most: int) -> tuple[int, int] | None:
        """Return the cost and number of edges of the best walk to a node with at most so many edges."""
        first, last = np.searchsorted(self._nodes, (node, node + 1)).tolist()
        at = first + int(np.searchsorted(self._hops[first:last], most, side="right")) - 1
        if at < first:
            return None
        hops = int(self._hops[at])
        if not self._weighed:
            return hops, hops
        return as_integers(self._labels.costs(self._numbers[at : at + 1]))[0], hops


@dataclass(frozen=True)
class _End:
    """The last edges of a path: their nodes from the target backwards, and their weight."""

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    cost: int


_Name = tuple[int, str]
"""The number of a type, and an id."""
_Place = tuple[tuple[_Name, _Name], ...]
"""What tells equally good paths apart: the node before the target, the edge from it, and so on backwards."""


def find_best(
    space: PathSpace,
    labels: Labels,
    bounds: LeastCosts,
    ends: tuple[int, int],
    high: int,
    budget: QueryBudget,
) -> Iterator[int]:
    """Add the paths from a source to a target, best first, and yield the label at the target of each."""
    source, target = ends
    least = bounds.best(target, high)
    if least is None or source == target:
        return
    heap: list[tuple[int, int, _Place, _End]] = [(*least, (), _End((target,), (), 0))]
    taken = 0
    while heap:
        *_, place, end = heappop(heap)
        if end.nodes[-1] == source:
            yield _add_path(space, labels, end)
            continue
        taken += 1
        if taken % _ENDS_PER_CHECK == 0:
            budget.check()
            budget.check_rows(len(heap))
        edges = len(end.edges) + 1
        for near, edge, weight, name in _edges_to(space, end.nodes[-1]):
            bound = None if near in end.nodes else bounds.best(near, high - edges)
            if bound is not None:
                longer = _End((*end.nodes, near), (*end.edges, edge), end.cost + weight)
                heappush(heap, (longer.cost + bound[0], edges + bound[1], (*place, name), longer))


def _edges_to(space: PathSpace, node: int) -> Iterator[tuple[int, int, int, tuple[_Name, _Name]]]:
    """Yield the edges to a node: where each comes from, its position, its weight, and how both are called."""
    _, near, edges = space.lists(False).expand(np.array([node], dtype=np.int64))
    weights = [1] * len(edges) if space.weights is None else space.weights.plain(edges)
    names = zip(space.name_nodes(near), space.name_edges(edges), strict=True)
    yield from zip(near.tolist(), edges.tolist(), weights, names, strict=True)


def _add_path(space: PathSpace, labels: Labels, end: _End) -> int:
    """Add the labels of a whole path and return that at its target."""
    (number,) = labels.add_roots(np.array(end.nodes[-1:], dtype=np.int64)).tolist()
    edges = np.array(end.edges[::-1], dtype=np.int64)
    nodes = np.array(end.nodes[-2::-1], dtype=np.int64)
    hops = np.arange(1, len(edges) + 1, dtype=np.int64)
    costs = []
    if space.weights is not None:
        sums = list(accumulate(space.weights.plain(edges)))
        costs = as_limbs(sums, len(space.weights.limbs))
    parents = number + hops - 1
    return int(labels.add(nodes, edges, parents, hops, costs)[-1])
