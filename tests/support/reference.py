"""The reference evaluator: nested loops over dictionaries, written to be obviously right, not fast."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

from omnigraph.compiler.ir import conditions as cond
from omnigraph.compiler.ir import values as val
from omnigraph.compiler.ir.computed import EntityMap, MemberTest
from omnigraph.compiler.ir.pattern import (
    AntiJoin,
    Block,
    CountJoin,
    Direction,
    Filter,
    LeftJoin,
    Scan,
    Step,
    Traverse,
    VariableKind,
    Way,
)
from omnigraph.compiler.ir.queries import Output, ReadQuery, SortKey
from omnigraph.compiler.values.results import to_json
from support.reference_expressions import compute
from support.reference_graph import MemoryGraph
from support.reference_paths import breadth_first, check_weights, find_paths
from support.reference_search import cosine_distance, found, tokens

READ_OF_VARIABLES = (
    val.PropertyValue,
    val.EntityId,
    val.EntityType,
    val.EntityKey,
    val.EdgeEnd,
    val.PathLength,
    val.StageValue,
    val.PathValue,
)
"""The values that read a variable."""
Assignment = dict[int, Any]
FIRST_MEMBER = -2
"""Where the member of a list stands; those of inner tests below."""
GROUP = -1
"""Where the columns of a group stand."""
Key = tuple[str, str]
"""The type and the id of a node or edge."""


class Reader:
    """Evaluate one bound read on a graph."""

    def __init__(self, query: ReadQuery, graph: MemoryGraph) -> None:
        self.query, self.graph = query, graph
        self.best: dict[int, list[str]] = {}
        self.fused: dict[val.RankFusion, dict[str, float]] = {}
        self.matched: list[Assignment] | None = None
        self.walks: dict[Traverse, list[Assignment]] = {}
        self.before: list[Assignment] | None = None
        self.delicate = False
        """Whether the sequence hangs on the last digits of computed numbers: then only this order is sure."""

    def run(self) -> list[dict[str, Any]]:
        """Return the result rows as JSON objects."""
        rows = [row for tied in self.classes() for row in tied]
        return rows[self.first() :] if self.limit() is None else rows[self.first() : self.depth()]

    def classes(self) -> list[list[dict[str, Any]]]:
        """Return all rows, those beyond the page too: in order, and together where their order is free.

        Raise BadWeight if a path is to be short by what is no weight.
        """
        return [[self.shown(values) for values in some] for some in self.value_classes()]

    def value_classes(self) -> list[list[list[Any]]]:
        """Return the values of all columns instead, as what follows a stage reads them."""
        query = self.query
        check_weights(query.match, self.graph)
        if query.ranking and query.ranking.candidates is not None:
            slot = query.ranking.candidates
            self.best[slot] = self.cut(slot, query.ranking.score)
        matches = [row for start in self.starts() for row in self.solve(query.match, start)]
        if query.ranking:
            matches = [row for row in matches if self.value(query.ranking.score, row) is not None]
        rows: list[tuple[Assignment, list[Any]]]
        if query.grouped:
            rows = [({}, values) for values in self.groups(matches)]
        else:
            rows = [(row, [self.value(item.value, row) for item in query.projections]) for row in matches]  # type: ignore[arg-type]
        if query.distinct:
            shown = [at for at, item in enumerate(query.projections) if not (item.shadowed or item.hidden)]
            rows = list({tuple(by_value(row[1][at]) for at in shown): row for row in rows}.values())
        keys = (*query.order, *query.ties)
        for key in reversed(keys):
            rows.sort(key=lambda row: self.sort_value(key, row), reverse=key.descending)
            self.mistrust([self.sort_value(key, row)[1] for row in rows])
        tied = groupby(rows, lambda row: [self.sort_value(key, row) for key in keys])
        return [[values for _, values in some] for _, some in tied]

    def starts(self) -> list[Assignment]:
        """Return the rows that earlier stages give, or the parts of a union: one without any."""
        if self.before is None:
            source = self.query.source
            self.before = [{}] if source is None else []
            for read in source.reads if source else ():
                reader = Reader(read, self.graph)
                rows = [row for tied in reader.value_classes() for row in tied]
                rows = (
                    rows[reader.first() :]
                    if reader.limit() is None
                    else rows[reader.first() : reader.depth()]
                )
                self.delicate |= reader.delicate
                self.before += [self.assigned(read, row) for row in rows]
        return self.before

    def assigned(self, read: ReadQuery, row: list[Any]) -> Assignment:
        """Return a row of an earlier stage as what the variables hold."""
        shown = {item.name: row[at] for at, item in enumerate(read.projections) if not item.hidden}
        assert self.query.source is not None
        found = {}
        for slot, column in zip(self.query.source.variables, read.columns, strict=True):
            variable, value = self.query.variables[slot], shown[column.name]
            if variable.more_types and value is not None:
                type_name, _, id = value.partition(":")
                value = (type_name, id)
            number = isinstance(value, int) and not isinstance(value, bool)
            wide = variable.value_type is not None and variable.value_type.scalar.is_float
            found[slot] = float(value) if number and wide else value
        return found

    def shown(self, values: list[Any]) -> dict[str, Any]:
        """Return a row as a JSON object."""
        columns = zip(self.query.projections, values, strict=True)
        return {item.name: to_json(value, item.value.type) for item, value in columns if not item.hidden}

    def sort_value(self, key: SortKey, row: tuple[Assignment, list[Any]]) -> tuple[bool, Any]:
        value = (
            row[1][key.value.projection] if isinstance(key.value, Output) else self.value(key.value, row[0])
        )
        return sortable(value)

    def mistrust(self, values: list[Any]) -> None:
        """Note numbers that another sequence of additions might put in another order."""
        numbers = sorted(value for value in values if isinstance(value, float))
        if any(0 < more - less <= 1e-9 * max(1.0, abs(less)) for less, more in pairwise(numbers)):
            self.delicate = True

    def first(self) -> int:
        """Return how many rows are skipped."""
        return self.query.skip.value if self.query.skip else 0  # type: ignore[union-attr,return-value]

    def limit(self) -> int | None:
        """Return how many rows are wanted."""
        return self.query.limit.value if self.query.limit else None  # type: ignore[union-attr,return-value]

    # Patterns

    def solve(self, block: Block, start: Assignment) -> list[Assignment]:
        rows = [start]
        for step in block.steps:
            rows = [after for row in rows for after in self.step(step, row)]
        return rows

    def step(self, step: Step, row: Assignment) -> Iterator[Assignment]:
        match step:
            case Scan():
                for type_name in self.query.variables[step.variable].types:
                    for id in self.graph.nodes[type_name]:
                        node = self.entity(step.variable, (type_name, id))
                        if step.variable not in self.best or node in self.best[step.variable]:
                            yield from self.assign(row, {step.variable: node})
            case Filter():
                if self.holds(step.condition, row):
                    yield row
            case AntiJoin():
                if not self.solve(step.block, row):
                    yield row
            case CountJoin():
                count = len(self.solve(step.block, row))
                yield row | {step.into: min(count, 1) if step.exists else count}
            case LeftJoin():
                yield from self.solve(step.block, row) or [row | dict.fromkeys(step.introduces)]
            case Traverse():
                for found in self.walk(step):
                    yield from self.assign(row, found)

    def assign(self, row: Assignment, found: Assignment) -> Iterator[Assignment]:
        if all(row.get(slot, value) == value for slot, value in found.items()):
            yield row | found

    def walk(self, step: Traverse) -> list[Assignment]:
        if step not in self.walks:
            self.walks[step] = list(self.relation(step))
        return self.walks[step]

    def relation(self, step: Traverse) -> Iterator[Assignment]:
        """Yield everything that a traversal relates, whatever is bound."""
        pairs = [pair for way in step.ways for pair in self.edges_along(way)]
        if step.edge is not None:
            for (source, target), edge in pairs:
                if step.source != step.target or source == target:
                    for found in self.filled(step, source, target, 1):
                        yield found | {step.edge: self.entity(step.edge, edge)}
            return
        if step.path is not None:
            for source, target, path in find_paths(step, pairs, self.graph):
                for found in self.filled(step, source, target, len(path.edges)):
                    if step.source != step.target or source == target:
                        yield found | {step.path: path}
            return
        follows: dict[Key, set[Key]] = {}
        for (source, target), _ in pairs:
            follows.setdefault(source, set()).add(target)
        for source in follows:
            for target, hop in breadth_first(source, follows, step.low, step.high).items():
                if step.source != step.target or source == target:
                    yield from self.filled(step, source, target, hop)

    def edges_along(self, way: Way) -> Iterator[tuple[tuple[Key, Key], Key]]:
        """Yield the ends and the edge of every edge of a way, in its directions."""
        edge = self.graph.catalog.edge(way.edge_type)
        assert edge is not None
        for id, row in self.graph.edges[edge.name].items():
            if row.source in self.graph.nodes[edge.source] and row.target in self.graph.nodes[edge.target]:
                for ends in self.directed(
                    way.direction, (edge.source, row.source), (edge.target, row.target)
                ):
                    yield ends, (edge.name, id)

    def directed(self, direction: Direction, source: Key, target: Key) -> set[tuple[Key, Key]]:
        forward, backward = (source, target), (target, source)
        if direction is Direction.BOTH:
            return {forward, backward}
        return {forward if direction is Direction.FORWARD else backward}

    def filled(self, step: Traverse, source: Key, target: Key, hop: int) -> Iterator[Assignment]:
        """Yield the assignment of a traversal if its ends have types of their variables."""
        variables = self.query.variables
        if source[0] in variables[step.source].types and target[0] in variables[step.target].types:
            length = {} if step.length is None else {step.length: hop}
            ends = {step.source: source, step.target: target}
            yield {slot: self.entity(slot, key) for slot, key in ends.items()} | length

    def entity(self, slot: int, key: Key) -> Any:
        """Return what a variable holds of a node or edge: its id, with its type if it has several."""
        return key if self.query.variables[slot].more_types else key[1]

    def key(self, slot: int, entity: Any) -> Key:
        """Return the type and the id of what a variable holds."""
        variable = self.query.variables[slot]
        found: Key = entity if variable.more_types else (variable.type_name, entity)
        return found

    # Values

    def value(self, node: val.Value, row: Assignment) -> Any:
        match node:
            case val.Constant():
                return node.value
            case val.PropertyValue() | val.EntityId() | val.EntityType() | val.EntityKey() | val.EdgeEnd():
                entity = row[node.variable]
                return None if entity is None else self.stored(node, self.key(node.variable, entity))
            case val.PathLength() | val.StageValue():
                return row[node.variable]
            case val.PathValue():
                return None if row[node.variable] is None else row[node.variable].read(node)
            case val.ListMember():
                return row[FIRST_MEMBER - node.number]
            case MemberTest():
                return self.test_list(node, row)
            case val.GroupValue():
                return row[GROUP][node.projection]
            case val.TextMatch():
                field, text = self.value(node.field, row), self.value(node.text, row)
                edits = self.value(node.max_edits, row) if node.max_edits is not None else 0
                return None if field is None or text is None else found(field, text, edits)
            case val.TextScore():
                return self.text_score(node, row)
            case val.VectorDistance():
                return cosine_distance(self.value(node.field, row), self.value(node.query, row))
            case val.RankFusion():
                return self.fusion(node).get(row[node.rankings[0].field.variable])
            case EntityMap():
                return self.whole(node, row)
            case val.Computed():
                return compute(node, lambda part: self.value(part, row), lambda part: self.truth(part, row))
        raise AssertionError(f"no reference for {node}")

    def whole(self, node: EntityMap, row: Assignment) -> dict[str, Any] | None:
        """Return a node or edge as a map; its properties in the sequence of the shape's fields."""
        id = self.value(node.id, row)
        if id is None:
            return None
        ends = {name: self.value(end, row) for name, end in zip(("from", "to"), node.ends, strict=False)}
        type_name = self.value(node.type_name, row)
        properties = [self.value(item, row) for item in node.properties]
        return {"type": type_name, "id": id, **ends, "properties": properties}

    def test_list(self, node: MemberTest, row: Assignment) -> bool | None:
        """Ask every member, and join the answers as `or` and `and` do."""
        members = self.value(node.list, row)
        if members is None:
            return None
        place = FIRST_MEMBER - node.member.number
        terms = [self.truth(node.condition, row | {place: member}) for member in members]
        if node.quantifier is val.Quantifier.ALL:
            return False if False in terms else None if None in terms else True
        some = True if True in terms else None if None in terms else False
        return some if node.quantifier is val.Quantifier.ANY or some is None else not some

    def stored(self, node: val.Value, key: Key) -> Any:
        """Return a value of a node or edge."""
        match node:
            case val.EntityId():
                return key[1]
            case val.EntityType():
                return key[0]
            case val.EntityKey():
                return ":".join(key)
            case val.EdgeEnd():
                edge = self.graph.edges[key[0]][key[1]]
                return edge.source if node.end is val.End.SOURCE else edge.target
            case val.PropertyValue():
                if self.query.variables[node.variable].kind is VariableKind.NODE:
                    return self.graph.nodes[key[0]][key[1]].get(node.declared.name)
                return self.graph.edges[key[0]][key[1]].values.get(node.declared.name)
        raise AssertionError(f"no stored value is {node}")

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
                if items is None or item is None:
                    return None
                if exact(item) in [exact(one) for one in items if one is not None]:
                    return True
                return None if None in items else False
            case cond.TextContains():
                text, part = self.value(node.text, row), self.value(node.part, row)
                return None if text is None or part is None else part in text
            case cond.TextMatches():
                text, part = self.value(node.text, row), self.value(node.pattern, row)
                return None if text is None or part is None else re.search(part, text) is not None
            case cond.TextStartsWith():
                text, part = self.value(node.text, row), self.value(node.prefix, row)
                return None if text is None or part is None else text.startswith(part)

    # Groups

    def groups(self, matches: list[Assignment]) -> Iterator[list[Any]]:
        projections = self.query.projections
        keys = [at for at, item in enumerate(projections) if item.is_key]
        found: dict[tuple[Any, ...], list[Assignment]] = {} if keys else {(): []}
        for row in matches:
            key = tuple(by_value(self.value(projections[at].value, row)) for at in keys)  # type: ignore[arg-type]
            found.setdefault(key, []).append(row)
        for rows in found.values():
            values = [
                None
                if item.on_groups
                else self.aggregate(item.value, rows)
                if isinstance(item.value, val.Aggregate)
                else self.value(item.value, rows[0])
                for item in projections
            ]
            group = {GROUP: values}
            for at, item in enumerate(projections):
                if item.on_groups:
                    values[at] = self.value(item.value, group)  # type: ignore[arg-type]
            if self.query.having is None or self.holds(self.query.having, group):
                yield values

    def aggregate(self, node: val.Aggregate, rows: list[Assignment]) -> Any:
        values = [value for row in rows if (value := self.value(node.argument, row)) is not None]
        if node.distinct:
            values = list({by_value(value): value for value in reversed(values)}.values())[::-1]
        match node.function:
            case val.AggregateFunction.COUNT:
                return len(values)
            case val.AggregateFunction.COLLECT:
                return tuple(sorted(values, key=sortable))
            case val.AggregateFunction.MIN:
                return min(values, default=None)
            case val.AggregateFunction.MAX:
                return max(values, default=None)
            case val.AggregateFunction.SUM:
                return math.fsum(values) if values else None
            case val.AggregateFunction.AVG:
                return float(sum(map(Fraction, values)) / len(values)) if values else None

    # Ranking

    def depth(self) -> int | None:
        """Return the place behind the last row of the page."""
        limit = self.limit()
        return None if limit is None else limit + self.first()

    def candidates(self, slot: int, fused: bool) -> list[str]:
        """Return the nodes of a variable that pass what is asked of it alone.

        What asks for a fused score can only be asked once the fusion is known.
        """
        steps = self.query.match.steps
        bound = any(isinstance(step, Scan) and step.variable == slot for step in steps)
        bound = bound and not (self.query.source and slot in self.query.source.variables)
        if not bound and not any(fusions(step) for step in steps if not isinstance(step, Filter)):
            return sorted({row[slot] for row in self.unfused()} - {None})
        conditions = [
            term
            for step in steps
            if isinstance(step, Filter)
            for term in joined(step.condition)
            if slots(term) <= {slot} and (fused or not fusions(term))
        ]
        nodes = self.graph.nodes[self.query.variables[slot].type_name]
        return [node for node in nodes if all(self.holds(one, {slot: node}) for one in conditions)]

    def unfused(self) -> list[Assignment]:
        """Return the matches without what is asked of fused scores, before any ranking cuts a variable."""
        if self.matched is None:
            steps = [
                part
                for step in self.query.match.steps
                for part in (map(Filter, joined(step.condition)) if isinstance(step, Filter) else [step])
                if not (isinstance(part, Filter) and fusions(part))
            ]
            self.best, best = {}, self.best
            self.matched = [row for start in self.starts() for row in self.solve(Block(tuple(steps)), start)]
            self.best = best
        return self.matched

    def ranked(self, slot: int, score: val.Score, fused: bool = True) -> list[str]:
        """Return the candidates that have a score, best first, ties by id."""
        values = {node: self.value(score, {slot: node}) for node in self.candidates(slot, fused)}
        sign = 1 if isinstance(score, val.VectorDistance) else -1
        ranks = sorted((sign * value, node) for node, value in values.items() if value is not None)
        self.mistrust([value for value, _ in ranks])
        if isinstance(score, val.VectorDistance):
            self.mistrust_angles(score, [node for _, node in ranks])
        return [node for _, node in ranks]

    def cut(self, slot: int, score: val.Score) -> list[str]:
        """Return the best candidates of a page; later sort keys choose among those that tie with the last."""
        nodes, depth = self.ranked(slot, score), self.depth()
        shown = nodes[:depth]
        if len(self.query.order) == 1 or not shown:
            return shown
        last = self.value(score, {slot: shown[-1]})
        return shown + [node for node in nodes[len(shown) :] if self.value(score, {slot: node}) == last]

    def mistrust_angles(self, score: val.VectorDistance, nodes: list[str]) -> None:
        """Note different vectors at the same distance: the last digits of theirs may differ."""
        slot = score.field.variable
        for one, other in pairwise(nodes):
            near = [self.value(score, {slot: node}) for node in (one, other)]
            if abs(near[0] - near[1]) < 1e-9:
                stored = [self.value(score.field, {slot: node}) for node in (one, other)]
                self.delicate |= stored[0] != stored[1]

    def fusion(self, node: val.RankFusion) -> dict[str, float]:
        if node not in self.fused:
            scores: dict[str, float] = {}
            for ranking in node.rankings:
                nodes = self.ranked(ranking.field.variable, ranking, fused=False)[: self.depth()]
                for rank, entity in enumerate(nodes, 1):
                    scores[entity] = scores.get(entity, 0.0) + 1 / (node.k.value + rank)  # type: ignore[union-attr,operator]
            self.fused[node] = scores
        return self.fused[node]

    def text_score(self, node: val.TextScore, row: Assignment) -> float | None:
        """Return BM25 with k1 = 1.2 and b = 0.75, over all texts of the property."""
        field, text = self.value(node.field, row), self.value(node.text, row)
        if field is None or text is None:
            return None
        rows = self.graph.nodes[self.query.variables[node.field.variable].type_name].values()
        texts = [tokens(values[node.field.declared.name]) for values in rows
                 if values[node.field.declared.name] is not None]  # type: ignore[arg-type]  # fmt: skip
        average = sum(map(len, texts)) / len(texts)
        document, score = tokens(field), None
        for word in dict.fromkeys(tokens(text)):
            if count := document.count(word):
                holding = sum(word in other for other in texts)
                weight = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                norm = 1.2 * (0.25 + 0.75 * len(document) / average)
                score = (score or 0.0) + weight * count * 2.2 / (count + norm)
        return score


