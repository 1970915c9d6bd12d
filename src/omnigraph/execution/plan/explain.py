"""A plan for people and programs: the tree, the chosen paths, estimates, and what really happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from omnigraph.compiler.ir.pattern import AntiJoin, Block, Filter, LeftJoin, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Constant, Parameter
from omnigraph.execution.plan.nodes import (
    Absent,
    Access,
    BlockPlan,
    CheckNode,
    Close,
    Duplicates,
    Expand,
    Keep,
    Maybe,
    PlanStep,
    ReadPlan,
    ScanNodes,
    Weigh,
)
from omnigraph.execution.plan.statistics import Statistics
from omnigraph.execution.plan.words import (
    Variables,
    condition_text,
    traverse_text,
    value_text,
    variable_text,
)


class StepWork(Protocol):
    """What one step did."""

    calls: int
    rows_out: int
    seconds: float


class Work(Protocol):
    """What a query did, step by step."""

    seconds: float
    rows: int
    reads: dict[str, int]

    def of(self, step: PlanStep) -> StepWork:
        """Return the work of a step."""


@dataclass(frozen=True)
class ExplainNode:
    """One line of the tree."""

    text: str
    estimated_rows: float | None = None
    rows: int | None = None
    milliseconds: float | None = None
    children: tuple[ExplainNode, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the node as JSON data."""
        found: dict[str, Any] = {"step": self.text}
        if self.estimated_rows is not None:
            found["estimated_rows"] = round(self.estimated_rows, 1)
        if self.rows is not None:
            found["rows"] = self.rows
            found["milliseconds"] = self.milliseconds
        if self.children:
            found["children"] = [child.to_json() for child in self.children]
        return found


@dataclass(frozen=True)
class Explanation:
    """How a query is carried out; `str()` is a tree for people, `to_json()` is for programs."""

    query: str
    tree: tuple[ExplainNode, ...]
    statistics: dict[str, int]
    """The rows of the tables that the query reads, as the commit's record has them."""
    optimised: bool
    rows: int | None = None
    milliseconds: float | None = None
    io: dict[str, int] = field(default_factory=dict)
    """What was asked of storage: 0 of everything when all that was needed was in memory."""

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        found: dict[str, Any] = {
            "query": self.query,
            "optimised": self.optimised,
            "statistics": self.statistics,
            "plan": [node.to_json() for node in self.tree],
        }
        if self.rows is not None:
            found |= {"rows": self.rows, "milliseconds": self.milliseconds, "io": self.io}
        return found

    def __str__(self) -> str:
        head = f"query {self.query}"
        if self.rows is not None:
            reads = ", ".join(f"{name} {count}" for name, count in self.io.items()) or "nothing read"
            head += f": {self.rows} rows in {self.milliseconds:.3f} ms, {reads}"
        tables = ", ".join(f"{key} {rows}" for key, rows in self.statistics.items())
        return "\n".join([head, f"tables: {tables}", *_drawn(self.tree, "")])


def explain(plan: ReadPlan, work: Work | None, statistics: Statistics) -> Explanation:
    """Return the explanation of a plan, with actual work when there is some."""
    query = plan.query
    tree = (*_block(plan.block, query.match, query.variables, work), *_shaping(plan))
    read = {f"{table.kind}:{table.type_name}" for table in query.reads}
    rows = {key: statistics.rows[key] for key in sorted(read & set(statistics.rows))}
    if work is None:
        return Explanation(query.name, tree, rows, plan.optimised)
    spent = round(work.seconds * 1000, 3)
    return Explanation(query.name, tree, rows, plan.optimised, work.rows, spent, work.reads)


def _block(plan: BlockPlan, block: Block, variables: Variables, work: Work | None) -> Iterator[ExplainNode]:
    for step in plan.steps:
        text = _action(step, block, variables)
        if step.merge:
            text += ", equal rows put together"
        inner: tuple[ExplainNode, ...] = ()
        if isinstance(step.action, Absent | Maybe):
            outer = block.steps[step.action.step]
            assert isinstance(outer, AntiJoin | LeftJoin)
            inner = tuple(_block(step.action.block, outer.block, variables, work))
        if work is None:
            yield ExplainNode(text, step.rows, children=inner)
        else:
            done = work.of(step)
            yield ExplainNode(text, step.rows, done.rows_out, round(done.seconds * 1000, 3), inner)


