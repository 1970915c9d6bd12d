"""Expanding edges as planned: by adjacency or an index of their ends; far ends are visited or counted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Block, Traverse
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.adjacency import Adjacency
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.frame import Frame, Mask, Positions, find_cuts, multiply_weights, sum_weights
from omnigraph.execution.local.steps.block_steps import condition_of, traverse_of
from omnigraph.execution.local.steps.scan import Scans
from omnigraph.execution.local.steps.stored_edges import StoredEdges, extend, find_edges
from omnigraph.execution.local.steps.traverse import direction_from, follow, one_hop, reach_nodes
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.local.trace import Trace
from omnigraph.execution.plan.access import MAX_LOOKUPS, Route
from omnigraph.execution.plan.nodes import CountExpand, Expand

PIECE_ROWS = 1 << 20
"""Rows that an action returns at once, unless one input row gives more."""


class Expander:
    """Expands edges of one snapshot, for one query."""

    def __init__(
        self, values: Values, views: Views, scans: Scans, budget: QueryBudget, trace: Trace | None
    ) -> None:
        self._values = values
        self._views = views
        self._scans = scans
        self._budget = budget
        self._trace = trace
        self._worth: dict[int, tuple[Mask, Positions]] = {}
        """By variable: which nodes are known as far ends of a `CountExpand`, and how often each counts."""

    def expand(self, action: Expand, block: Block, frame: Frame) -> Frame:
        """Return rows with the far ends of their edges that pass the filters."""
        traverse = traverse_of(block, action.traverse)
        stored = self._look_up_edges(action, traverse, frame.columns[action.start])
        if stored is not None:
            end = traverse.target if action.start == traverse.source else traverse.source
            found = extend(frame, stored, traverse, end)
        else:
            found = follow(traverse, frame, self._adjacency(traverse), action.start, self._budget)
        for number in action.filters:
            found = self._scans.filter_rows(condition_of(block, number), found)
        return found

    def check_edges(self, traverse: Traverse, frame: Frame) -> Frame:
        """Return the rows whose two ends are connected by an edge."""
        pairs = one_hop(traverse, self._adjacency(traverse), reverse=False)
        return frame.keep(pairs.contains(frame.columns[traverse.source], frame.columns[traverse.target]))

    def pieces(self, action: Expand, block: Block, frame: Frame) -> list[int]:
        """Return where to cut a frame so that an expansion gives about PIECE_ROWS rows at a time."""
        traverse = traverse_of(block, action.traverse)
        if self._uses_index(action, traverse, frame.rows):
            return []
        return find_cuts(self._far_ends(traverse, action.start, frame.columns[action.start]), PIECE_ROWS)

    def weights(self, counting: CountExpand, block: Block, nodes: Positions) -> Positions:
        """Return how many matches continue from each node."""
        traverse = traverse_of(block, counting.traverse)
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
        traverse = traverse_of(block, counting.traverse)
        adjacency = self._adjacency(traverse)
        reverse = counting.start == traverse.target and counting.start != traverse.source
        plain = not counting.filters and not counting.beyond
        single = (traverse.low, traverse.high) == (1, 1)
        if traverse.edge is not None:
            incident = adjacency.incident(direction_from(traverse.direction, reverse))
            if plain:
                return incident.degrees[nodes]
            places, far, _ = incident.expand(nodes)
        elif single:
            neighbours = one_hop(traverse, adjacency, reverse)
            if plain:
                return neighbours.degrees[nodes]
            places, far = neighbours.expand(nodes)
        else:
            places, far, _ = reach_nodes(traverse, nodes, adjacency, reverse, self._budget)
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
            rows = self._values.view(counting.far).rows
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
            return adjacency.incident(direction_from(traverse.direction, reverse)).degrees[nodes]
        ahead = one_hop(traverse, adjacency, reverse)
        if (traverse.low, traverse.high) == (1, 1):
            return ahead.degrees[nodes]
        total = len(ahead.degrees)
        each = int(ahead.degrees.sum()) / max(total, 1)
        reach = sum(min(max(each, 1.0) ** hop, total) for hop in range(1, min(traverse.high, 30) + 1))
        return np.full(len(nodes), max(1, int(min(reach, total))), dtype=np.int64)

    def _look_up_edges(
        self, action: Expand | CountExpand, traverse: Traverse, nodes: Positions
    ) -> StoredEdges | None:
        """Look up the edges of a few nodes in the index of their ends, if planned; else return None."""
        if not self._uses_index(action, traverse, len(nodes)):
            if self._trace and action.route is Route.LOOKUPS and len(nodes):
                self._trace.note_deviation(action, Route.ADJACENCY.value)
            return None
        reverse = action.start == traverse.target and action.start != traverse.source
        direction = direction_from(traverse.direction, reverse)
        edge = self._edge(traverse)
        return find_edges(self._views, edge, direction, nodes, distinct=traverse.edge is None)

    def _uses_index(self, action: Expand | CountExpand, traverse: Traverse, nodes: int) -> bool:
        """Return whether edges are looked up: as planned, unless there are more nodes than expected."""
        if action.route is not Route.LOOKUPS or not 0 < nodes <= MAX_LOOKUPS:
            return False
        return not self._views.has_adjacency(self._edge(traverse).name)

    def _adjacency(self, traverse: Traverse) -> Adjacency:
        return self._views.adjacency(self._edge(traverse))

    def _edge(self, traverse: Traverse) -> EdgeType:
        edge = self._views.catalog.edge(traverse.edge_type)
        assert edge is not None
        return edge


def _is_degree_enough(counting: CountExpand, traverse: Traverse) -> bool:
    """Return whether the degrees of nodes are the counts."""
    return not counting.filters and not counting.beyond and (traverse.low, traverse.high) == (1, 1)
