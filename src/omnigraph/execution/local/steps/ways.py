"""The edges of a traversal over several edge types or node types, in the positions of its variables.

Each way keeps its own adjacency, which is updated by changes; what several ways find is put together
for the nodes of a query, so nothing has to be built for a combination of types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Direction, Traverse, Variable, VariableKind, Way
from omnigraph.execution.local.cache.adjacency import Adjacency
from omnigraph.execution.local.cache.edge_base import Incident
from omnigraph.execution.local.cache.edge_patch import PatchedIncident, PatchedNeighbours
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.cache.united_tables import UnitedPart, UnitedTables
from omnigraph.execution.local.frame import Mask, Positions, distinct
from omnigraph.execution.local.steps.stored_edges import StoredEdges, find_edges

_NOTHING: Positions = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class EdgePart:
    """The edges of one way between two tables: where the nodes on both sides and the edges begin."""

    edge: EdgeType
    direction: Direction
    """Seen from the near side."""
    near: UnitedPart
    far: UnitedPart
    edges_begin: int
    adjacency: Callable[[], Adjacency]

    def places_of(self, nodes: Positions) -> Positions:
        """Return the places of the nodes that are on the near side."""
        return np.flatnonzero((nodes >= self.near.begin) & (nodes < self.near.end))

    @property
    def neighbours(self) -> Neighbours | PatchedNeighbours:
        """The distinct neighbours of each near node."""
        return self.adjacency().neighbours(self.direction)

    @property
    def incident(self) -> Incident | PatchedIncident:
        """The edges of each near node."""
        return self.adjacency().incident(self.direction)


class UnitedNeighbours:
    """The neighbours of nodes over several ways, each once."""

    def __init__(self, parts: Sequence[EdgePart], near: UnitedTables, far: UnitedTables) -> None:
        self._parts = parts
        self.size = max(near.rows, far.rows) + 1
        """One more than the largest node on either side."""

        self.nodes = near.rows
        """How many nodes there are on the near side."""

    @cached_property
    def pairs(self) -> int:
        """How many neighbours all nodes have together, at most."""
        return sum(part.neighbours.pairs for part in self._parts)

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many neighbours each node has at most: one that several ways reach counts for each."""
        found = np.zeros(len(nodes), dtype=np.int64)
        for part in self._parts:
            at = part.places_of(nodes)
            found[at] += part.neighbours.degrees_of(nodes[at] - part.near.begin)
        return found

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""
        found = [_NOTHING]
        for part in self._parts:
            at = part.places_of(nodes)
            places, far = part.neighbours.expand(nodes[at] - part.near.begin)
            found.append(at[places] * self.size + (far + part.far.begin))
        keys = distinct(*found)
        return keys // self.size, keys % self.size

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Return for each pair whether the second is a neighbour of the first."""
        found = np.zeros(len(near), dtype=bool)
        for part in self._parts:
            at = part.places_of(near)
            at = at[(far[at] >= part.far.begin) & (far[at] < part.far.end)]
            found[at] |= part.neighbours.contains(near[at] - part.near.begin, far[at] - part.far.begin)
        return found


class UnitedIncident:
    """The edges at each node over several ways."""

    def __init__(self, parts: Sequence[EdgePart]) -> None:
        self._parts = parts

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many edges each node has."""
        found = np.zeros(len(nodes), dtype=np.int64)
        for part in self._parts:
            at = part.places_of(nodes)
            found[at] += part.incident.degrees_of(nodes[at] - part.near.begin)
        return found

    def expand(self, nodes: Positions) -> tuple[Positions, Positions, Positions]:
        """Return, for each edge of each node, the node's place in the input, the far end and the edge."""
        found = [(_NOTHING, _NOTHING, _NOTHING)]
        for part in self._parts:
            at = part.places_of(nodes)
            places, far, edges = part.incident.expand(nodes[at] - part.near.begin)
            found.append((at[places], far + part.far.begin, edges + part.edges_begin))
        places, far, edges = (np.concatenate([item[side] for item in found]) for side in range(3))
        return places, far, edges


