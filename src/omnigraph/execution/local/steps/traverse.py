"""Following edges from the rows of a frame, as arrays."""

from __future__ import annotations

import numpy as np

from omnigraph.compiler.ir.pattern import Direction, Traverse
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.frame import NULL, Frame, Mask, Positions, distinct
from omnigraph.execution.local.steps.search_hops import (
    Edges,
    NodeNeighbours,
    Reports,
    merge_ascending,
    search,
    walk,
)
from omnigraph.execution.plan.access import MAX_SEARCHED_PAIRS


def follow(step: Traverse, frame: Frame, adjacency: Edges, start: int, budget: QueryBudget) -> Frame:
    """Extend the rows of a frame over an edge type, from the bound end to the other."""
    reverse = start == step.target and start != step.source
    end = step.source if reverse else step.target
    if step.edge is not None:
        incident = adjacency.incident(direction_from(step.direction, reverse))
        places, far, edges = incident.expand(frame.columns[start])
        bound = {end: far, step.edge: edges}
        if step.length is not None:
            bound[step.length] = np.ones(len(places), dtype=np.int64)
        return join(frame, places, bound)
    if (step.low, step.high) == (1, 1):
        places, far = one_hop(step, adjacency, reverse).expand(frame.columns[start])
        hops = None if step.length is None else np.ones(len(places), dtype=np.int64)
    elif end in frame.columns and frame.rows <= MAX_SEARCHED_PAIRS:
        places, far, hops = reach_pairs(
            step, frame.columns[start], frame.columns[end], adjacency, reverse, budget
        )
    else:
        places, far, hops = reach_nodes(step, frame.columns[start], adjacency, reverse, budget)
    return join(
        frame, places, {end: far} if step.length is None or hops is None else {end: far, step.length: hops}
    )


def one_hop(step: Traverse, adjacency: Edges, reverse: bool) -> NodeNeighbours:
    """Return the neighbours over one hop of a traversal, from its source or, if `reverse`, its target."""
    return adjacency.neighbours(direction_from(step.direction, reverse))


def direction_from(direction: Direction, reverse: bool) -> Direction:
    """Return a direction from the source of a traversal or, if `reverse`, from its target."""
    return _OPPOSITE.get(direction, direction) if reverse else direction


_OPPOSITE = {Direction.FORWARD: Direction.BACKWARD, Direction.BACKWARD: Direction.FORWARD}


def reach_nodes(
    step: Traverse, nodes: Positions, adjacency: Edges, reverse: bool, budget: QueryBudget
) -> Reports:
    """Return the nodes that a traversal over several hops reports from each node.

    A node counts when it is first reached. A loop on a node of the frontier reports that node at that hop,
    unless it was reported before, and does not extend the search.
    """
    ahead = one_hop(step, adjacency, reverse)
    if reverse:
        # A target is reported by the distance from its sources, which is the distance back to them, and by
        # its own loop: a search backwards finds the same pairs when loops count at their start.
        return search(nodes, ahead, step.low, step.high, budget, loops_at_start=True)
    return search(nodes, ahead, step.low, step.high, budget, loops_at_start=False)


def reach_pairs(
    step: Traverse,
    starts: Positions,
    ends: Positions,
    adjacency: Edges,
    reverse: bool,
    budget: QueryBudget,
) -> Reports:
    """Return the hop at which each pair of nodes is reported, by a search from both sides."""
    sources, targets = (ends, starts) if reverse else (starts, ends)
    out, back = one_hop(step, adjacency, False), one_hop(step, adjacency, True)
    valid = np.flatnonzero((sources != NULL) & (targets != NULL))
    pairs = list(zip(sources[valid].tolist(), targets[valid].tolist(), strict=True))
    hops = {pair: _find_hop(step, out, back, *pair, budget) for pair in set(pairs)}
    found = np.array([hops[pair] for pair in pairs], dtype=np.int64)
    kept = valid[found > 0]
    return kept, ends[kept], found[found > 0]


def _find_hop(
    step: Traverse, out: NodeNeighbours, back: NodeNeighbours, source: int, target: int, budget: QueryBudget
) -> int:
    """Return the hop at which a target is reported from a source, 0 if it is not."""
    distance = _distance(out, back, source, target, step.high, budget)
    if distance is None:
        return 0
    if step.low <= distance <= step.high:
        return distance
    here = np.array([target], dtype=np.int64)
    looped = step.low <= distance + 1 <= step.high and bool(out.contains(here, here)[0])
    return distance + 1 if looped else 0


def _distance(
    out: NodeNeighbours, back: NodeNeighbours, source: int, target: int, limit: int, budget: QueryBudget
) -> int | None:
    """Return the length of the shortest path, expanding the cheaper side first; None beyond the limit."""
    if source == target:
        return 0
    sides = [_SearchSide(out, source), _SearchSide(back, target)]
    for length in range(1, limit + 1):
        near, other = sorted(sides, key=lambda side: side.next_work)
        near.grow(budget)
        if other.seen[near.frontier].any():
            return length
        if len(near.frontier) == 0:
            return None
    return None


class _SearchSide:
    """The nodes reached from one end."""

    def __init__(self, neighbours: NodeNeighbours, node: int) -> None:
        self._neighbours = neighbours
        self.seen: Mask = np.zeros(neighbours.size, dtype=bool)
        self.frontier = np.array([node], dtype=np.int64)
        self.seen[node] = True

    @property
    def next_work(self) -> int:
        return int(self._neighbours.degrees_of(self.frontier).sum())

    def grow(self, budget: QueryBudget) -> None:
        found = []
        for _, far in walk(self._neighbours, self.frontier, budget):
            fresh = distinct(far[~self.seen[far]])
            self.seen[fresh] = True
            found.append(fresh)
        self.frontier = merge_ascending(found)


def join(frame: Frame, places: Positions, found: dict[int, Positions]) -> Frame:
    """Bind what was found; keep only rows where bound variables agree."""
    bound = [slot for slot in found if slot in frame.columns]
    if not bound:
        return frame.take(places, found)
    same = np.ones(len(places), dtype=bool)
    for slot in bound:
        same &= frame.columns[slot][places] == found[slot]
    kept = np.flatnonzero(same)
    return frame.take(places[kept], {slot: column[kept] for slot, column in found.items()})
