"""Carrying out the plan of a pattern: each action maps rows to rows, large frames piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.pattern import AntiJoin, Block, Filter, LeftJoin, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.local.adjacency import Adjacency
from omnigraph.execution.local.budget import Budget
from omnigraph.execution.local.frame import NULL, START, Frame, Mask, Positions, cuts, joined, product, sums
from omnigraph.execution.local.scan import Scans
from omnigraph.execution.local.stored_edges import StoredEdges, extend, find_edges
from omnigraph.execution.local.table_view import TableView
from omnigraph.execution.local.trace import Began, Trace
from omnigraph.execution.local.traverse import follow, one_hop, reached, seen_from
from omnigraph.execution.local.value_join import ValueJoin
from omnigraph.execution.local.values import Values
from omnigraph.execution.local.views import Views
from omnigraph.execution.plan.access import FEW, Route
from omnigraph.execution.plan.mentions import slots_below, without_fusions
from omnigraph.execution.plan.nodes import (
    Absent,
    BlockPlan,
    CheckNode,
    Close,
    Duplicates,
    Expand,
    Keep,
    Maybe,
    PlanStep,
    RankNodes,
    ReadPlan,
    ScanNodes,
    Weigh,
)

PIECE = 1 << 20
"""Rows that an action gives at once, as far as one input row allows."""

_NO_NODES: Positions = np.empty(0, dtype=np.int64)


class Matcher:
    """Finds the assignments of a query's pattern on one snapshot."""

    def __init__(
        self,
        query: ReadQuery,
        plan: ReadPlan,
        views: Views,
        values: Values,
        budget: Budget,
        best: Mapping[int, Positions],
        trace: Trace | None = None,
    ) -> None:
        """Take a bound query and its plan; `best` narrows variables to the nodes that a ranking chose."""
        self._query = query
        self._plan = plan
        self._views = views
        self._values = values
        self._budget = budget
        self._best = best
        self._trace = trace
        self._scans = Scans(values)
        self._scanned_nodes: dict[int, Positions] = {}
        self._joins: dict[int, ValueJoin] = {}
        self._places = 0
        self._slots: dict[int, frozenset[int]] = {}
        """The variables of blocks, which live as long as the query."""
        self._settled: dict[int, Mask] = {}
        """Of each negated block that is being solved, by its place: the rows that are known to match it."""
        self._worth: dict[int, tuple[Mask, Positions]] = {}
        """How often each node counts as the far end of a `Weigh`, as far as that is known; by variable."""

    def frames(self) -> Iterator[Frame]:
        """Yield all assignments of the top block, piece by piece."""
        return self._run(self._plan.block, self._query.match, START, frozenset(), self._plan.duplicates)

    def candidates(self, rank: RankNodes) -> Positions:
        """Return the nodes that a ranking chooses from."""
        block = self._query.match
        if rank.among is not None:
            return self._among(rank.variable, rank.among)
        found = [(number, _condition(block, number)) for number in rank.filters]
        return self._scans.nodes(rank.variable, rank.path, found)

    def _among(self, slot: int, plan: BlockPlan) -> Positions:
        """Return the nodes of a variable in the matches of the pattern, without what a fusion decides."""
        block = without_fusions(self._query.match)
        frames = self._run(plan, block, START, frozenset(), Duplicates.IGNORED)
        found: Positions = np.concatenate([_NO_NODES, *(np.unique(frame.columns[slot]) for frame in frames)])
        return np.setdiff1d(found, [NULL])

    def _run(
        self, plan: BlockPlan, block: Block, frame: Frame, carried: frozenset[int], duplicates: Duplicates
    ) -> Iterator[Frame]:
        """Carry out the plan of a block on a frame; `carried` columns are kept beside what the plan needs."""
        return self._run_from(0, plan, block, frame, carried, duplicates)

    def _run_from(
        self,
        at: int,
        plan: BlockPlan,
        block: Block,
        frame: Frame,
        carried: frozenset[int],
        duplicates: Duplicates,
    ) -> Iterator[Frame]:
        for number in range(at, len(plan.steps)):
            step = plan.steps[number]
            if frame.rows > 1:
                pieces = self._pieces(step, block, frame)
                if len(pieces) > 2:
                    if any(place in frame.columns for place in self._settled):
                        frame = self._dealt(frame)
                        pieces = self._pieces(step, block, frame)
                    for first, last in pairwise(pieces):
                        piece = self._open(frame.cut(first, last))
                        yield from self._run_from(number, plan, block, piece, carried, duplicates)
                    return
            if isinstance(step.action, Maybe):
                for piece in self._take_maybe(step, step.action, block, frame, carried, duplicates):
                    yield from self._run_from(number + 1, plan, block, piece, carried, duplicates)
                return
            frame = self._take(step, block, frame, carried, duplicates)
        yield frame

    def _dealt(self, frame: Frame) -> Frame:
        """Return rows of a negated block so that each row outside has one of its own among the first ones."""
        (place,) = (place for place in self._settled if place in frame.columns)
        order = np.argsort(frame.columns[place], kind="stable")
        ordered = frame.columns[place][order]
        turn = np.arange(frame.rows) - np.searchsorted(ordered, ordered)
        return frame.take(order[np.argsort(turn, kind="stable")])

    def _open(self, piece: Frame) -> Frame:
        """Return the rows of a piece for which it matters whether they match a negated block."""
        for place, settled in self._settled.items():
            if place in piece.columns:
                piece = piece.keep(~settled[piece.columns[place]])
        return piece

    def _take(
        self, step: PlanStep, block: Block, frame: Frame, carried: frozenset[int], duplicates: Duplicates
    ) -> Frame:
        self._budget.check()
        began = self._trace.start() if self._trace else None
        taken = self._apply(step, block, frame, duplicates)
        return self._left(step, taken, carried, duplicates, frame.rows, began)

    def _take_maybe(
        self,
        step: PlanStep,
        maybe: Maybe,
        block: Block,
        frame: Frame,
        carried: frozenset[int],
        duplicates: Duplicates,
    ) -> Iterator[Frame]:
        """Take an optional block, whose rows come piece by piece."""
        rows_in = frame.rows
        pieces = self._extended(block.steps[maybe.step], maybe.block, frame, duplicates)
        while True:
            self._budget.check()
            began = self._trace.start() if self._trace else None
            taken = next(pieces, None)
            if taken is None:
                return
            yield self._left(step, taken, carried, duplicates, rows_in, began)
            rows_in = 0

    def _left(
        self,
        step: PlanStep,
        taken: Frame,
        carried: frozenset[int],
        duplicates: Duplicates,
        rows_in: int,
        began: Began | None,
    ) -> Frame:
        """Return what later steps need of the rows that a step gave."""
        self._budget.rows(taken.rows)
        kept = taken.only(step.needed | carried)
        if step.merge and kept.rows > 1 and len(kept.columns) < len(taken.columns):
            kept = kept.merged(weighted=duplicates is Duplicates.COUNTED)
        if self._trace and began:
            self._trace.add(step, rows_in, kept.rows, began)
        return kept

    def _apply(self, step: PlanStep, block: Block, frame: Frame, duplicates: Duplicates) -> Frame:
        action = step.action
        match action:
            case ScanNodes():
                return self._scanned(action, block, frame)
            case CheckNode(variable):
                return self._checked(variable, frame)
            case Keep(number):
                return self._kept(_condition(block, number), frame)
            case Expand():
                return self._expanded(action, block, frame)
            case Close(number):
                traverse = _traverse(block, number)
                pairs = one_hop(traverse, self._adjacency(traverse), reverse=False)
                return frame.keep(
                    pairs.contains(frame.columns[traverse.source], frame.columns[traverse.target])
                )
            case Weigh():
                weighed = frame.times(self._weights(action, block, frame.columns[action.start]))
                return weighed if duplicates is Duplicates.COUNTED else Frame(weighed.rows, weighed.columns)
            case Absent(number, inner):
                return self._without(block.steps[number], inner, frame)
        raise AssertionError(f"{type(action).__name__} is not taken at once")

    def _scanned(self, action: ScanNodes, block: Block, frame: Frame) -> Frame:
        slot, nodes = action.variable, self._all_scanned(action, block)
        if action.join is not None:
            places, found = self._join(action, block, nodes).matching(frame)
            return frame.take(places, {slot: found})
        if frame is START:
            return Frame(len(nodes), {slot: nodes})
        places = np.repeat(np.arange(frame.rows, dtype=np.int64), len(nodes))
        return frame.take(places, {slot: np.tile(nodes, frame.rows)})

    def _join(self, action: ScanNodes, block: Block, nodes: Positions) -> ValueJoin:
        """Return the nodes of a scan by the value that joins them with rows; made once."""
        found = self._joins.get(id(action))
        if found is None:
            assert action.join is not None
            condition = _condition(block, action.join)
            found = self._joins[id(action)] = ValueJoin(condition, action.variable, nodes, self._values)
        return found

    def _all_scanned(self, action: ScanNodes, block: Block) -> Positions:
        if action.variable in self._best:
            return self._best[action.variable]
        found = self._scanned_nodes.get(id(action))
        if found is None:
            filters = [(number, _condition(block, number)) for number in action.filters]
            found = self._scans.nodes(action.variable, action.path, filters)
            self._scanned_nodes[id(action)] = found
            if self._trace and self._scans.taken is not action.path.access:
                self._trace.deviated(action, self._scans.taken.value)
        return found

    def _checked(self, slot: int, frame: Frame) -> Frame:
        kept = frame.columns[slot] != NULL
        if slot in self._best:
            kept &= np.isin(frame.columns[slot], self._best[slot])
        return frame.keep(kept)

    def _kept(self, condition: ir.Condition, frame: Frame) -> Frame:
        return frame.keep(self._verdict(condition, frame)) if frame.rows else frame

    def _expanded(self, action: Expand, block: Block, frame: Frame) -> Frame:
        traverse = _traverse(block, action.traverse)
        stored = self._stored_edges(action, traverse, frame.columns[action.start])
        if stored is not None:
            end = traverse.target if action.start == traverse.source else traverse.source
            found = extend(frame, stored, traverse, end)
        else:
            found = follow(traverse, frame, self._adjacency(traverse), action.start, self._budget)
        for number in action.filters:
            found = self._kept(_condition(block, number), found)
        return found

    def _weights(self, weigh: Weigh, block: Block, nodes: Positions) -> Positions:
        """Return how many ways lead on from each node."""
        traverse = _traverse(block, weigh.traverse)
        stored = self._stored_edges(weigh, traverse, nodes)
        if stored is not None:
            return self._summed(weigh, block, stored.places, stored.far, len(nodes))
        if not _by_degree(weigh, traverse):
            pieces = cuts(self._far_ends(traverse, weigh.start, nodes), PIECE)
            if len(pieces) > 2:
                parts = [self._ways(weigh, block, nodes[a:b]) for a, b in pairwise(pieces)]
                return np.concatenate(parts)
        return self._ways(weigh, block, nodes)

    def _ways(self, weigh: Weigh, block: Block, nodes: Positions) -> Positions:
        """Return how many ways lead on from each node, by adjacency and all at once."""
        self._budget.check()
        traverse = _traverse(block, weigh.traverse)
        adjacency = self._adjacency(traverse)
        reverse = weigh.start == traverse.target and weigh.start != traverse.source
        plain = not weigh.filters and not weigh.beyond
        single = (traverse.low, traverse.high) == (1, 1)
        if traverse.edge is not None:
            incident = adjacency.incident(seen_from(traverse.direction, reverse))
            if plain:
                return incident.degrees[nodes]
            places, far, _ = incident.expand(nodes)
        elif single:
            neighbours = one_hop(traverse, adjacency, reverse)
            if plain:
                return neighbours.degrees[nodes]
            places, far = neighbours.expand(nodes)
        else:
            places, far, _ = reached(traverse, nodes, adjacency, reverse, self._budget)
        self._budget.rows(len(far))
        return self._summed(weigh, block, places, far, len(nodes))

    def _summed(self, weigh: Weigh, block: Block, places: Positions, far: Positions, count: int) -> Positions:
        """Sum what lies beyond the far ends, each of which is looked at once."""
        if not weigh.filters and not weigh.beyond:
            return sums(places, None, count)
        ends, place_of = np.unique(far, return_inverse=True)
        known, worth = self._worth.get(weigh.far, (None, None))
        if known is None or worth is None:
            rows = self._view(weigh.far).rows
            known, worth = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=np.int64)
            self._worth[weigh.far] = (known, worth)
        fresh = ends[~known[ends]]
        worth[fresh] = self._weighed(weigh, block, fresh)
        known[fresh] = True
        return sums(places, worth[ends][place_of], count)

    def _weighed(self, weigh: Weigh, block: Block, ends: Positions) -> Positions:
        """Return how often each far end counts."""
        frame = Frame(len(ends), {weigh.far: ends})
        wanted = np.ones(len(ends), dtype=np.int64)
        for number in weigh.filters:
            wanted *= self._verdict(_condition(block, number), frame)
        for more in weigh.beyond:
            wanted = product(wanted, self._weights(more, block, ends))
        return wanted

    def _without(self, step: object, plan: BlockPlan, frame: Frame) -> Frame:
        assert isinstance(step, AntiJoin)
        place = self._new_place()
        matching = self._settled[place] = np.zeros(frame.rows, dtype=bool)
        for found in self._solutions(plan, step.block, frame, place, Duplicates.IGNORED):
            matching[found.columns[place]] = True
        del self._settled[place]
        return frame.keep(~matching)

    def _extended(
        self, step: object, plan: BlockPlan, frame: Frame, duplicates: Duplicates
    ) -> Iterator[Frame]:
        """Yield rows with what an optional block adds to them, and at last those to which it adds nothing."""
        assert isinstance(step, LeftJoin)
        place = self._new_place()
        missing = np.ones(frame.rows, dtype=bool)
        gathered: list[Frame] = []
        for found in self._solutions(plan, step.block, frame, place, duplicates):
            missing[found.columns[place]] = False
            if gathered and sum(item.rows for item in gathered) + found.rows > PIECE:
                yield _beside(frame, joined(gathered), step, place)
                gathered = []
            gathered.append(found)
        more = _beside(frame, joined(gathered), step, place)
        nothing = np.full(int(missing.sum()), NULL, dtype=np.int64)
        introduced = [slot for slot in step.introduces if slot in more.columns]
        rest = frame.take(np.flatnonzero(missing), dict.fromkeys(introduced, nothing))
        yield joined([more, rest])

    def _solutions(
        self, plan: BlockPlan, block: Block, frame: Frame, place: int, duplicates: Duplicates
    ) -> Iterator[Frame]:
        """Solve a block for every row; each solution has the place of the row that it extends."""
        inner = frame.only(self._mentioned(block))
        weights = inner.weights if duplicates is Duplicates.COUNTED else None
        places = np.arange(frame.rows, dtype=np.int64)
        started = Frame(inner.rows, {**inner.columns, place: places}, weights)
        return self._run(plan, block, started, frozenset({place}), duplicates)

    def _mentioned(self, block: Block) -> frozenset[int]:
        found = self._slots.get(id(block))
        if found is None:
            found = self._slots[id(block)] = slots_below(block)
        return found

    def _new_place(self) -> int:
        """Return a slot under which a block carries the row that it was started from."""
        self._places -= 1
        return self._places

    def _verdict(self, condition: ir.Condition, frame: Frame) -> Mask:
        return self._scans.verdict(condition, frame)

    def _pieces(self, step: PlanStep, block: Block, frame: Frame) -> list[int]:
        """Return where to cut a frame so that an action gives about PIECE rows at a time."""
        action = step.action
        if isinstance(action, ScanNodes) and frame.columns:
            nodes = self._all_scanned(action, block)
            if action.join is not None:
                return cuts(self._join(action, block, nodes).counts(frame), PIECE)
            return cuts(np.full(frame.rows, len(nodes), dtype=np.int64), PIECE)
        if isinstance(action, Expand):
            traverse = _traverse(block, action.traverse)
            if self._through_index(action, traverse, frame.rows):
                return []
            return cuts(self._far_ends(traverse, action.start, frame.columns[action.start]), PIECE)
        return []

    def _far_ends(self, traverse: Traverse, start: int, nodes: Positions) -> Positions:
        """Return how many far ends each node has, or may have over several hops."""
        adjacency = self._adjacency(traverse)
        reverse = start == traverse.target and start != traverse.source
        if traverse.edge is not None:
            return adjacency.incident(seen_from(traverse.direction, reverse)).degrees[nodes]
        ahead = one_hop(traverse, adjacency, reverse)
        if (traverse.low, traverse.high) == (1, 1):
            return ahead.degrees[nodes]
        total = len(ahead.degrees)
        each = int(ahead.degrees.sum()) / max(total, 1)
        reach = sum(min(max(each, 1.0) ** hop, total) for hop in range(1, min(traverse.high, 30) + 1))
        return np.full(len(nodes), max(1, int(min(reach, total))), dtype=np.int64)

    def _stored_edges(
        self, action: Expand | Weigh, traverse: Traverse, nodes: Positions
    ) -> StoredEdges | None:
        """Return the edges of a few nodes through the index of their ends, where the plan says so."""
        if not self._through_index(action, traverse, len(nodes)):
            if self._trace and action.route is Route.LOOKUPS and len(nodes):
                self._trace.deviated(action, Route.ADJACENCY.value)
            return None
        reverse = action.start == traverse.target and action.start != traverse.source
        direction = seen_from(traverse.direction, reverse)
        edge = self._edge(traverse)
        return find_edges(self._views, edge, direction, nodes, distinct=traverse.edge is None)

    def _through_index(self, action: Expand | Weigh, traverse: Traverse, nodes: int) -> bool:
        """Say whether edges are looked up: as planned, unless more nodes came than was thought."""
        if action.route is not Route.LOOKUPS or not 0 < nodes <= FEW:
            return False
        return not self._views.has_adjacency(self._edge(traverse).name)

    def _adjacency(self, traverse: Traverse) -> Adjacency:
        return self._views.adjacency(self._edge(traverse))

    def _edge(self, traverse: Traverse) -> EdgeType:
        edge = self._views.catalog.edge(traverse.edge_type)
        assert edge is not None
        return edge

    def _view(self, slot: int) -> TableView:
        variable = self._query.variables[slot]
        return self._views.table(f"{variable.kind.value}:{variable.type_name}")


def _beside(frame: Frame, found: Frame, step: LeftJoin, place: int) -> Frame:
    """Return rows with the solutions of an optional block beside them."""
    introduced = {slot: found.columns[slot] for slot in step.introduces if slot in found.columns}
    more = frame.take(found.columns[place], introduced)
    return more if found.weights is None else Frame(more.rows, more.columns, found.weights)


def _by_degree(weigh: Weigh, traverse: Traverse) -> bool:
    """Say whether the far ends are counted without looking at them."""
    return not weigh.filters and not weigh.beyond and (traverse.low, traverse.high) == (1, 1)


def _condition(block: Block, number: int) -> ir.Condition:
    step = block.steps[number]
    assert isinstance(step, Filter)
    return step.condition


def _traverse(block: Block, number: int) -> Traverse:
    step = block.steps[number]
    assert isinstance(step, Traverse)
    return step
