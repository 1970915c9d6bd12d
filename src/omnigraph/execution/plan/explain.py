"""Explain: a plan as text and JSON, with access paths, estimates and, if it ran, actual numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from omnigraph.base.notebook import html_text
from omnigraph.compiler.ir.pattern import AntiJoin, Block, CountJoin, Filter, LeftJoin, Traverse
from omnigraph.compiler.ir.queries import Output, ReadQuery, SortKey
from omnigraph.compiler.ir.values import Aggregate, PropertyValue, Value
from omnigraph.execution.engine import EngineChoice
from omnigraph.execution.plan.access import Access, AccessPath
from omnigraph.execution.plan.condition_text import (
    condition_text,
    spell_out,
    traverse_text,
    value_text,
    variable_text,
)
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
    RankNodes,
    ReadPlan,
    ScanNodes,
)
from omnigraph.execution.plan.statistics import Statistics
from omnigraph.execution.plan.used_variables import parts_of, patterns_of, without_fusions


class StepWork(Protocol):
    """The actual numbers of one step."""

    calls: int
    rows_out: int
    seconds: float
    requests: int
    """Requests to storage; `bytes` is what they returned."""
    bytes: int
    taken: str | None
    """The access path that was used, if it is not the planned one."""


class QueryWork(Protocol):
    """The actual numbers of a query, step by step."""

    seconds: float
    rows: int
    reads: dict[str, int]

    def of(self, step: object) -> StepWork:
        """Return the numbers of a step."""


@dataclass(frozen=True)
class ExplainNode:
    """One line of the tree."""

    text: str
    estimated_rows: float | None = None
    rows: int | None = None
    milliseconds: float | None = None
    children: tuple[ExplainNode, ...] = ()
    path: str | None = None
    """How rows or far ends are found."""
    why: str = ""
    """Why that path was chosen."""
    taken: str | None = None
    """The path that was used, if it is not the planned one."""
    requests: int = 0
    bytes: int = 0
    """Bytes that were read from storage."""

    def to_json(self) -> dict[str, Any]:
        """Return the node as JSON data."""
        found: dict[str, Any] = {"step": self.text}
        if self.path is not None:
            found |= {"path": self.path, "why": self.why}
        if self.estimated_rows is not None:
            found["estimated_rows"] = round(self.estimated_rows, 1)
        if self.rows is not None:
            found |= {"rows": self.rows, "milliseconds": self.milliseconds}
            found |= {"requests": self.requests, "bytes": self.bytes}
            if self.taken is not None:
                found["taken"] = self.taken
        if self.children:
            found["children"] = [child.to_json() for child in self.children]
        return found


@dataclass(frozen=True)
class Explanation:
    """How a query is executed; `str()` is a tree for people, `to_json()` is for programs."""

    query: str
    tree: tuple[ExplainNode, ...]
    statistics: dict[str, int]
    """The rows of the tables that the query reads, from the commit record."""
    optimised: bool
    values: dict[str, int] = field(default_factory=dict)
    """The estimated number of distinct values of properties when their table was last optimized."""
    rows: int | None = None
    milliseconds: float | None = None
    io: dict[str, int] = field(default_factory=dict)
    """Requests to storage by kind; all 0 if everything was in memory."""
    choice: EngineChoice | None = None
    """The engine that `engine="auto"` would choose now; an analysis always runs in process."""

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        found: dict[str, Any] = {
            "query": self.query,
            "optimised": self.optimised,
            "statistics": self.statistics,
            "values": self.values,
            "plan": [node.to_json() for node in self.tree],
        }
        if self.choice is not None:
            found["engine"] = {"name": self.choice.engine.value, "why": self.choice.reason}
        if self.rows is not None:
            found |= {"rows": self.rows, "milliseconds": self.milliseconds, "io": self.io}
        return found

    def __repr__(self) -> str:
        ran = "" if self.rows is None else f", {_rows(self.rows)} in {self.milliseconds:.3f} ms"
        steps = f"{len(self.tree)} step{'' if len(self.tree) == 1 else 's'}"
        return f"Explanation(query {self.query}, {steps}{ran}; print it to see the plan)"

    def _repr_html_(self) -> str:
        """Return the tree as text of fixed width, for notebooks."""
        return html_text(str(self))

    def __str__(self) -> str:
        head = f"query {self.query}" + ("" if self.optimised else ", as it is written")
        if self.rows is not None:
            reads = ", ".join(f"{name} {count}" for name, count in self.io.items()) or "nothing read"
            head += f": {_rows(self.rows)} in {self.milliseconds:.3f} ms, {reads}"
        tables = ", ".join(f"{key} {rows}" for key, rows in self.statistics.items())
        values = ", ".join(f"{name} {count}" for name, count in self.values.items())
        lines = [head, f"tables: {tables}", *([f"values: {values}"] if values else [])]
        if self.choice is not None:
            lines.append(f"engine: {self.choice.engine}  [{self.choice.reason}]")
        return "\n".join([*lines, *_draw(self.tree, "")])


def explain(
    plan: ReadPlan, work: QueryWork | None, statistics: Statistics, choice: EngineChoice | None = None
) -> Explanation:
    """Return the explanation of a plan, with actual numbers if it ran."""
    query = plan.query
    tree = tuple(_tree(plan, work))
    read = {f"{table.kind}:{table.type_name}" for table in query.reads}
    rows = {key: statistics.rows[key] for key in sorted(read & set(statistics.rows))}
    values = dict(sorted(_values(query, statistics).items()))
    if work is None:
        return Explanation(query.name, tree, rows, plan.optimised, values, choice=choice)
    spent = round(work.seconds * 1000, 3)
    return Explanation(query.name, tree, rows, plan.optimised, values, work.rows, spent, work.reads, choice)


def _tree(plan: ReadPlan, work: QueryWork | None) -> Iterator[ExplainNode]:
    """Yield what comes before a read, a stage or the parts of a union, then what it does itself."""
    explainer = _Explainer(plan.query, plan.duplicates, work)
    for number, before in enumerate(plan.sources, 1):
        text = "stage" if len(plan.sources) == 1 else f"part {number} of a union"
        yield explainer.node(before, text, before.rows, None, "", children=tuple(_tree(before, work)))
    yield from map(explainer.ranking, plan.rankings)
    yield from explainer.block(plan.block, plan.query.match)
    yield from explainer.shaping()


def _values(query: ReadQuery, statistics: Statistics) -> dict[str, int]:
    """Return the estimated distinct values of the properties in the query's conditions."""
    found: dict[str, int] = {}
    for value in parts_of(tuple(patterns_of(query)), PropertyValue):
        variable, name = query.variables[value.variable], value.declared.name
        for type_name in variable.types:
            table = f"{variable.kind.value}:{type_name}"
            if name in statistics.values.get(table, {}):
                found[f"{table}.{name}"] = statistics.values[table][name]
    return found


