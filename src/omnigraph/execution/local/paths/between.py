"""The shortest path between two nodes by the number of edges: a search from both, the cheaper side first."""

from __future__ import annotations

import numpy as np

from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.frame import Positions, distinct
from omnigraph.execution.local.paths.labels import Labels
from omnigraph.execution.local.paths.layers import walk
from omnigraph.execution.local.paths.space import EdgeLists, PathSpace


def find_between(
    space: PathSpace, labels: Labels, source: int, target: int, high: int, budget: QueryBudget
) -> int | None:
    """Add the shortest path of at most `high` edges and return the label at its target, if there is one."""
    (number,) = labels.add_roots(np.array([source], dtype=np.int64)).tolist()
    if source == target:
        return int(number)
    levels = _meet(space, source, target, high, budget)
    if levels is None:
        return None
    steps: list[tuple[int, int]] = []
    node = target
    for level in reversed(levels[:-1]):
        before, edge = _choose_edge(space, node, level)
        steps.append((node, edge))
        node = before
    for hop, (node, edge) in enumerate(reversed(steps), 1):
        new = np.array([[node], [edge], [number], [hop]], dtype=np.int64)
        (number,) = labels.add(new[0], new[1], new[2], new[3], []).tolist()
    return int(number)


def _meet(
    space: PathSpace, source: int, target: int, high: int, budget: QueryBudget
) -> list[Positions] | None:
    """Return, for each distance from the source, the nodes on shortest paths to the target."""
    out, back = _Side(space, space.lists(True), source), _Side(space, space.lists(False), target)
    for _ in range(high):
        side, other = sorted((out, back), key=lambda item: item.next_work)
        side.grow(budget)
        if len(side.levels[-1]) == 0:
            return None
        if other.seen[side.levels[-1]].any():
            break
    else:
        return None
    middle = np.intersect1d(out.levels[-1], back.levels[-1], assume_unique=True)
    after = [middle]
    for level in reversed(back.levels[:-1]):
        # Of the nodes at this distance from the target, those that the shortest paths lead over.
        reached = [far for _, far, _ in walk(space.lists(True), after[-1], budget)]
        after.append(np.intersect1d(distinct(*reached), level, assume_unique=True))
    return [*out.levels[:-1], *after]


def _choose_edge(space: PathSpace, node: int, before: Positions) -> tuple[int, int]:
    """Return the smallest node of a level that an edge leads from, and the smallest such edge."""
    _, near, edges = space.lists(False).expand(np.array([node], dtype=np.int64))
    at = np.minimum(np.searchsorted(before, near), len(before) - 1)
    here = before[at] == near
    near, edges = near[here], edges[here]
    order = np.lexsort((space.order_edges(edges), space.order_nodes(near)))
    return int(near[order[0]]), int(edges[order[0]])


class _Side:
    """The nodes that were reached from one end, by their distance from it, each level sorted."""

    def __init__(self, space: PathSpace, lists: EdgeLists, node: int) -> None:
        self._lists = lists
        self.levels = [np.array([node], dtype=np.int64)]
        self.seen = np.zeros(space.width, dtype=bool)
        self.seen[node] = True

    @property
    def next_work(self) -> int:
        return int(self._lists.degrees_of(self.levels[-1]).sum())

    def grow(self, budget: QueryBudget) -> None:
        found = [np.empty(0, dtype=np.int64)]
        for _, far, _ in walk(self._lists, self.levels[-1], budget):
            fresh = distinct(far[~self.seen[far]])
            self.seen[fresh] = True
            found.append(fresh)
        self.levels.append(np.sort(np.concatenate(found)))