def sortable(value: Any) -> tuple[bool, Any]:
    """Return what sorts as a value does: NULL first, text by its bytes, lists member by member."""
    if isinstance(value, tuple):
        return True, [sortable(item) for item in value]
    if isinstance(value, dict):
        return True, (value["type"].encode(), value["id"].encode())
    return value is not None, "" if value is None else value.encode() if isinstance(value, str) else value


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


def by_value(value: Any) -> Any:
    """Return something that is equal for equal values: both zeros, but not true and 1."""
    if isinstance(value, tuple):
        return tuple(by_value(item) for item in value)
    if isinstance(value, dict):
        return value["type"], value["id"]
    return (isinstance(value, bool), value)


def joined(node: cond.Condition) -> list[cond.Condition]:
    """Return all that a filter asks for: who says `a and b`, or `not (c or d)`, says two things."""
    match node:
        case cond.All(terms):
            return [part for term in terms for part in joined(term)]
        case cond.Not(cond.Any(terms)):
            return [part for term in terms for part in joined(cond.Not(term))]
        case cond.Not(cond.Not(term)):
            return joined(term)
    return [node]


def slots(node: Any) -> set[int]:
    """Return the variables below a condition or value."""
    if isinstance(node, tuple):
        return set().union(*(slots(item) for item in node)) if node else set()
    if isinstance(node, READ_OF_VARIABLES):
        return {node.variable}
    names = getattr(type(node), "__dataclass_fields__", {})
    ours = type(node).__module__.startswith("omnigraph.compiler.ir")
    return set().union(*(slots(getattr(node, name)) for name in names)) if ours and names else set()


def fusions(node: Any) -> bool:
    """Say whether a fused score stands anywhere below a condition or value."""
    if isinstance(node, tuple):
        return any(fusions(item) for item in node)
    names = getattr(type(node), "__dataclass_fields__", {})
    return isinstance(node, val.RankFusion) or any(fusions(getattr(node, name)) for name in names)
