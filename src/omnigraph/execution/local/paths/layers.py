"""One search from each of some nodes: all labels with one edge, then with two, and so on.

A node gets a label for a number of edges if no path with fewer is as cheap. So every label stands for a path
without a repeated node, and the last one of a node for the best path to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.exact_numbers import Limbs
from omnigraph.execution.local.frame import NULL, Mask, Positions, find_cuts
from omnigraph.execution.local.paths.costs import add, is_equal, is_less
from omnigraph.execution.local.paths.labels import Labels, Layer
from omnigraph.execution.local.paths.space import EdgeLists, PathSpace
from omnigraph.storage.numbers import is_first

_WALK_EDGES = 1 << 20
"""Edges that are followed at once."""


@dataclass(frozen=True)
class _Candidates:
    """Labels that may be added, with the places of the ones before them in the layer before."""

    keys: Positions
    places: Positions
    nodes: Positions
    edges: Positions
    costs: Limbs

    def take(self, chosen: Positions | Mask) -> _Candidates:
        return _Candidates(
            self.keys[chosen],
            self.places[chosen],
            self.nodes[chosen],
            self.edges[chosen],
            [limb[chosen] for limb in self.costs],
        )

    @staticmethod
    def join(parts: list[_Candidates]) -> _Candidates:
        if len(parts) == 1:
            return parts[0]
        keys, places, nodes, edges = (
            np.concatenate([getattr(item, name) for item in parts])
            for name in ("keys", "places", "nodes", "edges")
        )
        costs = [np.concatenate(limbs) for limbs in zip(*(item.costs for item in parts), strict=True)]
        return _Candidates(keys, places, nodes, edges, costs)


class LayeredSearch:
    """Searches from some nodes at a time; backwards, if these are the targets of paths."""

    def __init__(self, space: PathSpace, labels: Labels, budget: QueryBudget, backwards: bool) -> None:
        self._space = space
        self._labels = labels
        self._budget = budget
        self._backwards = backwards
        self._best: Positions = np.full(0, NULL, dtype=np.int64)

    def run(self, starts: Positions, high: int, wanted: Positions | None = None) -> list[Layer]:
        """Return the labels by their number of edges, the roots first.

        A search by weight from one node ends when it can improve none of the nodes that are `wanted`.
        """
        space, labels = self._space, self._labels
        width, first = space.width, len(labels)
        self._prepare(len(starts) * width)
        origins = np.arange(len(starts), dtype=np.int64)
        layers = [Layer(origins, starts, labels.add_roots(starts))]
        self._best[origins * width + starts] = layers[0].labels
        active, ranks = layers[0], np.zeros(len(starts), dtype=np.int64)
        limit: Limbs | None = None
        for hop in range(1, high + 1):
            found = self._step(active, ranks, limit)
            if len(found.keys) == 0:
                break
            before = active
            active = self._add(before, found, hop)
            self._budget.check_rows(len(labels) - first)
            self._budget.need(labels.nbytes)
            layers.append(active)
            if hop < high:
                ranks = self._rank(ranks, found)
                limit = None if wanted is None else self._find_limit(wanted)
        for layer in layers:
            self._best[layer.origins * width + layer.nodes] = NULL
        return layers

    def _prepare(self, size: int) -> None:
        if len(self._best) < size:
            self._best = np.full(size, NULL, dtype=np.int64)

    def _step(self, active: Layer, ranks: Positions, limit: Limbs | None) -> _Candidates:
        """Return the best new label of each search and node that the next edge leads to, below a limit."""
        costs = self._labels.costs(active.labels)
        found = []
        for places, far, edges in walk(self._space.lists(not self._backwards), active.nodes, self._budget):
            keys = active.origins[places] * self._space.width + far
            known = self._best[keys]
            if self._space.weights is None:
                fresh, sums = known == NULL, list[Positions]()
            else:
                sums = add(
                    [limb[places] for limb in costs], [limb[edges] for limb in self._space.weights.limbs]
                )
                fresh = (known == NULL) | is_less(sums, self._labels.costs(known))
                if limit is not None:
                    fresh &= is_less(sums, limit)
            some = _Candidates(keys, places, far, edges, sums)
            found.append(some if fresh.all() else some.take(fresh))
            self._budget.check_rows(sum(len(item.keys) for item in found))
        return self._choose(_Candidates.join(found), active, ranks)

    def _choose(self, found: _Candidates, active: Layer, ranks: Positions) -> _Candidates:
        """Return the cheapest candidate of each key; of equally cheap ones that which comes first."""
        order = (
            np.lexsort((*found.costs, found.keys)) if found.costs else np.argsort(found.keys, kind="stable")
        )
        heads = is_first(found.keys[order])
        if heads.all():
            return found.take(order)
        groups = np.cumsum(heads) - 1
        if found.costs:
            best = order[heads]
            cheapest = is_equal(
                [limb[order] for limb in found.costs], [limb[best][groups] for limb in found.costs]
            )
            order, groups = order[cheapest], groups[cheapest]

        def rank_before(chosen: Positions) -> Positions:
            places = found.places[chosen]
            return ranks[places] if self._backwards else self._space.order_nodes(active.nodes[places])

        order, groups = keep_first(order, groups, rank_before)
        order, _ = keep_first(order, groups, lambda chosen: self._space.order_edges(found.edges[chosen]))
        # What is left is one edge, which a search in both directions may meet twice.
        return found.take(order[is_first(found.keys[order])])

    def _add(self, before: Layer, found: _Candidates, hop: int) -> Layer:
        hops = np.full(len(found.keys), hop, dtype=np.int64)
        parents = before.labels[found.places]
        numbers = self._labels.add(found.nodes, found.edges, parents, hops, found.costs)
        self._best[found.keys] = numbers
        return Layer(found.keys // self._space.width, found.nodes, numbers)

    def _rank(self, ranks: Positions, found: _Candidates) -> Positions:
        """Return a number for each label, smaller if its path to the target comes first."""
        if not self._backwards:
            return ranks  # the nodes themselves tell which comes first
        nodes, edges = self._space.order_nodes(found.nodes), self._space.order_edges(found.edges)
        order = np.lexsort((edges, nodes, ranks[found.places]))
        placed = np.empty(len(order), dtype=np.int64)
        placed[order] = np.arange(len(order), dtype=np.int64)
        return placed

    def _find_limit(self, wanted: Positions) -> Limbs | None:
        """Return the cost of the dearest of some nodes; None until all are reached."""
        known = self._best[wanted]
        if (known == NULL).any():
            return None
        costs = self._labels.costs(known)
        last = np.lexsort(tuple(costs))[-1:]
        return [limb[last] for limb in costs]


def keep_first(
    items: Positions, groups: Positions, order: Callable[[Positions], Positions]
) -> tuple[Positions, Positions]:
    """Return the items that come first in their groups, which stand together; `order` sees no single ones."""
    counts = np.bincount(groups)
    several = counts[groups] > 1
    if not several.any():
        return items, groups
    tied, of = items[several], groups[several]
    ranks = order(tied)
    sequence = np.lexsort((ranks, of))
    tied, of, ranks = tied[sequence], of[sequence], ranks[sequence]
    heads = is_first(of)
    best = ranks[heads][np.cumsum(heads) - 1]
    kept = ranks == best
    found = np.concatenate([items[~several], tied[kept]])
    found_groups = np.concatenate([groups[~several], of[kept]])
    together = np.argsort(found_groups, kind="stable")
    return found[together], found_groups[together]


def walk(
    lists: EdgeLists, nodes: Positions, budget: QueryBudget
) -> Iterator[tuple[Positions, Positions, Positions]]:
    """Yield places of nodes, far ends and edges, about _WALK_EDGES at once."""
    borders = find_cuts(lists.degrees_of(nodes), _WALK_EDGES) or [0, len(nodes)]
    for first, last in pairwise(borders):
        budget.check()
        places, far, edges = lists.expand(nodes[first:last])
        yield (places + first if first else places), far, edges
