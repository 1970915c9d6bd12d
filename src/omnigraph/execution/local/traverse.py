"""Following edges from the rows of a frame, as arrays."""

from __future__ import annotations

import numpy as np

from omnigraph.compiler.ir.pattern import Direction, Traverse
from omnigraph.execution.local.frame import Frame
from omnigraph.execution.local.views import Adjacency, Neighbours, Positions


def follow(step: Traverse, frame: Frame, adjacency: Adjacency, start: int) -> Frame:
    """Extend the rows of a frame over an edge type, from the end that is bound to the other one."""
    reverse = start == step.target and start != step.source
    direction = _turned(step.direction) if reverse else step.direction
    end = step.source if reverse else step.target
    if step.edge is not None:
        places, far, more = _by_edge(frame.columns[start], adjacency, direction)
        columns = {step.edge: more}
    else:
        neighbours = _neighbours(adjacency, direction)
        if (step.low, step.high) == (1, 1):
            places, far = neighbours.expand(frame.columns[start])
            hops = np.ones(len(places), dtype=np.int64)
        elif reverse:
            places, far, hops = _search_backwards(frame.columns[start], adjacency, step)
        else:
            places, far, hops = search(frame.columns[start], neighbours, step.low, step.high)
        columns = {} if step.length is None else {step.length: hops}
    return _join(frame, places, far, end, columns)


def _join(frame: Frame, places: Positions, far: Positions, end: int, columns: dict[int, Positions]) -> Frame:
    """Bind what was found; what is bound already must be the same."""
    same = np.ones(len(places), dtype=bool)
    for slot, found in {end: far, **columns}.items():
        if slot in frame.columns:
            same &= frame.columns[slot][places] == found
    kept = np.flatnonzero(same)
    return frame.take(places[kept], {slot: found[kept] for slot, found in {end: far, **columns}.items()})


def _turned(direction: Direction) -> Direction:
    turned = {Direction.FORWARD: Direction.BACKWARD, Direction.BACKWARD: Direction.FORWARD}
    return turned.get(direction, direction)


def _neighbours(adjacency: Adjacency, direction: Direction) -> Neighbours:
    if direction is Direction.BOTH:
        return adjacency.both
    return adjacency.forward if direction is Direction.FORWARD else adjacency.backward


def _by_edge(
    nodes: Positions, adjacency: Adjacency, direction: Direction
) -> tuple[Positions, Positions, Positions]:
    """Return, for each edge at each node: the node's place, the far end, and the edge."""
    near, far, edges = adjacency.sources, adjacency.targets, adjacency.edges
    if direction is Direction.BACKWARD:
        near, far = far, near
    elif direction is Direction.BOTH:
        other = adjacency.sources != adjacency.targets  # a loop is met once
        near, far, edges = (
            np.concatenate([near, far[other]]),
            np.concatenate([far, near[other]]),
            np.concatenate([edges, edges[other]]),
        )
    places, numbers = Neighbours.of(near, np.arange(len(near), dtype=np.int64)).expand(nodes)
    return places, far[numbers], edges[numbers]


def search(
    nodes: Positions, neighbours: Neighbours, low: int, high: int
) -> tuple[Positions, Positions, Positions]:
    """Search breadth-first from every node at once; return place, node reached and hop of each report.

    A node counts when it is first reached. A loop on a node of the frontier reports that node at that hop,
    unless it was reported before, and does not extend the search.
    """
    starts, of_place = np.unique(nodes[nodes >= 0], return_inverse=True)
    width = np.int64(
        max(len(neighbours.starts), int(neighbours.far.max(initial=0)) + 1, int(starts.max(initial=0)) + 1)
    )
    origin = np.arange(len(starts), dtype=np.int64)
    at = starts
    visited = np.sort(origin * width + at)
    reported = np.empty(0, dtype=np.int64)
    found: list[tuple[Positions, int]] = []
    hop = 0
    while len(at) and hop < high:
        hop += 1
        places, far = neighbours.expand(at)
        reached = origin[places] * width + far
        loops = np.unique(reached[far == at[places]])
        fresh = np.setdiff1d(reached, visited)
        if hop >= low:
            news = np.union1d(fresh, np.setdiff1d(loops, reported))
            found.append((news, hop))
            reported = np.union1d(reported, news)
        visited = np.union1d(visited, fresh)
        origin, at = fresh // width, fresh % width
    keys = np.concatenate([item for item, _ in found]) if found else np.empty(0, dtype=np.int64)
    hops = np.concatenate([np.full(len(item), h) for item, h in found]) if found else keys
    return _per_place(nodes, of_place, keys // width, keys % width, hops.astype(np.int64))


def _per_place(
    nodes: Positions, of_place: Positions, origins: Positions, far: Positions, hops: Positions
) -> tuple[Positions, Positions, Positions]:
    """Give the reports of each distinct start to every place that starts there."""
    by_origin = Neighbours.of(origins, np.arange(len(origins), dtype=np.int64))
    places, numbers = by_origin.expand(of_place.astype(np.int64))
    valid = np.flatnonzero(nodes >= 0).astype(np.int64)
    return valid[places], far[numbers], hops[numbers]


def _search_backwards(
    nodes: Positions, adjacency: Adjacency, step: Traverse
) -> tuple[Positions, Positions, Positions]:
    """Find the sources of given targets: distances are those of searches from the sources."""
    forward = _neighbours(adjacency, step.direction)
    sources = np.unique(adjacency.sources if step.direction is Direction.FORWARD else adjacency.targets)
    if step.direction is Direction.BOTH:
        sources = np.unique(np.concatenate([adjacency.sources, adjacency.targets]))
    places, reached, hops = search(sources, forward, step.low, step.high)
    by_target = Neighbours.of(reached, np.arange(len(reached), dtype=np.int64))
    at, numbers = by_target.expand(nodes)
    return at, sources[places[numbers]], hops[numbers]
