"""From a read to its plan: the cheapest step comes next, and what is only counted is not visited."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.compiler.ir.conditions import TextMatches
from omnigraph.compiler.ir.pattern import (
    AntiJoin,
    Block,
    CountJoin,
    Filter,
    LeftJoin,
    Scan,
    Traverse,
    Variable,
)
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Aggregate, Constant, RankFusion, Score, VectorDistance
from omnigraph.compiler.lower.push_down import push_filters
from omnigraph.execution.plan.nodes import (
    Action,
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
from omnigraph.execution.plan.order_steps import Arrangement, arrange, arrange_as_written
from omnigraph.execution.plan.selectivity import count_values
from omnigraph.execution.plan.statistics import Statistics
from omnigraph.execution.plan.used_variables import (
    ignores_duplicates,
    introduces,
    own_parts_of,
    parts_of,
    slots_of,
    variables_before,
    variables_introduced_by,
    variables_of_result,
    without_fusions,
)


def plan_read(query: ReadQuery, statistics: Statistics, optimise: bool = True) -> ReadPlan:
    """Return the plan of a read; without optimisation its steps run in written order.

    The plan has its own form of the query, in which filters may stand in earlier stages.
    """
    return _plan(push_filters(query) if optimise else query, statistics, optimise)


def _plan(query: ReadQuery, statistics: Statistics, optimise: bool) -> ReadPlan:
    before = query.source.reads if query.source else ()
    sources = tuple(_plan(item, statistics, optimise) for item in before)
    first = sum(item.rows for item in sources) if sources else 1.0
    duplicates = _duplicates(query) if optimise else Duplicates.KEPT
    ranking = query.ranking
    ranked = {}
    if ranking and ranking.candidates is not None:
        most = statistics.table_rows(query.variables[ranking.candidates])
        ranked[ranking.candidates] = min(_depth(query), most)
    planner = _Planner(query.variables, statistics, ranked, optimise)
    needed = variables_of_result(query) if optimise else frozenset(range(len(query.variables)))
    block = planner.block(query.match, variables_before(query), first, needed, duplicates)
    measures = bool(own_parts_of(query, VectorDistance)) or any(item.measures for item in sources)
    rankings = tuple(_plan_rankings(query, planner, first))
    patterns = bool(own_parts_of(query, TextMatches)) or any(item.has_patterns for item in sources)
    rows = _estimate_result(query, block.steps[-1].rows if block.steps else first, statistics)
    weighs = any(step.shortest and step.shortest.weight for step in own_parts_of(query, Traverse))
    weighs = weighs or any(item.weighs for item in sources)
    sizes = [item.largest for item in sources if item.largest is not None]
    if duplicates is Duplicates.KEPT and query.limit is None:
        sizes.append(max((step.rows for step in block.steps), default=0.0))
    return ReadPlan(
        query,
        block,
        duplicates,
        optimise,
        rankings,
        measures,
        patterns,
        weighs,
        sources,
        rows,
        max(sizes, default=None),
    )


def _estimate_result(query: ReadQuery, rows: float, statistics: Statistics) -> float:
    """Return the estimated rows of a result from those of its pattern."""
    if query.grouped:
        keys = [item.value for item in query.projections if item.is_key]
        values = [count_values(key, query.variables, statistics) for key in keys]
        rows = min(rows, math.prod(item or math.sqrt(max(rows, 1.0)) for item in values))
    return min(rows, _depth(query)) if query.limit is not None else rows


def _duplicates(query: ReadQuery) -> Duplicates:
    if query.grouped:
        aggregates = [item.value for item in query.projections if isinstance(item.value, Aggregate)]
        return Duplicates.IGNORED if all(map(ignores_duplicates, aggregates)) else Duplicates.COUNTED
    return Duplicates.IGNORED if query.distinct else Duplicates.KEPT


def _plan_rankings(query: ReadQuery, planner: _Planner, first: float) -> Iterator[RankNodes]:
    """Yield the rankings that run before the pattern is matched."""
    matched = _variables_without_scan(query)
    for fusion in dict.fromkeys(own_parts_of(query, RankFusion)):
        for score in fusion.rankings:
            slot = score.field.variable
            rank = _plan_ranking(query, slot, score, False, planner.statistics)
            yield replace(rank, among=_plan_matches(query, slot, planner, first)) if slot in matched else rank
    ranking = query.ranking
    if ranking is not None and ranking.candidates is not None:
        yield _plan_ranking(query, ranking.candidates, ranking.score, True, planner.statistics)


def _variables_without_scan(query: ReadQuery) -> frozenset[int]:
    """Return the variables without a scan of their own; none if an inner block depends on a fusion."""
    block, before = query.match, variables_before(query)
    if any(parts_of(step, RankFusion) for step in block.steps if not isinstance(step, Filter)):
        return frozenset()
    scanned = {step.variable for step in block.steps if isinstance(step, Scan)}
    return before | (variables_introduced_by(block) - scanned)


def _plan_matches(query: ReadQuery, slot: int, planner: _Planner, first: float) -> BlockPlan:
    """Plan the matches that a fusion ranks, as far as one variable needs them."""
    whole = replace(planner, ranked={})
    pattern, needed = without_fusions(query.match), frozenset({slot})
    return whole.block(pattern, variables_before(query), first, needed, Duplicates.IGNORED)


def _plan_ranking(
    query: ReadQuery, slot: int, score: Score, fused: bool, statistics: Statistics
) -> RankNodes:
    filters = tuple(
        number
        for number, step in enumerate(query.match.steps)
        if isinstance(step, Filter)
        and slots_of(step) == frozenset({slot})
        and (fused or not parts_of(step, RankFusion))  # a fusion cannot choose what it ranks
    )
    rows = statistics.table_rows(query.variables[slot])
    return RankNodes(slot, score, filters, fused, min(_depth(query), rows) if query.limit else rows)


def _depth(query: ReadQuery) -> float:
    limit = query.limit
    return float(limit.value) if isinstance(limit, Constant) and isinstance(limit.value, int) else 100.0


@dataclass(frozen=True)
class _Planner:
    variables: tuple[Variable, ...]
    statistics: Statistics
    ranked: dict[int, float]
    optimise: bool

    def block(
        self,
        block: Block,
        bound: frozenset[int],
        rows: float,
        needed: frozenset[int],
        duplicates: Duplicates,
    ) -> BlockPlan:
        """Return the plan of a block whose outer variables are bound."""
        orders = self._orders(block, bound, rows, needed, duplicates)
        chosen = min(orders, key=lambda item: item.cost)
        return BlockPlan(tuple(self._finish_steps(chosen, block, bound, needed, duplicates)))

    def _orders(
        self,
        block: Block,
        bound: frozenset[int],
        rows: float,
        needed: frozenset[int],
        duplicates: Duplicates,
    ) -> Iterator[Arrangement]:
        """Yield the orders to choose from; the written one is among them, so that no worse one is chosen."""
        known = (block, self.variables, self.statistics, self.ranked, bound, rows)
        if self.optimise:
            for start in self._starts(block, bound):
                counts = duplicates is not Duplicates.KEPT
                counts_by_slot = self._find_counted(block, bound, needed, start) if counts else {}
                yield arrange(*known, start, counts_by_slot)
        yield arrange_as_written(*known, narrows=self.optimise)

    def _starts(self, block: Block, bound: frozenset[int]) -> list[int | None]:
        """Return the variables that a plan may start with; None to start with the cheapest step."""
        if bound & slots_of(block):
            return [None]
        later = {
            slot
            for step in block.steps
            if isinstance(step, LeftJoin | CountJoin)
            for slot in introduces(step)
        }
        found = {
            slot
            for step in block.steps
            if isinstance(step, Scan | Traverse)
            for slot in ((step.variable,) if isinstance(step, Scan) else (step.source, step.target))
        }
        return [*sorted(found - later)] or [None]

    def _find_counted(
        self, block: Block, bound: frozenset[int], needed: frozenset[int], start: int | None
    ) -> dict[int, tuple[CountExpand, ...]]:
        """Return, by near variable, the traversals whose far ends are only counted."""
        kept = set(needed | bound | set(self.ranked)) | ({start} if start is not None else set())
        local: dict[int, list[int]] = {}
        for number, step in enumerate(block.steps):
            if isinstance(step, Filter) and len(slots_of(step.condition)) == 1:
                (slot,) = slots_of(step.condition)
                local.setdefault(slot, []).append(number)
            elif not isinstance(step, Scan | Traverse):
                kept |= slots_of(step)
        waiting = {number: step for number, step in enumerate(block.steps) if isinstance(step, Traverse)}
        counts_by_slot: dict[int, tuple[CountExpand, ...]] = {}
        while True:
            leaf = next(self._leaves(waiting, kept, local), None)
            if leaf is None:
                return counts_by_slot
            number, near, far = leaf
            del waiting[number]
            counting = CountExpand(number, near, far, tuple(local.get(far, ())), counts_by_slot.pop(far, ()))
            counts_by_slot[near] = (*counts_by_slot.get(near, ()), counting)

    def _leaves(
        self, waiting: dict[int, Traverse], kept: set[int], local: dict[int, list[int]]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield traversals with an end that nothing else uses: step number, the other end, and that end."""
        for number, step in waiting.items():
            extra = {slot for slot in (step.edge, step.length, step.path) if slot is not None}
            if step.shortest is not None or step.source == step.target or extra & (kept | set(local)):
                continue
            for near, far in ((step.source, step.target), (step.target, step.source)):
                others = [other for at, other in waiting.items() if at != number and far in slots_of(other)]
                if far not in kept and not others:
                    yield number, near, far

    def _finish_steps(
        self,
        chosen: Arrangement,
        block: Block,
        bound: frozenset[int],
        needed: frozenset[int],
        duplicates: Duplicates,
    ) -> Iterator[PlanStep]:
        """Yield the steps with the variables needed after each, and with the plans of inner blocks."""
        after = self._variables_needed_after(chosen, block, needed)
        have = bound
        for at, (action, rows) in enumerate(chosen.actions):
            planned = self._plan_inner(action, block, have, rows, after[at], duplicates)
            have = have | _variables_bound_by(action, block)
            dropped = have - after[at] - bound
            merge = duplicates is not Duplicates.KEPT and bool(dropped) and at + 1 < len(chosen.actions)
            yield PlanStep(planned, after[at], rows, merge)
            have = have & after[at]

    def _variables_needed_after(
        self, chosen: Arrangement, block: Block, needed: frozenset[int]
    ) -> list[frozenset[int]]:
        after = [needed]
        for action, _ in reversed(chosen.actions[1:]):
            after.append(after[-1] | _variables_used_by(action, block))
        return after[::-1]

    def _plan_inner(
        self,
        action: Action,
        block: Block,
        have: frozenset[int],
        rows: float,
        after: frozenset[int],
        duplicates: Duplicates,
    ) -> Action:
        if isinstance(action, AntiJoinBlock):
            step = block.steps[action.step]
            assert isinstance(step, AntiJoin)
            every = frozenset() if self.optimise else variables_introduced_by(step.block)
            inner = Duplicates.IGNORED if self.optimise else Duplicates.KEPT
            return replace(action, block=self.block(step.block, have, rows, every, inner))
        if isinstance(action, LeftJoinBlock):
            step = block.steps[action.step]
            assert isinstance(step, LeftJoin)
            wanted = after & frozenset(step.introduces)
            return replace(action, block=self.block(step.block, have, rows, wanted, duplicates))
        if isinstance(action, CountJoinBlock):
            step = block.steps[action.step]
            assert isinstance(step, CountJoin)
            every = frozenset() if self.optimise else variables_introduced_by(step.block)
            found = Duplicates.IGNORED if step.exists else Duplicates.COUNTED
            inner = found if self.optimise else Duplicates.KEPT
            return replace(action, block=self.block(step.block, have, rows, every, inner))
        return action


def _variables_bound_by(action: Action, block: Block) -> frozenset[int]:
    match action:
        case ScanNodes(variable):
            return frozenset({variable})
        case Expand(traverse):
            return introduces(block.steps[traverse])
        case LeftJoinBlock(step) | CountJoinBlock(step):
            return introduces(block.steps[step])
    return frozenset()


def _variables_used_by(action: Action, block: Block) -> frozenset[int]:
    match action:
        case ScanNodes(variable, join=join):
            return frozenset({variable}) | (frozenset() if join is None else slots_of(block.steps[join]))
        case CheckNode(variable):
            return frozenset({variable})
        case FilterRows(number):
            return slots_of(block.steps[number])
        case Expand(number) | CheckEdge(number):
            return slots_of(block.steps[number])
        case CountExpand():
            return frozenset({action.start})
        case AntiJoinBlock(number) | LeftJoinBlock(number) | CountJoinBlock(number):
            return slots_of(block.steps[number])
