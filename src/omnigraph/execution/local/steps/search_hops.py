"""Searching the nodes within some hops of others, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.frame import NULL, Mask, Positions, distinct, find_cuts
from omnigraph.storage.numbers import subtract

Reports = tuple[Positions, Positions, Positions]
"""Place of the row, node reached, and hop."""
_Search = Callable[[Positions, "NodeNeighbours", int, int, QueryBudget, bool], Reports]

_MAX_STARTS_ONE_BY_ONE = 4
"""The most starts that are searched one at a time, with a flag for each node, instead of together."""


_MIN_NODES_ONE_BY_ONE = 4096
"""Starts that are expected to reach so many nodes each are searched one at a time, however many they are:
the flags of one search fit into the processor's cache."""
_MAX_MARKS = 1 << 24
"""The most marks, of four bytes, of a search from many starts at a time."""
_MIN_MARKED_PAIRS = 1 << 14
"""The fewest pairs that a search with marks should reach at a time; fewer are kept as sorted sets."""
_WALK_EDGES = 1 << 20
"""Edges that a search over several hops visits at once."""


class NodeNeighbours(Protocol):
    """The distinct neighbours of each node."""

    @property
    def nodes(self) -> int:
        """How many nodes there are on the near side."""

    @property
    def pairs(self) -> int:
        """How many neighbours all nodes have together, approximately."""

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many neighbours each node has, at most; NULL has none."""

    @property
    def size(self) -> int:
        """One more than the largest node on either side."""

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Return for each pair whether the second is a neighbour of the first."""


class NodeEdges(Protocol):
    """The edges of each node."""

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many edges each node has; NULL has none."""

    def expand(self, nodes: Positions) -> tuple[Positions, Positions, Positions]:
        """Return, for each edge of each node, the node's place in the input, the far end and the edge."""


class Edges(Protocol):
    """The edges that a traversal follows."""

    def neighbours(self, direction: Direction) -> NodeNeighbours:
        """Return the distinct neighbours of each node, over edges in a direction."""

    def incident(self, direction: Direction) -> NodeEdges:
        """Return the edges of each node, in a direction."""


def search(
    nodes: Positions,
    neighbours: NodeNeighbours,
    low: int,
    high: int,
    budget: QueryBudget,
    loops_at_start: bool,
) -> Reports:
    starts, of_place = np.unique(nodes[nodes != NULL], return_inverse=True)
    search = _choose_search(starts, neighbours, high)
    origins, far, hops = search(starts, neighbours, low, high, budget, loops_at_start)
    by_origin = Neighbours.of(origins, np.arange(len(origins), dtype=np.int64), len(starts))
    places, numbers = by_origin.expand(of_place.astype(np.int64))
    valid = np.flatnonzero(nodes != NULL)
    return valid[places], far[numbers], hops[numbers]