class UnitedEdges:
    """The edges of a traversal: forwards from its source to its target, whatever way each edge is stored.

    Over one hop nodes are positions of the two variables. Over several hops all nodes are positions in one
    sequence of tables, that of every type which a path can visit.
    """

    def __init__(self, views: Views, traverse: Traverse, variables: Sequence[Variable]) -> None:
        self._views = views
        self._traverse = traverse
        self.source, self.target = (
            views.united_tables(variables[slot]) for slot in (traverse.source, traverse.target)
        )
        self.edges = None if traverse.edge is None else views.united_tables(variables[traverse.edge])
        if traverse.path is not None:
            self.edges = views.united_tables(edges_of(traverse))
        self._near, self._far = self.source, self.target
        self._made: dict[tuple[bool, Direction], UnitedNeighbours | UnitedIncident] = {}
        if (traverse.low, traverse.high) != (1, 1) or traverse.path is not None:
            self._near = self._far = self._all_nodes(variables)

    @property
    def nodes(self) -> UnitedTables:
        """The nodes that a search over several hops knows."""
        return self._near

    def neighbours(self, direction: Direction) -> UnitedNeighbours:
        """Return the distinct neighbours of each node: forwards from the source, else from the target."""
        found = self._made.get((False, direction))
        if not isinstance(found, UnitedNeighbours):
            near, far = self._sides(direction)
            found = self._made[False, direction] = UnitedNeighbours(self.parts(direction), near, far)
        return found

    def incident(self, direction: Direction) -> UnitedIncident:
        """Return the edges of each node: forwards from the source, else from the target."""
        found = self._made.get((True, direction))
        if not isinstance(found, UnitedIncident):
            found = self._made[True, direction] = UnitedIncident(self.parts(direction))
        return found

    def parts(self, direction: Direction) -> list[EdgePart]:
        """Return the edges of each way between two tables."""
        return [part for way in self._traverse.ways for part in self._parts_of(way, direction)]

    def enter(self, nodes: Positions, is_source: bool) -> Positions:
        """Return nodes of an end's variable as the search knows them."""
        own = self.source if is_source else self.target
        return nodes if own is self._near and own is self._far else own.convert(nodes, self._near)

    def leave(self, nodes: Positions, is_source: bool) -> Positions:
        """Return nodes of the search as positions of an end's variable; -1 for those of other types."""
        own = self.source if is_source else self.target
        return nodes if own is self._near and own is self._far else self._near.convert(nodes, own)

    def look_up(self, nodes: Positions, direction: Direction) -> StoredEdges:
        """Find the edges of some nodes through the index of their ends; without an edge variable, pairs."""
        is_distinct = self._traverse.edge is None
        found = [StoredEdges(_NOTHING, _NOTHING, _NOTHING)]
        for part in self.parts(direction):
            at = part.places_of(nodes)
            if len(at):
                own = nodes[at] - part.near.begin
                some = find_edges(self._views, part.edge, part.direction, own, is_distinct)
                far, edges = some.far + part.far.begin, some.edges + part.edges_begin
                found.append(StoredEdges(at[some.places], far, edges))
        places, far, edges = (
            np.concatenate([getattr(item, name) for item in found]) for name in ("places", "far", "edges")
        )
        if is_distinct:
            width = int(far.max(initial=0)) + 1
            keys = distinct(places * width + far)
            return StoredEdges(keys // width, keys % width, np.zeros(len(keys), dtype=np.int64))
        return StoredEdges(places, far, edges)

    def _sides(self, direction: Direction) -> tuple[UnitedTables, UnitedTables]:
        return (self._near, self._far) if direction is Direction.FORWARD else (self._far, self._near)

    def _parts_of(self, way: Way, direction: Direction) -> Iterator[EdgePart]:
        edge = self._views.catalog.edge(way.edge_type)
        assert edge is not None
        near, far = self._sides(direction)
        begin = 0 if self.edges is None else self.edges.by_type[edge.name].begin
        for stored in _stored_directions(way.direction, direction, edge):
            forward = stored is not Direction.BACKWARD
            first, last = (edge.source, edge.target) if forward else (edge.target, edge.source)
            if first in near.by_type and last in far.by_type:
                ends = (near.by_type[first], far.by_type[last])
                yield EdgePart(edge, stored, *ends, begin, lambda: self._views.adjacency(edge))

    def _all_nodes(self, variables: Sequence[Variable]) -> UnitedTables:
        """Return the tables of every type that a path can visit."""
        names = {*variables[self._traverse.source].types, *variables[self._traverse.target].types}
        for way in self._traverse.ways:
            edge = self._views.catalog.edge(way.edge_type)
            assert edge is not None
            names |= {edge.source, edge.target}
        first, *more = sorted(names)
        return self._views.united_tables(Variable(-1, None, VariableKind.NODE, first, more_types=tuple(more)))


def edges_of(traverse: Traverse) -> Variable:
    """Return a variable that ranges over all edges of a traversal."""
    first, *more = sorted({way.edge_type for way in traverse.ways})
    return Variable(-1, None, VariableKind.EDGE, first, more_types=tuple(more))


def _stored_directions(way: Direction, direction: Direction, edge: EdgeType) -> tuple[Direction, ...]:
    """Return the directions of stored edges that a way follows forwards or backwards."""
    if way is Direction.BOTH:
        apart = (Direction.FORWARD, Direction.BACKWARD)
        return (Direction.BOTH,) if edge.source == edge.target else apart
    return (Direction.FORWARD if way is direction else Direction.BACKWARD,)