def _action(step: PlanStep, block: Block, variables: Variables) -> str:
    action = step.action
    match action:
        case ScanNodes(slot, filters, access, lookup):
            table = variables[slot].type_name
            what = f"scan {variable_text(slot, variables)}: {table}"
            if access is Access.LOOKUP and lookup is not None:
                by = _filter(block, lookup, variables)
                what = f"look up {variable_text(slot, variables)}: {table} by {by}"
                filters = tuple(number for number in filters if number != lookup)
            elif access is Access.RANKED:
                return f"{what}, the best of the ranking{_where(block, filters, variables)}"
            return f"{what}{_where(block, filters, variables)}"
        case CheckNode(slot):
            return f"check that {variable_text(slot, variables)} is a node of the scan"
        case Keep(number):
            return f"filter {_filter(block, number, variables)}"
        case Expand(number, start, filters):
            path = traverse_text(_edge(block, number), variables, start)
            return f"expand {path}{_where(block, filters, variables)}"
        case Close(number):
            return f"test {traverse_text(_edge(block, number), variables)}"
        case Weigh():
            return _weigh(action, block, variables)
        case Absent():
            return "drop rows that match"
        case Maybe():
            return "extend rows, or by nulls"


def _weigh(weigh: Weigh, block: Block, variables: Variables) -> str:
    text = f"count {traverse_text(_edge(block, weigh.traverse), variables, weigh.start)}"
    text += _where(block, weigh.filters, variables)
    return text + "".join(f", then {_weigh(item, block, variables)}" for item in weigh.beyond)


def _shaping(plan: ReadPlan) -> Iterator[ExplainNode]:
    query = plan.query
    values = ", ".join(value_text(item.value, query.variables) for item in query.projections)
    if query.grouped:
        counted = " of counted rows" if plan.duplicates is Duplicates.COUNTED else ""
        yield ExplainNode(f"group{counted}: {values}")
    else:
        yield ExplainNode(f"return {'distinct ' if query.distinct else ''}{values}")
    if query.order:
        yield ExplainNode(f"order by {len(query.order)} keys, ties by {len(query.ties)}{_page(query)}")
    elif query.limit is not None or query.skip is not None:
        yield ExplainNode(f"cut{_page(query)}")


def _page(query: ReadQuery) -> str:
    parts = [
        (word, node) for word, node in (("skip", query.skip), ("limit", query.limit)) if node is not None
    ]
    return "".join(
        f", {word} {node.value if isinstance(node, Constant) else f'${node.name}'}"
        for word, node in parts
        if isinstance(node, Constant | Parameter)
    )


def _filter(block: Block, number: int, variables: Variables) -> str:
    step = block.steps[number]
    assert isinstance(step, Filter)
    return condition_text(step.condition, variables)


def _edge(block: Block, number: int) -> Traverse:
    step = block.steps[number]
    assert isinstance(step, Traverse)
    return step


def _where(block: Block, filters: tuple[int, ...], variables: Variables) -> str:
    if not filters:
        return ""
    return f" where {' and '.join(_filter(block, number, variables) for number in filters)}"


def _drawn(nodes: tuple[ExplainNode, ...], indent: str) -> Iterator[str]:
    for at, node in enumerate(nodes):
        last = at == len(nodes) - 1
        line = f"{indent}{'└─' if last else '├─'} {node.text}"
        if node.estimated_rows is not None:
            line += f"  (about {node.estimated_rows:,.0f} rows"
            if node.rows is not None:
                line += f"; {node.rows:,} rows, {node.milliseconds:.3f} ms"
            line += ")"
        yield line
        yield from _drawn(node.children, indent + ("   " if last else "│  "))