@dataclass(frozen=True)
class _Explainer:
    """Describes the steps of a plan with the names of its query."""

    query: ReadQuery
    duplicates: Duplicates
    work: QueryWork | None

    def block(self, plan: BlockPlan, block: Block) -> Iterator[ExplainNode]:
        """Yield a node for each step of a block."""
        for step in plan.steps:
            text = self._action(step.action, block)
            if step.merge:
                text += ", equal rows merged"
            inner: tuple[ExplainNode, ...] = ()
            if isinstance(step.action, AntiJoinBlock | LeftJoinBlock | CountJoinBlock):
                outer = block.steps[step.action.step]
                assert isinstance(outer, AntiJoin | LeftJoin | CountJoin)
                inner = tuple(self.block(step.action.block, outer.block))
            yield self.node(step, text, step.rows, *_way(step.action), children=inner)

    def ranking(self, rank: RankNodes) -> ExplainNode:
        """Return the node of a ranking."""
        what = f"{self._variable(rank.variable)}: {self.query.variables[rank.variable].type_name}"
        where = self._where(self.query.match, rank.filters)
        text = f"rank {what}{where} by {self._value(rank.score)}, the best{self._depth()}"
        way = rank.best if rank.path.access is Access.ALL else rank.path
        path, why = rank.best.access.value, rank.best.why
        if way is not rank.best:
            path, why = f"{way.access.value}, then {path}", f"{way.why}; {why}"
        among = () if rank.among is None else self.block(rank.among, without_fusions(self.query.match))
        return self.node(rank, text.removesuffix(", the best"), rank.rows, path, why, children=tuple(among))

    def node(
        self,
        step: object,
        text: str,
        rows: float,
        path: str | None,
        why: str,
        children: tuple[ExplainNode, ...] = (),
    ) -> ExplainNode:
        """Return a node with the actual numbers of a step, if the query ran."""
        if self.work is None:
            return ExplainNode(text, rows, children=children, path=path, why=why)
        done = self.work.of(step)
        return ExplainNode(
            text,
            rows,
            done.rows_out,
            round(done.seconds * 1000, 3),
            children,
            path,
            why,
            done.taken,
            done.requests,
            done.bytes,
        )

    def shaping(self) -> Iterator[ExplainNode]:
        """Yield the nodes for aggregation, projection, sorting and limits."""
        query = self.query
        columns = [item.value for item in query.projections]
        values = ", ".join(self._value(spell_out(item, columns)) for item in columns)
        if query.grouped:
            counted = " counted rows" if self.duplicates is Duplicates.COUNTED else ""
            yield ExplainNode(f"aggregate{counted}: {values}")
            if query.having is not None:
                kept = condition_text(spell_out(query.having, columns), query.variables)
                yield ExplainNode(f"keep groups with {kept}")
        else:
            yield ExplainNode(f"project {'distinct ' if query.distinct else ''}{values}")
        if query.order:
            keys = ", ".join(map(self._sort_key, query.order))
            ties = ", ".join(map(self._sort_key, query.ties))
            yield ExplainNode(f"sort by {keys}{f', ties by {ties}' if ties else ''}{self._page()}")
        elif query.limit is not None or query.skip is not None:
            yield ExplainNode(self._page().removeprefix(", "))

    def _action(self, action: Action, block: Block) -> str:
        match action:
            case ScanNodes():
                return self._scan(action, block)
            case CheckNode(slot):
                return f"check that {self._variable(slot)} is a node of the scan"
            case FilterRows(number):
                return f"filter {self._filter(block, number)}"
            case Expand(number, start, filters):
                return f"expand {self._path(block, number, start)}{self._where(block, filters)}"
            case CheckEdge(number):
                return f"check edge {self._path(block, number)}"
            case CountExpand():
                return self._count_expand(action, block)
            case AntiJoinBlock():
                return "anti-join"
            case LeftJoinBlock():
                return "left join"
            case CountJoinBlock(number):
                step = block.steps[number]
                exists = isinstance(step, CountJoin) and step.exists
                return "look for a match" if exists else "count the matches"

    def _scan(self, action: ScanNodes, block: Block) -> str:
        slot, filters = action.variable, action.filters
        what = f"{self._variable(slot)}: {'|'.join(self.query.variables[slot].types)}"
        if action.is_ranked:
            return f"take {what} from the ranking"
        if action.join is not None:
            return f"join {what}{self._where(block, filters)} by {self._filter(block, action.join)}"
        path = action.path
        if path.access in (Access.HASH, Access.INDEX) and not action.more_paths:
            rest = tuple(number for number in filters if number not in path.by)
            by = " and ".join(self._filter(block, number) for number in path.by)
            return f"look up {what} by {by}{self._where(block, rest)}"
        return f"scan {what}{self._where(block, filters)}"

    def _count_expand(self, action: CountExpand, block: Block) -> str:
        text = f"count {self._path(block, action.traverse, action.start)}{self._where(block, action.filters)}"
        return text + "".join(f", then {self._count_expand(item, block)}" for item in action.beyond)

    def _sort_key(self, key: SortKey) -> str:
        value = key.value
        text = (
            self.query.projections[value.projection].name if isinstance(value, Output) else self._value(value)
        )
        return f"{text} desc" if key.descending else text

    def _depth(self) -> str:
        """Describe how many nodes a ranking keeps."""
        if self.query.limit is None:
            return ""
        parts = [node for node in (self.query.skip, self.query.limit) if node is not None]
        return f" {' + '.join(map(self._value, parts))}"

    def _page(self) -> str:
        parts = (("skip", self.query.skip), ("limit", self.query.limit))
        return "".join(f", {word} {self._value(node)}" for word, node in parts if node is not None)

    def _where(self, block: Block, filters: tuple[int, ...]) -> str:
        texts = [self._filter(block, number) for number in filters]
        return f" where {' and '.join(texts)}" if texts else ""

    def _filter(self, block: Block, number: int) -> str:
        step = block.steps[number]
        assert isinstance(step, Filter)
        return condition_text(step.condition, self.query.variables)

    def _path(self, block: Block, number: int, start: int | None = None) -> str:
        step = block.steps[number]
        assert isinstance(step, Traverse)
        return traverse_text(step, self.query.variables, start)

    def _value(self, value: Value | Aggregate) -> str:
        return value_text(value, self.query.variables)

    def _variable(self, slot: int) -> str:
        return variable_text(slot, self.query.variables)


