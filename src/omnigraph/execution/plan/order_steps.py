"""The order of a block's steps: the cheapest next, by the estimated rows of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

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
from omnigraph.execution.plan.access import MAX_SEARCHED_PAIRS
from omnigraph.execution.plan.nodes import (
    Action,
    AntiJoinBlock,
    BlockPlan,
    CheckEdge,
    CheckNode,
    CountExpand,
    CountJoinBlock,
    Expand,
    FilterRows,
    LeftJoinBlock,
    ScanNodes,
)
from omnigraph.execution.plan.pushable import is_join
from omnigraph.execution.plan.selectivity import selectivity
from omnigraph.execution.plan.statistics import Statistics
from omnigraph.execution.plan.used_variables import introduces, slots_of

_EMPTY_PLAN = BlockPlan(())
InnerBlock: TypeAlias = AntiJoin | LeftJoin | CountJoin


@dataclass(frozen=True)
class Arrangement:
    """Actions in order, each with the estimated rows after it, and their total cost."""

    actions: tuple[tuple[Action, float], ...]
    cost: float


def arrange(
    block: Block,
    variables: tuple[Variable, ...],
    statistics: Statistics,
    ranked: Mapping[int, float],
    bound: frozenset[int],
    rows: float,
    start: int | None,
    counts_by_slot: Mapping[int, tuple[CountExpand, ...]],
) -> Arrangement:
    """Order the steps by cost, starting with a variable."""
    state = _State(block, variables, statistics, ranked, set(bound), rows, dict(counts_by_slot))
    if start is not None:
        state.scan(start)
    while state.waiting or state.counts_by_slot:
        if not (state.narrow() or state.widen() or state.extend()):
            state.force()
    return Arrangement(tuple(state.actions), state.cost)


def arrange_as_written(
    block: Block,
    variables: tuple[Variable, ...],
    statistics: Statistics,
    ranked: Mapping[int, float],
    bound: frozenset[int],
    rows: float,
    narrows: bool,
) -> Arrangement:
    """Take the steps in written order; with `narrows`, steps that bind nothing come as early as possible."""
    state = _State(block, variables, statistics, ranked, set(bound), rows, {}, pushes=narrows)
    while state.waiting:
        if not (narrows and state.narrow()):
            state.take_written()
    return Arrangement(tuple(state.actions), state.cost)


@dataclass
class _State:
    block: Block
    variables: tuple[Variable, ...]
    statistics: Statistics
    ranked: Mapping[int, float]
    bound: set[int]
    rows: float
    counts_by_slot: dict[int, tuple[CountExpand, ...]]
    pushes: bool = True
    """Whether filters on one variable are part of the step that binds it."""
    actions: list[tuple[Action, float]] = field(default_factory=list)
    cost: float = 0.0

    def __post_init__(self) -> None:
        counts = [item for items in self.counts_by_slot.values() for item in items]
        counted = frozenset().union(*(item.steps for item in counts))
        far = frozenset().union(*(item.far_variables for item in counts))
        self.waiting = [
            number
            for number, step in enumerate(self.block.steps)
            if number not in counted and not (isinstance(step, Scan) and step.variable in far)
        ]
        self.later = self._still_introduced()

    def scan(self, slot: int) -> None:
        """Bind a variable to its nodes."""
        filters, ranked = self._own_filters(slot), slot in self.ranked
        nodes = self._nodes(slot, filters)
        join = self._find_join(slot)
        rows, work = self.rows * nodes, self.rows * nodes
        if join is not None:
            rows, work = rows * self._selectivity([join]), self.rows + nodes
        self._append(ScanNodes(slot, tuple(filters), ranked, join), rows, work)
        self.bound.add(slot)
        self._drop(filters if join is None else [*filters, join])
        self._drop([n for n in self.waiting if self.block.steps[n] == Scan(slot)])

    def narrow(self) -> bool:
        """Take steps that bind no variable: filters, counts, edge checks and anti-joins."""
        if self._take_filters():
            return True
        for slot in [slot for slot in self.counts_by_slot if slot in self.bound]:
            for counting in self.counts_by_slot.pop(slot):
                self._append(
                    counting, self.rows * min(1.0, self._estimate_ways(counting)), self._work(counting)
                )
            return True
        for number in self.waiting:
            step = self.block.steps[number]
            if isinstance(step, Scan) and step.variable in self.bound and not self._is_late(step):
                checked = self.variables[step.variable].optional or step.variable in self.ranked
                if not checked:
                    self._drop([number])
                    return True
                return self._take(number, CheckNode(step.variable), self.rows, self.rows)
            if isinstance(step, Traverse) and {step.source, step.target} <= self.bound:
                return self._take_edge_check(number, step)
            if isinstance(step, AntiJoin) and self._take_block(number, step, 0.5):
                return True
            if isinstance(step, CountJoin) and self._is_filtered(step) and self._take_block(number, step):
                return True
        return False

    def widen(self) -> bool:
        """Bind the cheapest variable, by an expansion or a scan."""
        best: tuple[float, int, int, int] | None = None
        for number in self.waiting:
            step = self.block.steps[number]
            if self._is_late(step):
                continue
            if isinstance(step, Traverse):
                for order, slot in enumerate((step.source, step.target)):
                    if slot in self.bound:
                        far = step.target if slot == step.source else step.source
                        rows = self.rows * self._reach(step, slot)
                        found = (rows + self._closing_cost(far, rows, number), 0, number, slot)
                    else:
                        found = (self._scan_cost(slot), 1 + order, number, slot)
                    best = found if best is None else min(best, found)
            elif isinstance(step, Scan):
                found = (self._scan_cost(step.variable), 1, number, step.variable)
                best = found if best is None else min(best, found)
        for slot in self.counts_by_slot:
            # Counted traversals start at a variable that perhaps no other step binds.
            if slot not in self.bound and slot not in self.later:
                found = (self._scan_cost(slot), 1, -1, slot)
                best = found if best is None else min(best, found)
        if best is None:
            return False
        _, kind, number, slot = best
        if kind:
            self.scan(slot)
        else:
            self._expand(number, slot)
        return True

    def extend(self) -> bool:
        """Take a left join or a count, which bind variables and keep all rows."""
        steps = ((number, self.block.steps[number]) for number in self.waiting)
        return any(isinstance(step, LeftJoin | CountJoin) and self._take_block(n, step) for n, step in steps)

    def force(self) -> None:
        """Take the first waiting step, as nothing will bind the variables that it waits for."""
        step = self.block.steps[self.waiting[0]]
        assert isinstance(step, InnerBlock), "filters wait only for what a block introduces"
        self._take_block(self.waiting[0], step, forced=True)

    def _take_block(self, number: int, step: InnerBlock, kept: float = 1.0, forced: bool = False) -> bool:
        """Take an inner block if everything is bound that it shares with the rows."""
        if not forced and slots_of(step.block) & (self._variables_to_come(number) - introduces(step)):
            return False
        action: Action = AntiJoinBlock(number, _EMPTY_PLAN)
        if not isinstance(step, AntiJoin):
            kind = LeftJoinBlock if isinstance(step, LeftJoin) else CountJoinBlock
            action = kind(number, _EMPTY_PLAN)
        self._take(number, action, self.rows * kept, self.rows)
        self.bound |= introduces(step)
        return True

    def _is_filtered(self, count: CountJoin) -> bool:
        """Return whether a waiting filter uses a count, so that counting may leave fewer rows."""
        waiting = [self.block.steps[number] for number in self.waiting]
        return any(isinstance(step, Filter) and count.into in slots_of(step) for step in waiting)

    def take_written(self) -> None:
        """Take the first step in written order whose variables are bound."""
        for number in list(self.waiting):
            step = self.block.steps[number]
            if self._is_late(step):
                continue
            if isinstance(step, Scan):
                if step.variable in self.bound:
                    self._take(number, CheckNode(step.variable), self.rows, self.rows)
                else:
                    self.scan(step.variable)
                return
            if isinstance(step, Traverse):
                if not {step.source, step.target} & self.bound:
                    self.scan(step.source)
                self._expand(number, step.source if step.source in self.bound else step.target)
                return
            if isinstance(step, Filter) and slots_of(step) <= self.bound:
                self._take(number, FilterRows(number), self.rows, self.rows)
                return
            if isinstance(step, InnerBlock) and self._take_block(number, step):
                return
        self.force()

    def _take_filters(self) -> bool:
        """Take every filter whose variables are bound."""
        taken = [n for n in self.waiting if isinstance(self.block.steps[n], Filter)]
        taken = [n for n in taken if self._is_known(self.block.steps[n])]
        for number in taken:
            self._append(FilterRows(number), self.rows * self._selectivity([number]), self.rows)
        self._drop(taken)
        return bool(taken)

    def _take_edge_check(self, number: int, step: Traverse) -> bool:
        """Take a traversal whose ends are both bound."""
        if not step.is_test:
            self._expand(number, self._better_end(step))
            return True
        rows, work = self._estimate_between(step, self.rows, step.source)
        return self._take(number, CheckEdge(number), rows, work)

    def _estimate_between(self, step: Traverse, rows: float, start: int) -> tuple[float, float]:
        """Return the estimated rows after a traversal between two bound ends, and its cost.

        A single hop is a membership test, or visits the edges of one end. Several hops between few pairs are
        searched from both ends; for more pairs, all nodes that each row reaches are visited.
        """
        end = step.target if start == step.source else step.source
        reach = self._reach(step, start)
        kept = min(1.0, reach / max(self.statistics.table_rows(self.variables[end]), 1.0))
        if step.is_test:
            work = 1.0
        else:
            work = self.statistics.meeting(step) if step.high > 1 and rows <= MAX_SEARCHED_PAIRS else reach
        return rows * kept, rows * max(work, 1.0)

    def _better_end(self, step: Traverse) -> int:
        """Return the end of a traversal from which fewer nodes are reached."""
        return min((step.source, step.target), key=lambda slot: self._reach(step, slot))

    def _closing_cost(self, slot: int, rows: float, but: int | None = None) -> float:
        """Return the cost of the searches between two bound ends that binding a variable causes."""
        work, bound = 0.0, self.bound | {slot}
        for number in self.waiting:
            step = self.block.steps[number]
            if not isinstance(step, Traverse) or number == but or step.high <= 1:
                continue
            ends = {step.source, step.target}
            if slot in ends and ends <= bound:
                rows, more = self._estimate_between(step, rows, self._better_end(step))
                work += more
        return work

    def _expand(self, number: int, start: int) -> None:
        step = self.block.steps[number]
        assert isinstance(step, Traverse)
        end = step.target if start == step.source else step.source
        filters = self._own_filters(end) if end not in self.bound else []
        if end in self.bound:
            rows, work = self._estimate_between(step, self.rows, start)
        else:
            work = self.rows * self._reach(step, start)
            rows = work * self._selectivity(filters)
        if end in self.ranked:
            filters = []
        self._take(number, Expand(number, start, tuple(filters)), rows, work)
        self.bound |= slots_of(step)
        self._drop(filters)

    def _own_filters(self, slot: int) -> list[int]:
        """Return the waiting filters that use only this variable."""
        if not self.pushes or slot in self.later:
            return []
        steps = self.block.steps
        return [
            n
            for n in self.waiting
            if isinstance(steps[n], Filter) and slots_of(steps[n]) == frozenset({slot})
        ]

    def _find_join(self, slot: int) -> int | None:
        """Return the filter that joins the nodes of a variable with the rows by equal values, if any."""
        if not self.pushes or slot in self.later:
            return None
        steps = ((number, self.block.steps[number]) for number in self.waiting)
        joins = [
            n for n, item in steps if isinstance(item, Filter) and is_join(item.condition, slot, self.bound)
        ]
        return min(joins, key=lambda number: self._selectivity([number]), default=None)

    def _nodes(self, slot: int, filters: list[int]) -> float:
        if slot in self.ranked:
            return self.ranked[slot]
        return self.statistics.table_rows(self.variables[slot]) * self._selectivity(filters)

    def _scan_cost(self, slot: int) -> float:
        """Return the cost of a scan of a variable: its rows, and the searches that it causes."""
        rows, join = self.rows * self._nodes(slot, self._own_filters(slot)), self._find_join(slot)
        rows *= self._selectivity([] if join is None else [join])
        return rows + self._closing_cost(slot, rows)

    def _selectivity(self, filters: list[int]) -> float:
        kept = 1.0
        for number in filters:
            step = self.block.steps[number]
            assert isinstance(step, Filter)
            kept *= selectivity(step.condition, self.variables, self.statistics)
        return kept

    def _reach(self, step: Traverse, start: int) -> float:
        reverse = start == step.target and start != step.source
        return self.statistics.reach(step, reverse)

    def _estimate_ways(self, counting: CountExpand) -> float:
        """Return the estimated number of matches that a row is counted for."""
        step = self.block.steps[counting.traverse]
        assert isinstance(step, Traverse)
        ways = self._reach(step, counting.start) * self._selectivity(list(counting.filters))
        return ways * math.prod(self._estimate_ways(item) for item in counting.beyond)

    def _work(self, counting: CountExpand) -> float:
        if not counting.filters and not counting.beyond:
            return self.rows
        step = self.block.steps[counting.traverse]
        assert isinstance(step, Traverse)
        return self.rows * self._reach(step, counting.start)

    def _still_introduced(self) -> frozenset[int]:
        """Return the variables that left joins and counts will still introduce."""
        steps = (self.block.steps[number] for number in self.waiting)
        return frozenset(
            slot for step in steps if isinstance(step, LeftJoin | CountJoin) for slot in introduces(step)
        )

    def _is_late(self, step: object) -> bool:
        return (
            bool(self.later)
            and not isinstance(step, LeftJoin | CountJoin)
            and bool(slots_of(step) & self.later)
        )

    def _is_known(self, step: object) -> bool:
        return slots_of(step) <= self.bound and not self._is_late(step)

    def _variables_to_come(self, number: int) -> set[int]:
        """Return the variables that other waiting steps will bind."""
        steps = (self.block.steps[other] for other in self.waiting if other != number)
        return {*self.counts_by_slot, *(slot for step in steps for slot in introduces(step))} - self.bound

    def _take(self, number: int, action: Action, rows: float, work: float) -> bool:
        self._append(action, rows, work)
        self._drop([number])
        return True

    def _append(self, action: Action, rows: float, work: float) -> None:
        self.actions.append((action, rows))
        self.rows = rows
        self.cost += work + rows + 1

    def _drop(self, numbers: list[int]) -> None:
        gone = set(numbers)
        self.waiting = [number for number in self.waiting if number not in gone]
        if self.later:
            self.later = self._still_introduced()
