"""The choice of access paths and routes: for each step of a plan the cheapest by estimate, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.pattern import AntiJoin, Block, CountJoin, Direction, Filter, LeftJoin, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import (
    EntityId,
    PropertyValue,
    RankFusion,
    TextMatch,
    TextScore,
    VectorDistance,
)
from omnigraph.execution.plan import access
from omnigraph.execution.plan.access import Access, AccessPath, AvailableData, Route
from omnigraph.execution.plan.nodes import (
    Action,
    AntiJoinBlock,
    BlockPlan,
    CountExpand,
    CountJoinBlock,
    Expand,
    LeftJoinBlock,
    PlanStep,
    RankNodes,
    ReadPlan,
    ScanNodes,
)
from omnigraph.execution.plan.per_type import owners_of, read_as, rewrite
from omnigraph.execution.plan.pushable import column_of, columns_to_push, exact_value, find_text_match
from omnigraph.execution.plan.selectivity import selectivity
from omnigraph.execution.plan.statistics import Statistics, is_unique
from omnigraph.execution.plan.used_variables import without_fusions

_ROWS_PER_PUSHED_ROW = 20
"""A filter is pushed to storage if it is expected to keep at most one row in so many; else all are read."""


def choose_paths(plan: ReadPlan, statistics: Statistics, available: AvailableData) -> ReadPlan:
    """Return the plan with an access path for each step. A plan that is not optimised reads everything."""
    chooser = _Chooser(plan.query, statistics, available if plan.optimised else None)
    sources = tuple(choose_paths(item, statistics, available) for item in plan.sources)
    chooser = replace(chooser, first=sum(item.rows for item in sources) if sources else 1.0)
    return replace(
        plan,
        block=chooser.block(plan.block, plan.query.match, chooser.first),
        rankings=tuple(map(chooser.ranking, plan.rankings)),
        sources=sources,
    )


@dataclass(frozen=True)
class _Chooser:
    query: ReadQuery
    statistics: Statistics
    available: AvailableData | None
    first: float = 1.0
    """The estimated rows with which the query begins."""

    def block(self, plan: BlockPlan, block: Block, rows: float) -> BlockPlan:
        """Return the steps of a block with their access paths."""
        return BlockPlan(tuple(self._choose_for_steps(plan, block, rows)))

    def ranking(self, rank: RankNodes) -> RankNodes:
        """Return a ranking with access paths to its candidates, and to the best of them."""
        if rank.among is not None:
            among = self.block(rank.among, without_fusions(self.query.match), self.first)
            best = AccessPath(Access.MEMORY, why="the matches are ranked")
            return replace(rank, among=among, path=AccessPath(Access.ALL), best=best)
        path = self._choose_path(rank.variable, rank.filters, self.query.match)
        return replace(rank, path=path, best=self._choose_best(rank))

    def _choose_for_steps(self, plan: BlockPlan, block: Block, rows: float) -> Iterator[PlanStep]:
        for step in plan.steps:
            yield replace(step, action=self._choose_for_action(step.action, block, rows))
            rows = step.rows

    def _choose_for_action(self, action: Action, block: Block, rows: float) -> Action:
        match action:
            case ScanNodes(variable, filters, False):
                first, *more = self._choose_paths(variable, filters, block)
                return replace(action, path=first, more_paths=tuple(more))
            case Expand(traverse, start):
                route, why = self._choose_route(block, traverse, start, rows)
                return replace(action, route=route, why=why)
            case CountExpand():
                return self._choose_count_route(action, block, rows)
            case AntiJoinBlock(number, inner) | LeftJoinBlock(number, inner) | CountJoinBlock(number, inner):
                outer = block.steps[number]
                assert isinstance(outer, AntiJoin | LeftJoin | CountJoin)
                return replace(action, block=self.block(inner, outer.block, rows))
        return action

    def _choose_paths(self, slot: int, filters: tuple[int, ...], block: Block) -> list[AccessPath]:
        """Choose the access path to the nodes of each type of a variable."""
        variable = self.query.variables[slot]
        if not variable.more_types:
            return [self._choose_path(slot, filters, block)]
        found = []
        for owner in owners_of(variable, self.statistics.catalog):
            query = read_as(self.query, slot, owner)
            inside = query.match if block is self.query.match else rewrite(block, slot, owner)
            found.append(replace(self, query=query)._choose_path(slot, filters, inside))
        return found

    def _choose_path(self, slot: int, filters: tuple[int, ...], block: Block) -> AccessPath:
        """Choose the access path to the nodes of a variable that pass some filters."""
        table = f"node:{self.query.variables[slot].type_name}"
        rows = int(self.statistics.rows.get(table, 0))
        if not filters:
            return AccessPath(Access.ALL, why=_format_count(rows, "row"))
        conditions = {number: _condition(block, number) for number in filters}
        if self.available is None:
            return AccessPath(Access.MEMORY, why="as it is written")
        in_storage = (
            self._choose_in_storage(slot, table, rows, block, conditions)
            if rows >= access.LARGE_TABLE_ROWS
            else None
        )
        return in_storage or self._choose_in_memory(table, rows, conditions)

    def _choose_in_memory(self, table: str, rows: int, conditions: dict[int, ir.Condition]) -> AccessPath:
        """Choose between a hash table and a scan of all rows."""
        assert self.available is not None
        owner = self.statistics.catalog.table(table)
        small = "" if rows >= access.LARGE_TABLE_ROWS else f"only {_format_count(rows, 'row')}, "
        for number, condition in conditions.items():
            equality = exact_value(condition)
            if equality is None:
                continue
            column = column_of(equality[0])
            if column == "id" or (owner is not None and is_unique(owner, column)):
                return AccessPath(Access.HASH, (number,), why=f"{small}{column} is unique")
            if self.available.is_often_asked(table, column):
                return AccessPath(Access.HASH, (number,), why=f"{small}{column} is asked for often")
        if small:
            return AccessPath(Access.MEMORY, why=small.removesuffix(", "))
        kept = rows * self._selectivity(conditions, tuple(conditions))
        return AccessPath(
            Access.MEMORY,
            why=f"about {_format_rows(kept)} of {rows:,} rows{self._describe_memory(table, conditions)}",
        )

    def _describe_memory(self, table: str, conditions: dict[int, ir.Condition]) -> str:
        """Describe which columns of some conditions are in memory."""
        assert self.available is not None
        known = map(columns_to_push, conditions.values())
        columns = sorted(frozenset[str]().union(*(item for item in known if item is not None)))
        there = [column for column in columns if self.available.has_column(table, column)]
        return f", {', '.join(there)} in memory" if there else ""

    def _choose_in_storage(
        self, slot: int, table: str, rows: int, block: Block, conditions: dict[int, ir.Condition]
    ) -> AccessPath | None:
        """Choose a look-up in storage; None if columns in memory are better."""
        available = self.available
        assert available is not None
        if available.is_worth_reading(table) or self._has_unique(table, conditions):
            return None
        pushed = {number: columns_to_push(condition) for number, condition in conditions.items()}
        by = tuple(number for number, columns in pushed.items() if columns is not None)
        looked_at = frozenset[str]().union(*(columns for columns in pushed.values() if columns is not None))
        far = sorted(column for column in looked_at if not available.has_column(table, column))
        kept = rows * self._selectivity(conditions, by)
        if far and kept * _ROWS_PER_PUSHED_ROW <= rows:
            indexed = sorted(looked_at & available.exact_indexes(table))
            missing = f"{', '.join(far)} not in memory"
            why = f"about {_format_rows(kept)} of {rows:,} rows, {missing}"
            wanted = self._columns_to_read(slot, block, by)
            if indexed:
                return AccessPath(Access.INDEX, by, wanted, f"{why}, {', '.join(indexed)} indexed")
            return AccessPath(Access.PUSHED, by, wanted, why)
        return self._choose_text_index(slot, table, rows, block, conditions)

    def _has_unique(self, table: str, conditions: dict[int, ir.Condition]) -> bool:
        """Return whether a filter compares a unique column that is in memory with a value."""
        assert self.available is not None
        owner = self.statistics.catalog.table(table)
        asked = {
            column_of(equality[0])
            for equality in map(exact_value, conditions.values())
            if equality is not None
        }
        return any(
            (column == "id" or (owner is not None and is_unique(owner, column)))
            and self.available.has_column(table, column)
            for column in asked
        )

    def _choose_text_index(
        self, slot: int, table: str, rows: int, block: Block, conditions: dict[int, ir.Condition]
    ) -> AccessPath | None:
        assert self.available is not None
        for number, condition in conditions.items():
            match = find_text_match(condition)
            column = None if match is None else match.field.declared.name
            if column is None or column not in self.available.text_indexes(table):
                continue
            if not self.available.has_words(table, column):
                why = f"the words of {rows:,} texts are not in memory"
                return AccessPath(Access.WORDS, (number,), self._columns_to_read(slot, block, (number,)), why)
        return None

    def _choose_best(self, rank: RankNodes) -> AccessPath:
        """Choose how the best are found. Only the commit decides, as a vector index may miss some."""
        score = rank.score
        match score:
            case RankFusion():
                return AccessPath(Access.MEMORY, why="the rankings above")
            case TextScore():
                return AccessPath(Access.MEMORY, why="scores need the words of all texts")
        assert isinstance(score, VectorDistance)
        table, column = f"node:{self.query.variables[rank.variable].type_name}", score.field.declared.name
        rows = int(self.statistics.rows.get(table, 0))
        if self.available is None or rows < access.LARGE_TABLE_ROWS or self.query.limit is None:
            return AccessPath(Access.MEMORY, why=f"{rows:,} vectors are measured exactly")
        if column not in self.available.vector_indexes(table):
            return AccessPath(Access.MEMORY, why=f"{column} has no index, {rows:,} vectors are measured")
        return AccessPath(Access.VECTORS, why=f"{rows:,} vectors, {column} indexed")

    def _choose_count_route(self, counting: CountExpand, block: Block, rows: float) -> CountExpand:
        route, why = self._choose_route(block, counting.traverse, counting.start, rows)
        reach = rows * self._reach(block, counting)
        beyond = tuple(self._choose_count_route(item, block, reach) for item in counting.beyond)
        return replace(counting, route=route, why=why, beyond=beyond)

    def _reach(self, block: Block, counting: CountExpand) -> float:
        step = block.steps[counting.traverse]
        assert isinstance(step, Traverse)
        return self.statistics.reach(step, counting.start == step.target and counting.start != step.source)

    def _choose_route(self, block: Block, number: int, start: int, rows: float) -> tuple[Route, str]:
        """Choose how edges are followed from `rows` rows: one route for all edge types of a traversal."""
        step = block.steps[number]
        assert isinstance(step, Traverse)
        for way in step.ways:
            alone = replace(step, edge_type=way.edge_type, direction=way.direction, more=())
            route, why = self._choose_route_along(alone, start, rows)
            if route is Route.ADJACENCY:
                break
        return route, why

    def _choose_route_along(self, step: Traverse, start: int, rows: float) -> tuple[Route, str]:
        """Choose how the edges of one type are followed from `rows` rows."""
        edge = self.statistics.catalog.edge(step.edge_type)
        assert edge is not None
        edges = int(self.statistics.rows.get(edge.table_key, 0))
        if self.available is None:
            return Route.ADJACENCY, "as it is written"
        if step.path is not None:
            return Route.ADJACENCY, "a path is searched"
        if edges < access.LARGE_TABLE_ROWS:
            return Route.ADJACENCY, f"only {_format_count(edges, 'edge')}"
        if self.available.has_adjacency(edge.name):
            return Route.ADJACENCY, "in memory"
        if (step.low, step.high) != (1, 1) or step.direction is Direction.BOTH:
            return Route.ADJACENCY, "more than one hop or way"
        if rows > access.MAX_LOOKUPS:
            return Route.ADJACENCY, f"from about {_format_starts(rows)}"
        if self.available.is_worth_reading(edge.table_key):
            return Route.ADJACENCY, "looked up often enough"
        reverse = start == step.target and start != step.source
        near = "dst" if reverse != (step.direction is Direction.BACKWARD) else "src"
        is_indexed = near in self.available.exact_indexes(edge.table_key)
        if not is_indexed and edges < access.MANY_ROWS:
            return Route.ADJACENCY, f"{near} has no index"
        why = f"from about {_format_starts(rows)}, {edges:,} edges not in memory"
        if is_indexed:
            return Route.LOOKUPS, f"{why}, {near} indexed"
        return Route.SCANS, f"{why}, {near} has no index"

    def _selectivity(self, conditions: dict[int, ir.Condition], by: tuple[int, ...]) -> float:
        kept = 1.0
        for number in by:
            kept *= selectivity(conditions[number], self.query.variables, self.statistics)
        return kept

    def _columns_to_read(self, slot: int, block: Block, by: tuple[int, ...]) -> tuple[str, ...]:
        """Return the columns of a variable that the query reads, except in filters that the path answers."""
        query = self.query
        answered = set(by) if block is query.match else set()
        steps = tuple(step for number, step in enumerate(query.match.steps) if number not in answered)
        parts: list[Any] = [steps, query.projections, query.order, query.ties]
        return tuple(sorted({name for part in parts for name in _columns_read(part, slot)}))


def _columns_read(node: Any, slot: int) -> Iterator[str]:
    """Yield the columns of a variable below a node, except those of searches, which read whole columns."""
    match node:
        case TextScore() | VectorDistance() | TextMatch():
            return
        case PropertyValue() | EntityId():
            if node.variable == slot:
                yield column_of(node)
        case tuple():
            for item in node:
                yield from _columns_read(item, slot)
        case _ if is_dataclass(node) and type(node).__module__.startswith("omnigraph.compiler.ir"):
            for item in fields(node):
                yield from _columns_read(getattr(node, item.name), slot)


def _condition(block: Block, number: int) -> ir.Condition:
    step = block.steps[number]
    assert isinstance(step, Filter)
    return step.condition


def _format_starts(rows: float) -> str:
    return _format_count(round(max(rows, 1)), "row")


def _format_count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _format_rows(rows: float) -> str:
    return f"{max(rows, 1):,.0f}"