def _way(action: Action) -> tuple[str | None, str]:
    """Return the access path of an action, and why it was chosen."""
    match action:
        case ScanNodes(is_ranked=False, paths=paths):
            if len({(path.access, path.columns, path.why) for path in paths}) > 1:
                return "; ".join(map(_path, paths)), "; ".join(path.why for path in paths)
            return _path(paths[0]), paths[0].why
        case Expand() | CountExpand():
            return action.route.value, action.why
    return None, ""


def _path(path: AccessPath) -> str:
    return path.access.value + (f", reading {', '.join(path.columns)}" if path.columns else "")


def _size(count: int) -> str:
    """Format a number of bytes for people."""
    for unit in ("bytes", "KB"):
        if count < 10_000:
            return f"{count:,} {unit}"
        count //= 1000
    return f"{count:,} MB"


def _rows(count: float) -> str:
    return f"{count:,.0f} row{'' if round(count) == 1 else 's'}"


def _draw(nodes: tuple[ExplainNode, ...], indent: str) -> Iterator[str]:
    for at, node in enumerate(nodes):
        last = at == len(nodes) - 1
        line = f"{indent}{'└─' if last else '├─'} {node.text}"
        if node.path is not None:
            line += f"  [{node.path}: {node.why}]" if node.why else f"  [{node.path}]"
        if node.estimated_rows is not None:
            line += f"  (about {_rows(node.estimated_rows)}"
            if node.rows is not None:
                line += f"; {_rows(node.rows)}, {node.milliseconds:.3f} ms"
                if node.requests:
                    line += f", {node.requests} reads of {_size(node.bytes)}"
                if node.taken is not None:
                    line += f", by {node.taken}"
            line += ")"
        yield line
        yield from _draw(node.children, indent + ("   " if last else "│  "))
