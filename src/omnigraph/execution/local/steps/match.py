"""Executing the plan of a pattern: each action maps rows to rows, large frames piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from omnigraph.compiler.ir.pattern import AntiJoin, Block, CountJoin, LeftJoin
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.frame import (
    NULL,
    START,
    Frame,
    Mask,
    Positions,
    concatenate,
    distinct,
    find_cuts,
    sum_weights,
)
from omnigraph.execution.local.steps import expand
from omnigraph.execution.local.steps.block_steps import condition_of
from omnigraph.execution.local.steps.expand import Expander
from omnigraph.execution.local.steps.scan import Scans
from omnigraph.execution.local.steps.value_join import ValueJoin
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.local.trace import StepStart, Trace
from omnigraph.execution.plan.nodes import (
    AntiJoinBlock,
    BlockPlan,
    CheckEdge,
    CheckNode,
    CountExpand,
    CountJoinBlock,
    Duplicates,
    Expand,
    FilterRows,
    LeftJoinBlock,
    PlanStep,
    RankNodes,
    ReadPlan,
    ScanNodes,
)
from omnigraph.execution.plan.used_variables import slots_below, without_fusions

_NO_NODES: Positions = np.empty(0, dtype=np.int64)
ENOUGH_ROWS_TO_TELL = 100_000
RARELY_EQUAL_SHARE = 0.9
"""The share of distinct rows beyond which merging does not pay."""


class Matcher:
    """Finds the assignments of a query's pattern on one snapshot."""

    def __init__(
        self,
        query: ReadQuery,
        plan: ReadPlan,
        views: Views,
        values: Values,
        budget: QueryBudget,
        best: Mapping[int, Positions],
        trace: Trace | None = None,
        start: Frame = START,
    ) -> None:
        """Take a bound query and its plan; `best` has the nodes that a ranking chose, by variable.

        `start` has the rows of an earlier stage, if there is one.
        """
        self._start = start
        self._query = query
        self._plan = plan
        self._values = values
        self._budget = budget
        self._best = best
        self._trace = trace
        self._scans = Scans(values)
        self._expander = Expander(query, values, views, self._scans, budget, trace)
        self._scanned_nodes: dict[int, Positions] = {}
        self._joins: dict[int, ValueJoin] = {}
        self._places = 0
        self._slots: dict[int, frozenset[int]] = {}
        """The variables of blocks by id(); blocks live as long as the query."""
        self._rarely_equal: set[int] = set()
        """Steps by id() whose rows are so rarely equal that merging them costs more than it saves."""
        self._settled: dict[int, Mask] = {}
        """For each anti-join in progress, by its place: the outer rows that are known to match."""

    def frames(self) -> Iterator[Frame]:
        """Yield all assignments of the top block, piece by piece."""
        return self._run(self._plan.block, self._query.match, self._start, frozenset(), self._plan.duplicates)

    def candidates(self, rank: RankNodes) -> Positions:
        """Return the candidates of a ranking."""
        block = self._query.match
        if rank.among is not None:
            return self._match_nodes(rank.variable, rank.among)
        found = [(number, condition_of(block, number)) for number in rank.filters]
        return self._scans.nodes(rank.variable, (rank.path,), found)

    def _match_nodes(self, slot: int, plan: BlockPlan) -> Positions:
        """Return the nodes of a variable in the matches of the pattern, without filters on a fusion."""
        block = without_fusions(self._query.match)
        frames = self._run(plan, block, self._start, frozenset(), Duplicates.IGNORED)
        found = distinct(_NO_NODES, *(distinct(frame.columns[slot]) for frame in frames))
        kept: Positions = found[found != NULL]
        return kept

    def _run(
        self, plan: BlockPlan, block: Block, frame: Frame, carried: frozenset[int], duplicates: Duplicates
    ) -> Iterator[Frame]:
        """Execute the plan of a block on a frame; `carried` columns are kept in addition."""
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
                        frame = self._interleave_outer_rows(frame)
                        pieces = self._pieces(step, block, frame)
                    for first, last in pairwise(pieces):
                        piece = self._drop_settled(frame.cut(first, last))
                        yield from self._run_from(number, plan, block, piece, carried, duplicates)
                    return
            if isinstance(step.action, LeftJoinBlock):
                for piece in self._take_left_join(step, step.action, block, frame, carried, duplicates):
                    yield from self._run_from(number + 1, plan, block, piece, carried, duplicates)
                return
            frame = self._take(step, block, frame, carried, duplicates)
        yield frame

    def _interleave_outer_rows(self, frame: Frame) -> Frame:
        """Reorder the rows of an anti-join so that each outer row has one of its own among the first."""
        (place,) = (place for place in self._settled if place in frame.columns)
        order = np.argsort(frame.columns[place], kind="stable")
        ordered = frame.columns[place][order]
        turn = np.arange(frame.rows) - np.searchsorted(ordered, ordered)
        return frame.take(order[np.argsort(turn, kind="stable")])

    def _drop_settled(self, piece: Frame) -> Frame:
        """Drop the rows of a piece whose outer row is already known to match an anti-join."""
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
        return self._finish_step(step, taken, carried, duplicates, frame.rows, began)

    def _take_left_join(
        self,
        step: PlanStep,
        maybe: LeftJoinBlock,
        block: Block,
        frame: Frame,
        carried: frozenset[int],
        duplicates: Duplicates,
    ) -> Iterator[Frame]:
        """Execute a left join, whose rows come piece by piece."""
        rows_in = frame.rows
        pieces = self._left_join(block.steps[maybe.step], maybe.block, frame, duplicates)
        while True:
            self._budget.check()
            began = self._trace.start() if self._trace else None
            taken = next(pieces, None)
            if taken is None:
                return
            yield self._finish_step(step, taken, carried, duplicates, rows_in, began)
            rows_in = 0

    def _finish_step(
        self,
        step: PlanStep,
        taken: Frame,
        carried: frozenset[int],
        duplicates: Duplicates,
        rows_in: int,
        began: StepStart | None,
    ) -> Frame:
        """Return the columns that later steps need, and count the rows of a step."""
        self._budget.check_rows(taken.rows)
        kept = taken.keep_columns(step.needed | carried)
        if step.merge and kept.rows > 1 and len(kept.columns) < len(taken.columns):
            kept = self._merge_equal(step, kept, duplicates)
        if self._trace and began:
            self._trace.add(step, rows_in, kept.rows, began)
        return kept

    def _merge_equal(self, step: PlanStep, frame: Frame, duplicates: Duplicates) -> Frame:
        """Merge the equal rows of a piece, unless an earlier large one of the step had next to none."""
        if id(step) in self._rarely_equal:
            return frame
        merged = frame.merge_equal(weighted=duplicates is Duplicates.COUNTED)
        if frame.rows >= ENOUGH_ROWS_TO_TELL and merged.rows > RARELY_EQUAL_SHARE * frame.rows:
            self._rarely_equal.add(id(step))
        return merged

    def _apply(self, step: PlanStep, block: Block, frame: Frame, duplicates: Duplicates) -> Frame:
        action = step.action
        match action:
            case ScanNodes():
                return self._scan(action, block, frame)
            case CheckNode(variable):
                return self._check_node(variable, frame)
            case FilterRows(number):
                return self._scans.filter_rows(condition_of(block, number), frame)
            case Expand():
                return self._expander.expand(action, block, frame)
            case CheckEdge(number):
                return self._expander.check_edges(block, number, frame)
            case CountExpand():
                weighed = frame.multiply(self._expander.weights(action, block, frame.columns[action.start]))
                return weighed if duplicates is Duplicates.COUNTED else Frame(weighed.rows, weighed.columns)
            case AntiJoinBlock(number, inner):
                return self._anti_join(block.steps[number], inner, frame)
            case CountJoinBlock(number, inner):
                return self._count_join(block.steps[number], inner, frame)
        raise AssertionError(f"{type(action).__name__} does not return one frame")

    def _scan(self, action: ScanNodes, block: Block, frame: Frame) -> Frame:
        slot, nodes = action.variable, self._scan_nodes(action, block)
        if action.join is not None:
            places, found = self._join(action, block, nodes).equal_pairs(frame)
            return frame.take(places, {slot: found})
        if frame is START:
            return Frame(len(nodes), {slot: nodes})
        places = np.repeat(np.arange(frame.rows, dtype=np.int64), len(nodes))
        return frame.take(places, {slot: np.tile(nodes, frame.rows)})

    def _join(self, action: ScanNodes, block: Block, nodes: Positions) -> ValueJoin:
        """Return the join of a scan with rows by value; made once."""
        found = self._joins.get(id(action))
        if found is None:
            assert action.join is not None
            condition = condition_of(block, action.join)
            found = self._joins[id(action)] = ValueJoin(condition, action.variable, nodes, self._values)
        return found

    def _scan_nodes(self, action: ScanNodes, block: Block) -> Positions:
        if action.variable in self._best:
            return self._best[action.variable]
        found = self._scanned_nodes.get(id(action))
        if found is None:
            filters = [(number, condition_of(block, number)) for number in action.filters]
            found = self._scans.nodes(action.variable, action.paths, filters)
            self._scanned_nodes[id(action)] = found
            if self._trace and self._scans.taken is not action.paths[-1].access:
                self._trace.note_deviation(action, self._scans.taken.value)
        return found

    def _check_node(self, slot: int, frame: Frame) -> Frame:
        kept = frame.columns[slot] != NULL
        if slot in self._best:
            kept &= np.isin(frame.columns[slot], self._best[slot])
        return frame.keep(kept)

    def _anti_join(self, step: object, plan: BlockPlan, frame: Frame) -> Frame:
        assert isinstance(step, AntiJoin)
        return frame.keep(~self._find_matching(step.block, plan, frame))

    def _find_matching(self, block: Block, plan: BlockPlan, frame: Frame) -> Mask:
        """Return for which rows a block has a match."""
        place = self._new_place()
        matching = self._settled[place] = np.zeros(frame.rows, dtype=bool)
        for found in self._solutions(plan, block, frame, place, Duplicates.IGNORED):
            matching[found.columns[place]] = True
        del self._settled[place]
        return matching

    def _count_join(self, step: object, plan: BlockPlan, frame: Frame) -> Frame:
        assert isinstance(step, CountJoin)
        if step.exists:
            counts: Positions = self._find_matching(step.block, plan, frame).astype(np.int64)
        else:
            counts = np.zeros(frame.rows, dtype=np.int64)
            place, alone = self._new_place(), Frame(frame.rows, frame.columns)
            for found in self._solutions(plan, step.block, alone, place, Duplicates.COUNTED):
                counts += sum_weights(found.columns[place], found.weights, frame.rows)
        return Frame(frame.rows, {**frame.columns, step.into: counts}, frame.weights)

    def _left_join(
        self, step: object, plan: BlockPlan, frame: Frame, duplicates: Duplicates
    ) -> Iterator[Frame]:
        """Yield the rows with their matches in an optional block, and at last those without."""
        assert isinstance(step, LeftJoin)
        place = self._new_place()
        missing = np.ones(frame.rows, dtype=bool)
        gathered: list[Frame] = []
        for found in self._solutions(plan, step.block, frame, place, duplicates):
            missing[found.columns[place]] = False
            if gathered and sum(item.rows for item in gathered) + found.rows > expand.PIECE_ROWS:
                yield _put_beside(frame, concatenate(gathered), step, place)
                gathered = []
            gathered.append(found)
        more = _put_beside(frame, concatenate(gathered), step, place)
        nothing = np.full(int(missing.sum()), NULL, dtype=np.int64)
        introduced = [slot for slot in step.introduces if slot in more.columns]
        rest = frame.take(np.flatnonzero(missing), dict.fromkeys(introduced, nothing))
        yield concatenate([more, rest])

    def _solutions(
        self, plan: BlockPlan, block: Block, frame: Frame, place: int, duplicates: Duplicates
    ) -> Iterator[Frame]:
        """Match a block for every row; each match has the place of its outer row."""
        inner = frame.keep_columns(self._variables_of(block))
        weights = inner.weights if duplicates is Duplicates.COUNTED else None
        places = np.arange(frame.rows, dtype=np.int64)
        started = Frame(inner.rows, {**inner.columns, place: places}, weights)
        return self._run(plan, block, started, frozenset({place}), duplicates)

    def _variables_of(self, block: Block) -> frozenset[int]:
        found = self._slots.get(id(block))
        if found is None:
            found = self._slots[id(block)] = slots_below(block)
        return found

    def _new_place(self) -> int:
        """Return a new slot, for the places of outer rows in a block."""
        self._places -= 1
        return self._places

    def _pieces(self, step: PlanStep, block: Block, frame: Frame) -> list[int]:
        """Return where to cut a frame so that an action gives about PIECE_ROWS rows at a time."""
        action = step.action
        if isinstance(action, ScanNodes) and frame.columns:
            nodes = self._scan_nodes(action, block)
            if action.join is not None:
                return find_cuts(self._join(action, block, nodes).counts(frame), expand.PIECE_ROWS)
            return find_cuts(np.full(frame.rows, len(nodes), dtype=np.int64), expand.PIECE_ROWS)
        if isinstance(action, Expand):
            return self._expander.pieces(action, block, frame)
        return []


def _put_beside(frame: Frame, found: Frame, step: LeftJoin, place: int) -> Frame:
    """Return outer rows with their matches in an optional block."""
    introduced = {slot: found.columns[slot] for slot in step.introduces if slot in found.columns}
    more = frame.take(found.columns[place], introduced)
    return more if found.weights is None else Frame(more.rows, more.columns, found.weights)
