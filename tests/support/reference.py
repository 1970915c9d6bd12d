"""The reference evaluator: nested loops over dictionaries, written to be obviously right, not fast.

Text search is simplified to whole lower-case words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from omnigraph.compiler.ir import conditions as cond
from omnigraph.compiler.ir import values as val
from omnigraph.compiler.ir.pattern import (
    AntiJoin,
    Block,
    Direction,
    Filter,
    LeftJoin,
    Scan,
    Step,
    Traverse,
    VariableKind,
)
from omnigraph.compiler.ir.queries import Output, ReadQuery, SortKey
from omnigraph.compiler.values.results import to_json
from support.reference_graph import MemoryGraph

Assignment = dict[int, Any]


class Reader:
    """Evaluate one bound read on a graph."""

    def __init__(self, query: ReadQuery, graph: MemoryGraph) -> None:
        self.query, self.graph = query, graph
        self.best: dict[int, list[str]] = {}
        self.fused: dict[int, dict[str, float]] = {}

    def run(self) -> list[dict[str, Any]]:
        """Return the result rows as JSON objects."""
        query = self.query
        if query.ranking and query.ranking.candidates is not None:
            slot = query.ranking.candidates
            self.best[slot] = self.ranked(slot, query.ranking.score)[: self.depth()]
        matches = self.solve(query.match, {})
        if query.ranking:
            matches = [row for row in matches if self.value(query.ranking.score, row) is not None]
        rows: list[tuple[Assignment, list[Any]]]
        if query.grouped:
            rows = [({}, values) for values in self.groups(matches)]
        else:
            rows = [(row, [self.value(item.value, row) for item in query.projections]) for row in matches]  # type: ignore[arg-type]
        if query.distinct:
            shown = [at for at, item in enumerate(query.projections) if not item.shadowed]
            rows = list({tuple(repr(row[1][at]) for at in shown): row for row in rows}.values())
        for key in reversed((*query.order, *query.ties)):
            rows.sort(key=lambda row: self.sort_value(key, row), reverse=key.descending)
        skip = query.skip.value if query.skip else 0  # type: ignore[union-attr]
        limit = query.limit.value if query.limit else None  # type: ignore[union-attr]
        rows = rows[skip:] if limit is None else rows[skip : skip + limit]  # type: ignore[operator,misc]
        return [
            {
                item.name: to_json(value, item.value.type)
                for item, value in zip(query.projections, values, strict=True)
            }
            for _, values in rows
        ]

    def sort_value(self, key: SortKey, row: tuple[Assignment, list[Any]]) -> tuple[bool, Any]:
        value = (
            row[1][key.value.projection] if isinstance(key.value, Output) else self.value(key.value, row[0])
        )
        return value is not None, "" if value is None else value.encode() if isinstance(value, str) else value

    # Patterns

    def solve(self, block: Block, start: Assignment) -> list[Assignment]:
        rows = [start]
        for step in block.steps:
            rows = [after for row in rows for after in self.step(step, row)]
        return rows

    def step(self, step: Step, row: Assignment) -> Iterator[Assignment]:
        match step:
            case Scan():
                for node in self.graph.nodes[self.query.variables[step.variable].type_name]:
                    if step.variable not in self.best or node in self.best[step.variable]:
                        yield from self.assign(row, {step.variable: node})
            case Filter():
                if self.holds(step.condition, row):
                    yield row
            case AntiJoin():
                if not self.solve(step.block, row):
                    yield row
            case LeftJoin():
                yield from self.solve(step.block, row) or [row | dict.fromkeys(step.introduces)]
            case Traverse():
                for found in self.walk(step):
                    yield from self.assign(row, found)

    def assign(self, row: Assignment, found: Assignment) -> Iterator[Assignment]:
        if all(row.get(slot, value) == value for slot, value in found.items()):
            yield row | found

    def walk(self, step: Traverse) -> Iterator[Assignment]:
        edge = self.graph.catalog.edge(step.edge_type)
        assert edge is not None
        pairs = [
            (ends, id)
            for id, row in self.graph.edges[edge.name].items()
            if row.source in self.graph.nodes[edge.source] and row.target in self.graph.nodes[edge.target]
            for ends in self.directed(step.direction, row.source, row.target)
        ]
        if step.edge is not None:
            for (source, target), id in pairs:
                if step.source != step.target or source == target:
                    yield self.filled(step, source, target, 1) | {step.edge: id}
            return
        follows: dict[str, set[str]] = {}
        for (source, target), _ in pairs:
            follows.setdefault(source, set()).add(target)
        for source in follows:
            for target, hop in breadth_first(source, follows, step.low, step.high).items():
                if step.source != step.target or source == target:
                    yield self.filled(step, source, target, hop)

    def directed(self, direction: Direction, source: str, target: str) -> set[tuple[str, str]]:
        forward, backward = (source, target), (target, source)
        if direction is Direction.BOTH:
            return {forward, backward}
        return {forward if direction is Direction.FORWARD else backward}

    def filled(self, step: Traverse, source: str, target: str, hop: int) -> Assignment:
        length = {} if step.length is None else {step.length: hop}
        return {step.source: source, step.target: target} | length

    # Values

    def value(self, node: val.Value, row: Assignment) -> Any:
        match node:
            case val.Constant():
                return node.value
            case val.PropertyValue():
                entity = row[node.variable]
                return None if entity is None else self.values_of(node.variable, entity)[node.declared.name]
            case val.EntityId() | val.PathLength():
                return row[node.variable]
            case val.EdgeEnd():
                if row[node.variable] is None:
                    return None
                edge = self.graph.edges[self.query.variables[node.variable].type_name][row[node.variable]]
                return edge.source if node.end is val.End.SOURCE else edge.target
            case val.TextMatch():
                field, text = self.value(node.field, row), self.value(node.text, row)
                return None if field is None or text is None else bool(words(field) & words(text))
            case val.VectorDistance():
                return cosine_distance(self.value(node.field, row), self.value(node.query, row))
            case val.RankFusion():
                return self.fusion(node).get(row[node.rankings[0].field.variable])
        raise AssertionError(f"no reference for {node}")

    def values_of(self, slot: int, entity: str) -> dict[str, Any]:
        variable = self.query.variables[slot]
        if variable.kind is VariableKind.NODE:
            return self.graph.nodes[variable.type_name][entity]
        return self.graph.edges[variable.type_name][entity].values

    # Conditions: True, False, or None for unknown

    def holds(self, node: cond.Condition, row: Assignment) -> bool:
        return self.truth(node, row) is True

    def truth(self, node: cond.Condition, row: Assignment) -> bool | None:
        match node:
            case cond.All():
                terms = [self.truth(term, row) for term in node.terms]
                return False if False in terms else None if None in terms else True
            case cond.Any():
                terms = [self.truth(term, row) for term in node.terms]
                return True if True in terms else None if None in terms else False
            case cond.Not():
                inner = self.truth(node.term, row)
                return None if inner is None else not inner
            case cond.IsNull():
                return self.value(node.value, row) is None
            case cond.Compare():
                return compare(node.comparator, self.value(node.left, row), self.value(node.right, row))
            case cond.ListContains():
                items, item = self.value(node.list, row), self.value(node.item, row)
                return None if items is None or item is None else exact(item) in [exact(one) for one in items]
            case cond.TextContains():
                text, part = self.value(node.text, row), self.value(node.part, row)
                return None if text is None or part is None else part in text
            case cond.TextStartsWith():
                text, part = self.value(node.text, row), self.value(node.prefix, row)
                return None if text is None or part is None else text.startswith(part)

    # Groups

    def groups(self, matches: list[Assignment]) -> Iterator[list[Any]]:
        projections = self.query.projections
        keys = [at for at, item in enumerate(projections) if not isinstance(item.value, val.Aggregate)]
        found: dict[str, list[Assignment]] = {} if keys else {"[]": []}
        for row in matches:
            found.setdefault(repr([self.value(projections[at].value, row) for at in keys]), []).append(row)  # type: ignore[arg-type]
        for rows in found.values():
            yield [
                self.aggregate(item.value, rows)
                if isinstance(item.value, val.Aggregate)
                else self.value(item.value, rows[0])
                for item in projections
            ]

    def aggregate(self, node: val.Aggregate, rows: list[Assignment]) -> Any:
        values = [value for row in rows if (value := self.value(node.argument, row)) is not None]
        if node.distinct:
            values = list(dict.fromkeys(values))
        match node.function:
            case val.AggregateFunction.COUNT:
                return len(values)
            case val.AggregateFunction.COLLECT:
                return tuple(sorted(values))
            case val.AggregateFunction.MIN:
                return min(values, default=None)
            case val.AggregateFunction.MAX:
                return max(values, default=None)
            case val.AggregateFunction.SUM:
                return math.fsum(values) if values else None
            case val.AggregateFunction.AVG:
                return math.fsum(values) / len(values) if values else None

    # Ranking

    def depth(self) -> int | None:
        query = self.query
        if query.limit is None:
            return None
        return query.limit.value + (query.skip.value if query.skip else 0)  # type: ignore[union-attr,operator,return-value]

    def candidates(self, slot: int) -> list[str]:
        steps = [
            step
            for step in self.query.match.steps
            if isinstance(step, Filter) and slots(step.condition) <= {slot}
        ]
        nodes = self.graph.nodes[self.query.variables[slot].type_name]
        return [node for node in nodes if all(self.holds(step.condition, {slot: node}) for step in steps)]

    def ranked(self, slot: int, score: val.Score) -> list[str]:
        found = [(self.value(score, {slot: node}), node) for node in self.candidates(slot)]
        sign = 1 if isinstance(score, val.VectorDistance) else -1
        return [
            node for value, node in sorted((sign * value, node) for value, node in found if value is not None)
        ]

    def fusion(self, node: val.RankFusion) -> dict[str, float]:
        if id(node) not in self.fused:
            scores: dict[str, float] = {}
            for ranking in node.rankings:
                for rank, entity in enumerate(
                    self.ranked(ranking.field.variable, ranking)[: self.depth()], 1
                ):
                    scores[entity] = scores.get(entity, 0.0) + 1 / (node.k.value + rank)  # type: ignore[union-attr,operator]
            self.fused[id(node)] = scores
        return self.fused[id(node)]


def breadth_first(source: str, follows: dict[str, set[str]], low: int, high: int) -> dict[str, int]:
    """Return the hop number of every node that a search from a source reports."""
    visited, frontier, reported, hop = {source}, [source], dict[str, int](), 0
    while frontier and hop < high:
        hop += 1
        following: list[str] = []
        for node in frontier:
            for target in sorted(follows.get(node, ())):
                if target != node and target in visited:
                    continue
                if hop >= low:
                    reported.setdefault(target, hop)
                if target != node:
                    visited.add(target)
                    following.append(target)
        frontier = following
    return reported


def compare(comparator: cond.Comparator, left: Any, right: Any) -> bool | None:
    """Compare exactly; None when either side is."""
    if left is None or right is None:
        return None
    left, right = exact(left), exact(right)
    return {
        cond.Comparator.EQ: left == right,
        cond.Comparator.NE: left != right,
        cond.Comparator.LT: left < right,
        cond.Comparator.LE: left <= right,
        cond.Comparator.GT: left > right,
        cond.Comparator.GE: left >= right,
    }[comparator]


def exact(value: Any) -> Any:
    """Return a finite number as a fraction, so that no width rounds it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Fraction(value) if is_number and (isinstance(value, int) or math.isfinite(value)) else value


def words(text: str) -> set[str]:
    """Return the lower-case words of a text."""
    return set(re.findall(r"\w+", text.lower()))


def cosine_distance(left: Any, right: Any) -> float | None:
    """Return one minus the cosine of two vectors."""
    if left is None or right is None:
        return None
    norm = math.hypot(*left) * math.hypot(*right)
    return 1 - math.fsum(a * b for a, b in zip(left, right, strict=True)) / norm if norm else 1.0


def slots(node: Any) -> set[int]:
    """Return the variables below a condition or value."""
    if isinstance(node, tuple):
        return set().union(*(slots(item) for item in node)) if node else set()
    if isinstance(node, val.PropertyValue | val.EntityId | val.EdgeEnd | val.PathLength):
        return {node.variable}
    names = getattr(type(node), "__dataclass_fields__", {})
    ours = type(node).__module__.startswith("omnigraph.compiler.ir")
    return set().union(*(slots(getattr(node, name)) for name in names)) if ours and names else set()
