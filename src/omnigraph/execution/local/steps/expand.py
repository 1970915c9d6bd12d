"""Expanding edges as planned: by adjacency or an index of their ends; far ends are visited or counted."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Block, Direction, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.frame import (
    NULL,
    Frame,
    Mask,
    Positions,
    find_cuts,
    multiply_weights,
    sum_weights,
)
from omnigraph.execution.local.steps.block_steps import condition_of, traverse_of
from omnigraph.execution.local.steps.expand_paths import PathExpander
from omnigraph.execution.local.steps.scan import Scans
from omnigraph.execution.local.steps.search_hops import Edges
from omnigraph.execution.local.steps.stored_edges import StoredEdges, extend, find_edges
from omnigraph.execution.local.steps.traverse import direction_from, follow, one_hop, reach_nodes
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.local.steps.ways import UnitedEdges
from omnigraph.execution.local.trace import Trace
from omnigraph.execution.plan.access import MAX_LOOKUPS, Route
from omnigraph.execution.plan.nodes import CountExpand, Expand

PIECE_ROWS = 1 << 20
"""Rows that an action returns at once, unless one input row gives more."""


class Expander:
    """Expands edges of one snapshot, for one query."""

    def __init__(
        self,
        query: ReadQuery,
        values: Values,
        views: Views,
        scans: Scans,
        budget: QueryBudget,
        trace: Trace | None,
    ) -> None:
        self._variables = query.variables
        self._values = values
        self._views = views
        self._scans = scans
        self._budget = budget
        self._trace = trace
        self._worth: dict[int, tuple[Mask, Positions]] = {}
        """By variable: which nodes are known as far ends of a `CountExpand`, and how often each counts."""
        self._query = query
        self._united: dict[Traverse, UnitedEdges] = {}
        """The edges of traversals over several types; such a traversal is taken as one over forward edges."""

    @cached_property
    def _paths(self) -> PathExpander:
        return PathExpander(self._query, self._values, self._views, self._budget)

    def expand(self, action: Expand, block: Block, frame: Frame) -> Frame:
        """Return rows with the far ends of their edges that pass the filters."""
        written = traverse_of(block, action.traverse)
        traverse = self._traverse(block, action.traverse)
        stored = self._look_up_edges(action, traverse, frame.columns[action.start])
        if written.path is not None:
            found = self._paths.follow(written, frame, action.start)
        elif stored is not None:
            end = traverse.target if action.start == traverse.source else traverse.source
            found = extend(frame, stored, traverse, end)
        else:
            found = self._follow(traverse, frame, action.start)
        for number in action.filters:
            found = self._scans.filter_rows(condition_of(block, number), found)
        return found

    def _follow(self, traverse: Traverse, frame: Frame, start: int) -> Frame:
        """Return rows with the far ends of their edges, by adjacency."""
        united = self._unite(traverse)
        if united is None or (traverse.low, traverse.high) == (1, 1):
            return follow(traverse, frame, self._adjacency(traverse), start, self._budget)
        ends = [slot for slot in (traverse.source, traverse.target) if slot in frame.columns]
        inside = {slot: united.enter(frame.columns[slot], slot == traverse.source) for slot in ends}
        entered = Frame(frame.rows, {**frame.columns, **inside}, frame.weights)
        found = follow(traverse, entered, united, start, self._budget)
        outside = {
            slot: united.leave(found.columns[slot], slot == traverse.source)
            for slot in {traverse.source, traverse.target}
        }
        known = np.logical_and.reduce([column != NULL for column in outside.values()])
        return Frame(found.rows, {**found.columns, **outside}, found.weights).keep(known)

    def check_edges(self, block: Block, number: int, frame: Frame) -> Frame:
        """Return the rows whose two ends are connected by an edge."""
        traverse = self._traverse(block, number)
        pairs = one_hop(traverse, self._adjacency(traverse), reverse=False)
        return frame.keep(pairs.contains(frame.columns[traverse.source], frame.columns[traverse.target]))

    def pieces(self, action: Expand, block: Block, frame: Frame) -> list[int]:
        """Return where to cut a frame so that an expansion gives about PIECE_ROWS rows at a time."""
        written = traverse_of(block, action.traverse)
        if written.path is not None:
            return find_cuts(self._paths.estimate(written, frame, action.start), PIECE_ROWS)
        traverse = self._traverse(block, action.traverse)
        if self._asks_storage(action, traverse, frame.rows):
            return []
        return find_cuts(self._far_ends(traverse, action.start, frame.columns[action.start]), PIECE_ROWS)

    def weights(self, counting: CountExpand, block: Block, nodes: Positions) -> Positions:
        """Return how many matches continue from each node."""
        traverse = self._traverse(block, counting.traverse)
        stored = self._look_up_edges(counting, traverse, nodes)
        if stored is not None:
            return self._sum_beyond(counting, block, stored.places, stored.far, len(nodes))
        if not _is_degree_enough(counting, traverse):
            pieces = find_cuts(self._far_ends(traverse, counting.start, nodes), PIECE_ROWS)
            if len(pieces) > 2:
                parts = [self._count_ways(counting, block, nodes[a:b]) for a, b in pairwise(pieces)]
                return np.concatenate(parts)
        return self._count_ways(counting, block, nodes)

    def _count_ways(self, counting: CountExpand, block: Block, nodes: Positions) -> Positions:
        """Return how many matches continue from each node, by adjacency, for all nodes at once."""
        self._budget.check()
        traverse = self._traverse(block, counting.traverse)
        adjacency = self._adjacency(traverse)
        reverse = counting.start == traverse.target and counting.start != traverse.source
        united = self._unite(traverse)
        plain = not counting.filters and not counting.beyond
        single = (traverse.low, traverse.high) == (1, 1)
        if traverse.edge is not None:
            incident = adjacency.incident(direction_from(traverse.direction, reverse))
            if plain:
                return incident.degrees_of(nodes)
            places, far, _ = incident.expand(nodes)
        elif single:
            neighbours = one_hop(traverse, adjacency, reverse)
            if plain and united is None:
                return neighbours.degrees_of(nodes)
            places, far = neighbours.expand(nodes)
        elif united is None:
            places, far, _ = reach_nodes(traverse, nodes, adjacency, reverse, self._budget)
        else:
            inside = united.enter(nodes, not reverse)
            places, far, _ = reach_nodes(traverse, inside, adjacency, reverse, self._budget)
            far = united.leave(far, reverse)
            places, far = places[far != NULL], far[far != NULL]
        self._budget.check_rows(len(far))
        return self._sum_beyond(counting, block, places, far, len(nodes))

    def _sum_beyond(
        self, counting: CountExpand, block: Block, places: Positions, far: Positions, count: int
    ) -> Positions:
        """Sum the matches beyond the far ends; each far end is evaluated once."""
        if not counting.filters and not counting.beyond:
            return sum_weights(places, None, count)
        ends, place_of = np.unique(far, return_inverse=True)
        known, worth = self._worth.get(counting.far, (None, None))
        if known is None or worth is None:
            rows = self._values.rows(counting.far)
            known, worth = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=np.int64)
            self._worth[counting.far] = (known, worth)
        fresh = ends[~known[ends]]
        worth[fresh] = self._count_far_ends(counting, block, fresh)
        known[fresh] = True
        return sum_weights(places, worth[ends][place_of], count)

    def _count_far_ends(self, counting: CountExpand, block: Block, ends: Positions) -> Positions:
        """Return how often each far end counts."""
        frame = Frame(len(ends), {counting.far: ends})
        wanted = np.ones(len(ends), dtype=np.int64)
        for number in counting.filters:
            wanted *= self._scans.verdict(condition_of(block, number), frame)
        for more in counting.beyond:
            wanted = multiply_weights(wanted, self.weights(more, block, ends))
        return wanted

    def _far_ends(self, traverse: Traverse, start: int, nodes: Positions) -> Positions:
        """Return how many far ends each node has; over several hops, an estimate."""
        adjacency = self._adjacency(traverse)
        reverse = start == traverse.target and start != traverse.source
        if traverse.edge is not None:
            return adjacency.incident(direction_from(traverse.direction, reverse)).degrees_of(nodes)
        ahead = one_hop(traverse, adjacency, reverse)
        if (traverse.low, traverse.high) == (1, 1):
            return ahead.degrees_of(nodes)
        total = ahead.nodes + 1
        each = ahead.pairs / total
        reach = sum(min(max(each, 1.0) ** hop, total) for hop in range(1, min(traverse.high, 30) + 1))
        return np.full(len(nodes), max(1, int(min(reach, total))), dtype=np.int64)

    def _look_up_edges(
        self, action: Expand | CountExpand, traverse: Traverse, nodes: Positions
    ) -> StoredEdges | None:
        """Let storage find the edges of a few nodes, if planned; else return None."""
        if not self._asks_storage(action, traverse, len(nodes)):
            if self._trace and action.route is not Route.ADJACENCY and len(nodes):
                self._trace.note_deviation(action, Route.ADJACENCY.value)
            return None
        reverse = action.start == traverse.target and action.start != traverse.source
        direction = direction_from(traverse.direction, reverse)
        united = self._unite(traverse)
        if united is not None:
            return united.look_up(nodes, direction)
        edge = self._edge(traverse.edge_type)
        return find_edges(self._views, edge, direction, nodes, distinct=traverse.edge is None)

    def _asks_storage(self, action: Expand | CountExpand, traverse: Traverse, nodes: int) -> bool:
        """Return whether storage finds edges: as planned, unless there are more nodes than expected."""
        if action.route is Route.ADJACENCY or not 0 < nodes <= MAX_LOOKUPS:
            return False
        return not all(self._views.has_adjacency(self._edge(way.edge_type).name) for way in traverse.ways)

    def _traverse(self, block: Block, number: int) -> Traverse:
        """Return a traversal; one over several types as if its edges were stored from source to target."""
        written = traverse_of(block, number)
        step = written if written.path is None else replace(written, path=None)
        source, target = self._variables[step.source], self._variables[step.target]
        if not (step.more or source.more_types or target.more_types):
            return step
        forward = replace(step, direction=Direction.FORWARD, more=step.ways)
        if forward not in self._united:
            self._united[forward] = UnitedEdges(self._views, step, self._variables)
        return forward

    def _unite(self, traverse: Traverse) -> UnitedEdges | None:
        """Return the edges of a traversal over several types; None for any other."""
        return self._united.get(traverse) if self._united else None

    def _adjacency(self, traverse: Traverse) -> Edges:
        united = self._unite(traverse)
        return self._views.adjacency(self._edge(traverse.edge_type)) if united is None else united

    def _edge(self, edge_type: str) -> EdgeType:
        edge = self._views.catalog.edge(edge_type)
        assert edge is not None
        return edge


def _is_degree_enough(counting: CountExpand, traverse: Traverse) -> bool:
    """Return whether the degrees of nodes are the counts."""
    return not counting.filters and not counting.beyond and (traverse.low, traverse.high) == (1, 1)
