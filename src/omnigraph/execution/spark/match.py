"""Executing the plan of a pattern on data frames: a row has the ids of variables and carried values.

Far ends that a plan only counts are not visited: a row that represents several has a weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import functions as F

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.pattern import AntiJoin, Block, CountJoin, Filter, LeftJoin, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.local.steps.traverse import direction_from
from omnigraph.execution.plan.nodes import (
    AntiJoinBlock,
    BlockPlan,
    CheckEdge,
    CheckNode,
    CountExpand,
    CountJoinBlock,
    Expand,
    FilterRows,
    LeftJoinBlock,
    PlanStep,
    ReadPlan,
    ScanNodes,
)
from omnigraph.execution.plan.pushable import join_sides
from omnigraph.execution.plan.used_variables import slots_of, variables_before
from omnigraph.execution.spark.attributes import ROW_COLUMN, WEIGHT_COLUMN, Attributes, id_column
from omnigraph.execution.spark.hops import HOP_COLUMN, search_hops
from omnigraph.execution.spark.paths import search_paths
from omnigraph.execution.spark.tables import FAR, NEAR, Tables, filter_frame
from omnigraph.execution.spark.united import relate_united

_KEY_PREFIX = "key_"
_WAYS_COLUMN = "ways"
"""The number of matches that continue from a node."""


@dataclass(frozen=True)
class Assignments:
    """A data frame of assignments of some variables."""

    data: Any
    slots: frozenset[int]
    weighed: bool = False
    """Whether there is a column of weights; otherwise each row is one assignment."""


class SparkMatcher:
    """Finds the assignments of a query's pattern."""

    def __init__(self, query: ReadQuery, tables: Tables, start: Any = None) -> None:
        """Take a bound query; `start` has the rows of an earlier stage, if there is one."""
        self._query = query
        self._tables = tables
        self._attributes: Attributes = tables.attributes
        one = tables.spark.range(0, 1, 1, 1).select(F.lit(0).alias(ROW_COLUMN))
        self._nothing = Assignments(one, frozenset())
        """One row without variables."""
        self._start = self._nothing if start is None else self._begin(start)

    def frame(self, plan: ReadPlan) -> Assignments:
        """Return all assignments of the top block."""
        return self._run(plan.block, self._query.match, self._start, frozenset())

    def _begin(self, start: Any) -> Assignments:
        """Return the rows of an earlier stage, with what is used of the nodes and edges that they hold."""
        slots = variables_before(self._query)
        for slot in sorted(slots):
            is_value = self._query.variables[slot].value_type is not None
            if not is_value and self._tables.needs_table(slot, ()):
                start = start.join(self._tables.variable(slot), id_column(slot), "left")
        return Assignments(start.withColumn(ROW_COLUMN, F.lit(0)), slots)

    def _run(self, plan: BlockPlan, block: Block, frame: Assignments, carried: frozenset[int]) -> Assignments:
        for step in plan.steps:
            frame = self._only(self._apply(step, block, frame), step.needed | carried)
        return frame

    def _apply(self, step: PlanStep, block: Block, frame: Assignments) -> Assignments:
        action = step.action
        match action:
            case ScanNodes(variable, filters, join=join):
                by = None if join is None else _conditions(block, [join])[0]
                return self._scan(variable, _conditions(block, filters), frame, by)
            case CheckNode(variable):
                return replace(frame, data=frame.data.filter(F.col(id_column(variable)).isNotNull()))
            case FilterRows(number):
                (condition,) = _conditions(block, [number])
                return replace(frame, data=filter_frame(frame.data, condition, self._attributes))
            case Expand(number, start, filters):
                return self._expand(_traverse(block, number), start, _conditions(block, filters), frame)
            case CheckEdge(number):
                return self._expand(_traverse(block, number), _traverse(block, number).source, [], frame)
            case CountExpand():
                return self._count_expand(action, block, frame)
            case AntiJoinBlock(number, inner):
                return self._anti_join(block.steps[number], inner, frame)
            case LeftJoinBlock(number, inner):
                return self._left_join(block.steps[number], inner, frame)
            case CountJoinBlock(number, inner):
                return self._count_join(block.steps[number], inner, frame)

    def _scan(
        self, slot: int, filters: list[Condition], frame: Assignments, by: Condition | None = None
    ) -> Assignments:
        """Combine each row with each node of a variable, or with those that a condition joins."""
        nodes = self._tables.variable(slot, () if slot in self._tables.best else filters)
        if frame is self._nothing:
            return Assignments(nodes.withColumn(ROW_COLUMN, F.lit(0)), frozenset({slot}))
        data = frame.data.crossJoin(nodes) if by is None else self._join(frame.data, nodes, slot, by)
        return replace(frame, data=data, slots=frame.slots | {slot})

    def _join(self, data: Any, nodes: Any, slot: int, by: Condition) -> Any:
        """Join by each equality of a condition, without the pairs that an earlier one has joined."""
        sides = join_sides(by, slot)
        assert sides is not None
        joined: list[Any] = []
        earlier = F.lit(False)
        for pair in sides:
            mine, other = (F.col(self._attributes.column(side)) for side in pair)
            joined.append(data.join(nodes, (mine == other) & ~earlier if joined else mine == other))
            earlier = earlier | F.coalesce(mine == other, F.lit(False))
        return reduce(lambda left, right: left.unionByName(right), joined)

    def _expand(
        self, step: Traverse, start: int, filters: list[Condition], frame: Assignments
    ) -> Assignments:
        """Join the rows with the pairs of a traversal, from the bound end."""
        reverse = start == step.target and start != step.source
        end = step.source if reverse else step.target
        column = id_column(start)
        starts = frame.data.filter(F.col(column).isNotNull())
        if step.path is None:
            related = self._relate(step, starts.select(F.col(column).alias(NEAR)), reverse)
        else:
            names = {column: NEAR} | ({id_column(end): FAR} if end in frame.slots - {start} else {})
            pairs = starts.select(*(F.col(name).alias(called) for name, called in names.items()))
            related = search_paths(self._tables, step, pairs.dropna(), reverse)
        more = frozenset(slot for slot in (step.edge, step.length, step.path) if slot is not None)
        names = {NEAR: id_column(start), FAR: id_column(end)}
        if step.length is not None:
            names[HOP_COLUMN] = id_column(step.length)
        if start == end:
            related = related.filter(F.col(NEAR) == F.col(FAR)).drop(FAR)
        kept = [name for name in related.columns if name != HOP_COLUMN or step.length is not None]
        related = related.select(*(F.col(name).alias(names.get(name, name)) for name in kept))
        bound = [slot for slot in dict.fromkeys((start, end)) if slot in frame.slots]
        joined = frame.data.join(related, [id_column(slot) for slot in bound])
        found = replace(frame, data=joined, slots=frame.slots | more | {end})
        if end in frame.slots:
            return found
        if self._tables.needs_table(end, filters):
            nodes = self._tables.variable(end, filters)
            return replace(found, data=found.data.join(nodes, id_column(end)))
        return found

    def _relate(self, step: Traverse, starts: Any, reverse: bool) -> Any:
        """Return the pairs of a traversal, with edge or hop; over several hops from `starts` only."""
        ends = [self._query.variables[slot] for slot in (step.source, step.target)]
        if step.more or any(end.more_types for end in ends):
            return relate_united(self._tables, step, starts, reverse)
        direction = direction_from(step.direction, reverse)
        hop = F.lit(1).cast("bigint").alias(HOP_COLUMN)
        if step.edge is not None:
            return self._tables.edges(step.edge, direction).select("*", hop)
        pairs = self._tables.pairs(step.edge_type, direction)
        if (step.low, step.high) == (1, 1):
            return pairs.select("*", hop)
        return search_hops(starts, pairs, step.low, step.high, reverse)

    def _count_expand(self, counting: CountExpand, block: Block, frame: Assignments) -> Assignments:
        """Multiply the weight of each row by the number of matches that continue from it."""
        column = id_column(counting.start)
        starts = frame.data.filter(F.col(column).isNotNull()).select(F.col(column).alias(NEAR))
        ways = self._count_ways(counting, block, starts).withColumnRenamed(NEAR, column)
        weight = F.col(WEIGHT_COLUMN) * F.col(_WAYS_COLUMN) if frame.weighed else F.col(_WAYS_COLUMN)
        joined = frame.data.join(ways, column).withColumn(WEIGHT_COLUMN, weight).drop(_WAYS_COLUMN)
        return replace(frame, data=joined, weighed=True)

    def _count_ways(self, counting: CountExpand, block: Block, starts: Any) -> Any:
        """Return the number of matches that continue from each node with any."""
        step = _traverse(block, counting.traverse)
        reverse = counting.start == step.target and counting.start != step.source
        related = self._relate(step, starts, reverse).select(NEAR, FAR)
        filters = _conditions(block, counting.filters)
        if self._tables.needs_table(counting.far, filters):
            nodes = self._tables.variable(counting.far, filters).select(
                F.col(id_column(counting.far)).alias(FAR)
            )
            related = related.join(nodes, FAR)
        related = related.withColumn(_WAYS_COLUMN, F.lit(1).cast("bigint"))
        for more in counting.beyond:
            beyond = self._count_ways(more, block, related.select(F.col(FAR).alias(NEAR)))
            further = beyond.select(
                F.col(NEAR).alias(FAR), F.col(_WAYS_COLUMN).alias(_KEY_PREFIX + _WAYS_COLUMN)
            )
            related = related.join(further, FAR).withColumn(
                _WAYS_COLUMN, F.col(_WAYS_COLUMN) * F.col(_KEY_PREFIX + _WAYS_COLUMN)
            )
        return related.groupBy(NEAR).agg(F.sum(_WAYS_COLUMN).alias(_WAYS_COLUMN))

    def _anti_join(self, step: object, plan: BlockPlan, frame: Assignments) -> Assignments:
        assert isinstance(step, AntiJoin)
        keys, solutions = self._solutions(plan, step.block, frame)
        found = solutions.data.select(*(F.col(name).alias(_KEY_PREFIX + name) for name in keys)).distinct()
        return replace(frame, data=frame.data.join(found, _equal_keys(keys), "left_anti"))

    def _left_join(self, step: object, plan: BlockPlan, frame: Assignments) -> Assignments:
        assert isinstance(step, LeftJoin)
        keys, solutions = self._solutions(plan, step.block, frame)
        new = [slot for slot in step.introduces if slot in solutions.slots]
        found = solutions.data.select(
            *(F.col(name).alias(_KEY_PREFIX + name) for name in keys),
            *(F.col(name) for slot in new for name in self._columns(slot)),
            *([F.col(WEIGHT_COLUMN).alias(_KEY_PREFIX + WEIGHT_COLUMN)] if solutions.weighed else []),
        )
        joined = frame.data.join(found, _equal_keys(keys), "left").drop(
            *(_KEY_PREFIX + name for name in keys)
        )
        if solutions.weighed:
            inner = F.coalesce(
                F.col(_KEY_PREFIX + WEIGHT_COLUMN), F.lit(1)
            )  # a row without a match stays one row
            weight = F.col(WEIGHT_COLUMN) * inner if frame.weighed else inner
            joined = joined.withColumn(WEIGHT_COLUMN, weight).drop(_KEY_PREFIX + WEIGHT_COLUMN)
        weighed = frame.weighed or solutions.weighed
        return Assignments(joined, frame.slots | frozenset(new), weighed)

    def _count_join(self, step: object, plan: BlockPlan, frame: Assignments) -> Assignments:
        assert isinstance(step, CountJoin)
        keys, solutions = self._solutions(plan, step.block, frame)
        each = F.col(WEIGHT_COLUMN) if solutions.weighed else F.lit(1).cast("bigint")
        counted, column = _KEY_PREFIX + _WAYS_COLUMN, id_column(step.into)
        found = solutions.data.groupBy(*(F.col(name).alias(_KEY_PREFIX + name) for name in keys)).agg(
            (F.lit(1).cast("bigint") if step.exists else F.sum(each)).alias(counted)
        )
        joined = frame.data.join(found, _equal_keys(keys), "left")
        data = joined.withColumn(column, F.coalesce(F.col(counted), F.lit(0).cast("bigint")))
        data = data.drop(counted, *(_KEY_PREFIX + name for name in keys))
        return replace(frame, data=data, slots=frame.slots | {step.into})

    def _solutions(self, plan: BlockPlan, block: Block, frame: Assignments) -> tuple[list[str], Assignments]:
        """Match a block for the distinct values of the variables that it shares with the rows."""
        shared = frame.slots & slots_of(block)
        keys = [ROW_COLUMN, *(id_column(slot) for slot in sorted(shared))]
        inner = self._only(replace(frame, weighed=False), shared)
        started = Assignments(inner.data.drop(WEIGHT_COLUMN).dropDuplicates(keys), shared)
        return keys, self._run(plan, block, started, shared)

    def _only(self, frame: Assignments, slots: Iterable[int]) -> Assignments:
        """Return the rows with only the columns of these variables."""
        kept = frame.slots & frozenset(slots)
        if kept == frame.slots:
            return frame
        names = [ROW_COLUMN, *(name for slot in sorted(kept) for name in self._columns(slot))]
        names += [WEIGHT_COLUMN] if frame.weighed else []
        return replace(frame, data=frame.data.select(*names), slots=kept)

    def _columns(self, slot: int) -> list[str]:
        return self._attributes.columns(slot)


def _equal_keys(keys: list[str]) -> Any:
    condition = F.lit(True)
    for name in keys:
        condition = condition & F.col(name).eqNullSafe(F.col(_KEY_PREFIX + name))
    return condition


def _conditions(block: Block, numbers: Iterable[int]) -> list[Condition]:
    steps = [block.steps[number] for number in numbers]
    return [step.condition for step in steps if isinstance(step, Filter)]


def _traverse(block: Block, number: int) -> Traverse:
    step = block.steps[number]
    assert isinstance(step, Traverse)
    return step
