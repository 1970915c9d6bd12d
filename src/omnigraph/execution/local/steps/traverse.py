"""Following edges from the rows of a frame, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np

from omnigraph.compiler.ir.pattern import Direction, Traverse
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.frame import NULL, Frame, Mask, Positions, distinct, find_cuts
from omnigraph.execution.plan.access import MAX_SEARCHED_PAIRS

Reports = tuple[Positions, Positions, Positions]
"""Place of the row, node reached, and hop."""

_MAX_STARTS_ONE_BY_ONE = 4
"""The most starts that are searched one at a time, with a flag for each node, instead of together."""


_WALK_EDGES = 1 << 20
"""Edges that a search over several hops visits at once."""


class NodeNeighbours(Protocol):
    """The distinct neighbours of each node."""

    @property
    def degrees(self) -> Positions:
        """How many neighbours each node has, at most; the last entry is for NULL."""

    @property
    def size(self) -> int:
        """One more than the largest node on either side."""

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Return for each pair whether the second is a neighbour of the first."""


class NodeEdges(Protocol):
    """The edges of each node."""

    @property
    def degrees(self) -> Positions:
        """How many edges each node has; the last entry is for NULL."""

    def expand(self, nodes: Positions) -> tuple[Positions, Positions, Positions]:
        """Return, for each edge of each node, the node's place in the input, the far end and the edge."""


class Edges(Protocol):
    """The edges that a traversal follows."""

    def neighbours(self, direction: Direction) -> NodeNeighbours:
        """Return the distinct neighbours of each node, over edges in a direction."""

    def incident(self, direction: Direction) -> NodeEdges:
        """Return the edges of each node, in a direction."""


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
        return _search(nodes, ahead, step.low, step.high, budget, loops_at_start=True)
    return _search(nodes, ahead, step.low, step.high, budget, loops_at_start=False)


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
        return int(self._neighbours.degrees[self.frontier].sum())

    def grow(self, budget: QueryBudget) -> None:
        found = []
        for _, far in _walk(self._neighbours, self.frontier, budget):
            fresh = distinct(far[~self.seen[far]])
            self.seen[fresh] = True
            found.append(fresh)
        self.frontier = _merge_ascending(found)


def _walk(
    neighbours: NodeNeighbours, at: Positions, budget: QueryBudget
) -> Iterator[tuple[Positions, Positions]]:
    """Yield places of nodes and their neighbours, about _WALK_EDGES at once."""
    degrees = neighbours.degrees[at]
    if int(degrees.sum()) <= _WALK_EDGES:
        budget.check()
        yield neighbours.expand(at)
        return
    borders = find_cuts(degrees, _WALK_EDGES)
    for first, last in pairwise(borders):
        budget.check()
        places, far = neighbours.expand(at[first:last])
        yield (places + first if first else places), far


def _merge_ascending(parts: list[Positions]) -> Positions:
    """Merge sorted parts that have no number in common."""
    return parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))


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


def _search(
    nodes: Positions,
    neighbours: NodeNeighbours,
    low: int,
    high: int,
    budget: QueryBudget,
    loops_at_start: bool,
) -> Reports:
    starts, of_place = np.unique(nodes[nodes != NULL], return_inverse=True)
    search = _search_one_by_one if len(starts) <= _MAX_STARTS_ONE_BY_ONE else _search_together
    origins, far, hops = search(starts, neighbours, low, high, budget, loops_at_start)
    by_origin = Neighbours.of(origins, np.arange(len(origins), dtype=np.int64), len(starts))
    places, numbers = by_origin.expand(of_place.astype(np.int64))
    valid = np.flatnonzero(nodes != NULL)
    return valid[places], far[numbers], hops[numbers]


def _search_one_by_one(
    starts: Positions,
    neighbours: NodeNeighbours,
    low: int,
    high: int,
    budget: QueryBudget,
    loops_at_start: bool,
) -> Reports:
    """Search from each start, with a flag for each node that was reached."""
    found: list[Reports] = []
    size = neighbours.size
    for origin, start in enumerate(starts):
        seen, reported = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        seen[start] = True
        at = starts[origin : origin + 1]
        looped = loops_at_start and bool(neighbours.contains(at, at)[0])
        for hop in range(1, high + 1):
            previous, fresh, loops_of = at, [], [at if looped else at[:0]]
            for places, far in _walk(neighbours, previous, budget):
                fresh.append(distinct(far[~seen[far]]))
                seen[fresh[-1]] = True
                if not loops_at_start:
                    loops_of.append(distinct(far[far == previous[places]]))
            at = news = _merge_ascending(fresh)
            if hop >= low:
                loops = np.concatenate(loops_of)
                loops = loops[~reported[loops]]
                news = np.concatenate([at, loops]) if len(loops) else at
                reported[news] = True
                found.append((np.full(len(news), origin), news, np.full(len(news), hop)))
            if len(at) == 0:
                break
    return _concatenate(found)


def _search_together(
    starts: Positions,
    neighbours: NodeNeighbours,
    low: int,
    high: int,
    budget: QueryBudget,
    loops_at_start: bool,
) -> Reports:
    """Search from all starts together, with sorted sets of (start, node)."""
    width = np.int64(neighbours.size)
    origin, at = np.arange(len(starts), dtype=np.int64), starts
    looped = neighbours.contains(starts, starts) if loops_at_start else np.zeros(len(starts), dtype=bool)
    visited = origin * width + at
    reported = np.empty(0, dtype=np.int64)
    found: list[Reports] = []
    for hop in range(1, high + 1):
        reaches, loops = _reach_next(neighbours, origin, at, budget)
        fresh = np.setdiff1d(reaches, visited, assume_unique=True)
        if loops_at_start:
            loops = (origin * width + at)[looped[origin]]
        if hop >= low:
            news = distinct(fresh, np.setdiff1d(loops, reported))
            found.append((news // width, news % width, np.full(len(news), hop)))
            reported = distinct(reported, news)
        visited = distinct(visited, fresh)
        budget.check_rows(len(visited))
        origin, at = fresh // width, fresh % width
        if len(at) == 0:
            break
    return _concatenate(found)


def _reach_next(
    neighbours: NodeNeighbours, origin: Positions, at: Positions, budget: QueryBudget
) -> tuple[Positions, Positions]:
    """Return the distinct (origin, neighbour) pairs of some nodes, and the loops among them, sorted."""
    width = np.int64(neighbours.size)
    reaches = loops = np.empty(0, dtype=np.int64)
    waiting: list[Positions] = []
    for places, far in _walk(neighbours, at, budget):
        keys = origin[places] * width + far
        loops = distinct(loops, keys[far == at[places]])
        waiting.append(distinct(keys))
        if sum(map(len, waiting)) > max(_WALK_EDGES, len(reaches)):
            reaches, waiting = distinct(reaches, *waiting), []
            budget.check_rows(len(reaches))
    if waiting:
        whole = len(waiting) == 1 and len(reaches) == 0
        reaches = waiting[0] if whole else distinct(reaches, *waiting)
    return reaches, loops


def _concatenate(found: list[Reports]) -> Reports:
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    origins, far, hops = (np.concatenate([item[part] for item in found]) for part in range(3))
    return origins, far, hops
