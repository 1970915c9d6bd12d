"""The paths of a traversal from the nodes of some rows, or between the nodes of each row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from omnigraph.compiler.ir.pattern import Shortest, Traverse
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.frame import NULL, Positions, distinct
from omnigraph.execution.local.paths.between import find_between
from omnigraph.execution.local.paths.found import FoundPaths
from omnigraph.execution.local.paths.further import LeastCosts, find_best
from omnigraph.execution.local.paths.labels import Layer
from omnigraph.execution.local.paths.layers import LayeredSearch, keep_first, walk
from omnigraph.execution.local.paths.space import PathSpace
from omnigraph.execution.plan.access import MAX_SEARCHED_PAIRS

_MAX_MARKS = 1 << 24
"""The most pairs of a start and a node that searches at a time keep a mark for."""
Reached = tuple[Positions, Positions, Positions]
"""The number of a start, the node at the other end, and the path."""


class PathSearch:
    """Finds the paths of one traversal."""

    def __init__(self, step: Traverse, space: PathSpace, found: FoundPaths, budget: QueryBudget) -> None:
        self._step = step
        self._space = space
        self._found = found
        self._budget = budget
        self._shortest = step.shortest or Shortest(1)
        self._with_loops = step.shortest is None

    def follow(self, nodes: Positions, ends: Positions | None, backwards: bool) -> Reached:
        """Return the place of a row, the node at the other end, and a path between them, for all such paths.

        `nodes` are the sources of paths or, if `backwards`, their targets. With `ends` only paths that end in
        the node of the row have to be found; others may be.
        """
        if ends is None:
            starts, of_place = np.unique(nodes[nodes != NULL], return_inverse=True)
            valid = np.flatnonzero(nodes != NULL)
            origins, far, paths = self._from_starts(starts, backwards)
        else:
            valid = np.flatnonzero((nodes != NULL) & (ends != NULL))
            width = self._space.width
            starts, of_place = np.unique(nodes[valid] * width + ends[valid], return_inverse=True)
            near, other = starts // width, starts % width
            sources, targets = (other, near) if backwards else (near, other)
            if len(starts) <= MAX_SEARCHED_PAIRS or self._shortest.count > 1:
                origins, paths = self._between(sources, targets)
            else:
                origins, paths = self._among_all(near, other, backwards)
            far = other[origins]
        by_origin = Neighbours.of(origins, np.arange(len(origins), dtype=np.int64), len(starts))
        places, numbers = by_origin.expand(of_place.astype(np.int64))
        return valid[places], far[numbers], paths[numbers]

    def _from_starts(self, starts: Positions, backwards: bool) -> Reached:
        """Return the paths from or to some nodes."""
        if self._shortest.count > 1 and backwards:
            # Paths are enumerated from their targets with bounds from their sources: these are found first.
            origins, sources, _ = self._join(self._search_all(starts, backwards, plain=True))
            numbers, paths = self._between(sources, starts[origins])
            return origins[numbers], sources[numbers], paths
        return self._join(self._search_all(starts, backwards))

    def _among_all(self, near: Positions, other: Positions, backwards: bool) -> tuple[Positions, Positions]:
        """Return the numbers of pairs with a path, and the paths, by searches for all other ends."""
        starts, of_pair = np.unique(near, return_inverse=True)
        origins, far, paths = self._from_starts(starts, backwards)
        width = self._space.width
        keys = origins * width + far
        order = np.argsort(keys)
        wanted = of_pair * width + other
        if len(keys) == 0:
            return keys, keys
        at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        there = np.flatnonzero(keys[order][at] == wanted)
        return there, paths[order[at[there]]]

    def _between(self, sources: Positions, targets: Positions) -> tuple[Positions, Positions]:
        """Return the numbers of pairs with paths, and those paths, pair by pair or source by source."""
        if self._space.weights is None and self._shortest.count == 1:
            found = [
                self._find_by_edges(*pair) for pair in zip(sources.tolist(), targets.tolist(), strict=True)
            ]
            kept = np.array([at for at, item in enumerate(found) if item is not None], dtype=np.int64)
            labels = np.array([item[0] for item in found if item is not None], dtype=np.int64)
            loops = np.array([item[1] for item in found if item is not None], dtype=np.int64)
            return kept, self._found.add(labels, loops, np.zeros(len(kept), dtype=np.int64), backwards=False)
        parts = [(kept, kept) for kept in [np.empty(0, dtype=np.int64)]]
        for source in distinct(sources).tolist():
            chosen = np.flatnonzero(sources == source)
            parts.append(self._search_for(source, chosen, targets[chosen]))
        pairs, paths = (np.concatenate(column) for column in zip(*parts, strict=True))
        return pairs, paths

    def _find_by_edges(self, source: int, target: int) -> tuple[int, int] | None:
        """Return the label and the loop of the path between two nodes; None if there is none."""
        step, found = self._step, self._found
        before = len(found.labels)
        if source == target and not self._with_loops:
            return None
        label = find_between(self._space, found.labels, source, target, step.high, self._budget)
        if label is None:
            return None
        hops = 0 if label == before else int(found.labels.hops(np.array([label]))[0])
        if step.low <= hops <= step.high:
            return label, NULL
        if self._with_loops and step.low == hops + 1 <= step.high:
            nodes, edges = self._find_loops(np.array([target], dtype=np.int64))
            return (label, int(edges[0])) if len(nodes) else None
        return None

    def _search_for(self, source: int, pairs: Positions, targets: Positions) -> tuple[Positions, Positions]:
        """Search from one source for some targets, by weight or for several paths to each."""
        start = np.array([source], dtype=np.int64)
        search = LayeredSearch(self._space, self._found.labels, self._budget, backwards=False)
        if self._shortest.count == 1:
            others = targets[targets != source]
            layers = search.run(start, self._step.high if len(others) else 0, others)
            best = self._best(layers)
            at = np.flatnonzero(np.isin(best.nodes, targets))
            order = np.argsort(targets)
            places = order[np.searchsorted(targets[order], best.nodes[at])]
            return pairs[places], self._add(best.labels[at], backwards=False)
        layers = search.run(start, self._step.high)
        bounds = LeastCosts(self._space, self._found.labels, layers, 0)
        found_pairs, paths = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for pair, target in zip(pairs.tolist(), targets.tolist(), strict=True):
            numbers = self._enumerate(bounds, source, target)
            found_pairs.append(np.full(len(numbers), pair, dtype=np.int64))
            paths.append(numbers)
        return np.concatenate(found_pairs), np.concatenate(paths)

    def _search_all(self, starts: Positions, backwards: bool, plain: bool = False) -> Iterator[Reached]:
        """Search from some nodes at a time for whatever they reach; `plain` is one path to each."""
        most = max(1, _MAX_MARKS // self._space.width)
        search = LayeredSearch(self._space, self._found.labels, self._budget, backwards)
        for begin in range(0, len(starts), most):
            some = starts[begin : begin + most]
            layers = search.run(some, self._step.high)
            if self._with_loops:
                for origins, nodes, paths in self._by_hops(layers, some, backwards):
                    yield origins + begin, nodes, paths
                continue
            best = self._best(layers)
            if plain or self._shortest.count == 1:
                yield best.origins + begin, best.nodes, self._add(best.labels, backwards)
                continue
            for origin in distinct(best.origins).tolist():
                bounds = LeastCosts(self._space, self._found.labels, layers, origin)
                for target in best.nodes[best.origins == origin].tolist():
                    numbers = self._enumerate(bounds, int(some[origin]), target)
                    where, there = (
                        np.full(len(numbers), value, dtype=np.int64) for value in (origin + begin, target)
                    )
                    yield where, there, numbers

    def _by_hops(self, layers: list[Layer], starts: Positions, backwards: bool) -> Iterator[Reached]:
        """Yield what a search reports: nodes within the bounds, and at the lower bound also loops."""
        low, high = self._step.low, self._step.high
        for layer in layers[low : high + 1]:
            yield layer.origins, layer.nodes, self._add(layer.labels, backwards)
        if low <= high and low <= len(layers):
            layer = layers[low - 1]
            loops = starts[layer.origins] if backwards else layer.nodes
            nodes, edges = self._find_loops(distinct(loops))
            if len(nodes):
                at = np.minimum(np.searchsorted(nodes, loops), len(nodes) - 1)
                kept = np.flatnonzero(nodes[at] == loops)
                ranks = np.zeros(len(kept), dtype=np.int64)
                paths = self._found.add(layer.labels[kept], edges[at[kept]], ranks, backwards)
                yield layer.origins[kept], layer.nodes[kept], paths

    def _best(self, layers: list[Layer]) -> Layer:
        """Return the last label of each search and node, without the roots."""
        nothing = np.empty(0, dtype=np.int64)
        whole = [Layer(nothing, nothing, nothing), *layers[1:]]
        origins, nodes, labels = (
            np.concatenate([getattr(layer, name) for layer in whole])
            for name in ("origins", "nodes", "labels")
        )
        keys = origins * self._space.width + nodes
        order = np.lexsort((labels, keys))
        last = np.flatnonzero(np.append(keys[order][1:] != keys[order][:-1], [True])[: len(order)])
        chosen = order[last]
        return Layer(origins[chosen], nodes[chosen], labels[chosen])

    def _enumerate(self, bounds: LeastCosts, source: int, target: int) -> Positions:
        """Return the best paths between two nodes."""
        found = find_best(
            self._space, self._found.labels, bounds, (source, target), self._step.high, self._budget
        )
        labels = np.array(list(islice(found, self._shortest.count)), dtype=np.int64)
        nothing = np.full(len(labels), NULL, dtype=np.int64)
        return self._found.add(labels, nothing, np.arange(len(labels), dtype=np.int64), backwards=False)

    def _add(self, labels: Positions, backwards: bool) -> Positions:
        nothing = np.full(len(labels), NULL, dtype=np.int64)
        return self._found.add(labels, nothing, np.zeros(len(labels), dtype=np.int64), backwards)

    def _find_loops(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return which of some sorted nodes have a loop, and the smallest loop of each."""
        found_nodes, found_edges = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for places, far, edges in walk(self._space.lists(True), nodes, self._budget):
            loops = far == nodes[places]
            found_nodes.append(far[loops])
            found_edges.append(edges[loops])
        near, edges = np.concatenate(found_nodes), np.concatenate(found_edges)
        if len(near) == 0:
            return near, edges
        order = np.argsort(near, kind="stable")
        near, edges = near[order], edges[order]
        items, groups = keep_first(
            np.arange(len(near), dtype=np.int64),
            np.cumsum(np.append([True], near[1:] != near[:-1])) - 1,
            lambda chosen: self._space.order_edges(edges[chosen]),
        )
        first = np.append([True], groups[1:] != groups[:-1])
        return near[items[first]], edges[items[first]]

    @staticmethod
    def _join(parts: Iterator[Reached]) -> Reached:
        nothing = np.empty(0, dtype=np.int64)
        origins, far, paths = (np.concatenate(item) for item in zip((nothing,) * 3, *parts, strict=True))
        return origins, far, paths