def _choose_search(starts: Positions, neighbours: NodeNeighbours, high: int) -> _Search:
    """Choose how to search: by how many nodes a start is expected to reach."""
    if len(starts) <= _MAX_STARTS_ONE_BY_ONE:
        return search_one_by_one
    width = neighbours.size
    each = neighbours.pairs / (neighbours.nodes + 1)
    first = int(neighbours.degrees_of(starts).sum()) / len(starts)
    reach = min(first * max(each, 1.0) ** min(high - 1, 30), width)
    if reach >= _MIN_NODES_ONE_BY_ONE:
        return search_one_by_one
    at_once = min(len(starts), _MAX_MARKS // width)
    return search_marked if at_once and reach * at_once >= _MIN_MARKED_PAIRS else search_together


def search_one_by_one(
    starts: Positions,
    neighbours: NodeNeighbours,
    low: int,
    high: int,
    budget: QueryBudget,
    loops_at_start: bool,
) -> Reports:
    """Search from each start, with a flag for each node that was reached."""
    found: list[Reports] = []
    size, reached = neighbours.size, 0
    for origin, start in enumerate(starts):
        seen, reported = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        seen[start] = True
        at = starts[origin : origin + 1]
        looped = loops_at_start and bool(neighbours.contains(at, at)[0])
        for hop in range(1, high + 1):
            previous, fresh, loops_of = at, [], [at if looped else at[:0]]
            for places, far in walk(neighbours, previous, budget):
                fresh.append(distinct(far[~seen[far]]))
                seen[fresh[-1]] = True
                if not loops_at_start:
                    loops_of.append(distinct(far[far == previous[places]]))
            at = news = merge_ascending(fresh)
            if hop >= low:
                loops = np.concatenate(loops_of)
                loops = loops[~reported[loops]]
                news = np.concatenate([at, loops]) if len(loops) else at
                reported[news] = True
                found.append((np.full(len(news), origin), news, np.full(len(news), hop)))
            reached += len(news)
            budget.check_rows(reached)
            if len(at) == 0:
                break
    return _concatenate(found)


def search_marked(
    starts: Positions,
    neighbours: NodeNeighbours,
    low: int,
    high: int,
    budget: QueryBudget,
    loops_at_start: bool,
) -> Reports:
    """Search from some starts at a time, with a mark for each start and node; nothing is sorted."""
    bits = neighbours.size.bit_length()
    most = max(1, min(len(starts), _MAX_MARKS >> bits))
    marks = np.zeros(most << bits, dtype=np.int32)
    found: list[Reports] = []
    pairs = 0
    for begin in range(0, len(starts), most):
        reached = _mark_from(starts[begin : begin + most], neighbours, bits, high, marks, budget, pairs)
        pairs += sum(len(keys) for keys in reached)
        for hop, keys in enumerate(reached):
            if low <= hop:
                found.append(((keys >> bits) + begin, keys & ((1 << bits) - 1), np.full(len(keys), hop)))
        if low <= high and low <= len(reached):
            # A loop reports a node at the hop after that at which it is reached, unless it was reported then.
            origin, at = reached[low - 1] >> bits, reached[low - 1] & ((1 << bits) - 1)
            if loops_at_start:
                looped = _find_loops(neighbours, starts[begin : begin + most], budget)[origin]
            else:
                looped = _find_loops(neighbours, at, budget)
            found.append(
                (origin[looped] + begin, at[looped], np.full(int(looped.sum()), low, dtype=np.int64))
            )
        if begin + most < len(starts):
            for keys in reached:
                marks[keys] = 0
    return _concatenate(found)


def _mark_from(
    starts: Positions,
    neighbours: NodeNeighbours,
    bits: int,
    high: int,
    marks: npt.NDArray[np.int32],
    budget: QueryBudget,
    pairs: int,
) -> list[Positions]:
    """Return the pairs of a start and a node by the hop at which they are first met, as numbers."""
    reached = [(np.arange(len(starts), dtype=np.int64) << bits) | starts]
    marks[reached[0]] = 1
    for _ in range(high):
        keys = reached[-1]
        prefix, at = keys >> bits << bits, keys & ((1 << bits) - 1)
        fresh = [np.empty(0, dtype=np.int64)]
        for places, far in walk(neighbours, at, budget):
            met = prefix[places] | far
            met = met[marks[met] == 0]
            # Of equal pairs the last one leaves its number.
            numbers = np.arange(1, len(met) + 1, dtype=np.int32)
            marks[met] = numbers
            fresh.append(met[marks[met] == numbers])
            pairs += len(fresh[-1])
            budget.check_rows(pairs)
        if sum(map(len, fresh)) == 0:
            break
        reached.append(np.concatenate(fresh))
    return reached


def _find_loops(neighbours: NodeNeighbours, nodes: Positions, budget: QueryBudget) -> Mask:
    """Return which nodes are their own neighbours."""
    found = np.zeros(len(nodes), dtype=bool)
    for places, far in walk(neighbours, nodes, budget):
        found[places[far == nodes[places]]] = True
    return found


def search_together(
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
            news = distinct(fresh, subtract(loops, reported))
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
    for places, far in walk(neighbours, at, budget):
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


def walk(
    neighbours: NodeNeighbours, at: Positions, budget: QueryBudget
) -> Iterator[tuple[Positions, Positions]]:
    """Yield places of nodes and their neighbours, about _WALK_EDGES at once."""
    degrees = neighbours.degrees_of(at)
    if int(degrees.sum()) <= _WALK_EDGES:
        budget.check()
        yield neighbours.expand(at)
        return
    borders = find_cuts(degrees, _WALK_EDGES)
    for first, last in pairwise(borders):
        budget.check()
        places, far = neighbours.expand(at[first:last])
        yield (places + first if first else places), far


def merge_ascending(parts: list[Positions]) -> Positions:
    """Merge sorted parts that have no number in common."""
    return parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
