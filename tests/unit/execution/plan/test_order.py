"""The order of a plan's steps, by what each is thought to look at: no more than as the query is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.pattern import AntiJoin, Block, LeftJoin, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.plan.build import plan_read
from omnigraph.execution.plan.nodes import AntiJoinBlock, BlockPlan, Expand, LeftJoinBlock, ReadPlan
from omnigraph.execution.plan.statistics import Statistics

PLANS = Path(__file__).parents[3] / "golden" / "plan"
CATALOG = compile_schema((PLANS / "graph.pg").read_text(encoding="utf-8"))
ROWS = {
    "node:Person": 120_000,
    "node:City": 1_000,
    "node:Company": 10_000,
    "edge:Knows": 300_000,
    "edge:LivesIn": 120_000,
    "edge:WorksAt": 60_000,
}
SEARCHES = [
    "$a: Person  $a knows{1,3} $b  $b.age = $a.age",
    "$a: Person  not { $a knows{1,3} $b  $b.age = $a.age }",
    "$a: Person  optional { $a knows{1,3} $b  $b.age = $a.age }",
    "$a: Person  not { $a <knows>{2,4} $b  $b.age = $a.age and $b.tier = $a.tier }",
    "$a: Person  not { $a livesIn $c  $c.name = $a.name  $a knows{1,3} $b  $b.age = $a.age }",
    "$a: Person  $b: Person  $b.age = $a.age  $a knows{1,3} $b",
]


def _written() -> Iterator[str]:
    for path in sorted(PLANS.glob("*.txt")):
        cases = re.split(r"^-- case .*\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        yield from (case.partition("-- plan\n")[0] for case in cases[1:])
    yield from (f"query q() {{ match {{ {pattern} }} return {{ count($a) as n }} }}" for pattern in SEARCHES)


@pytest.mark.parametrize("ages", [100, 5_000, 120_000], ids="{} ages".format)
def test_no_step_looks_at_more_than_the_largest_of_the_written_order(ages: int) -> None:
    statistics = Statistics(CATALOG, ROWS, {"node:Person": {"age": ages}})
    for text in _written():
        query = compile_query(text, CATALOG, None, kind="read")
        assert isinstance(query, ReadQuery)
        chosen, written = (
            _largest(plan_read(query, statistics, optimise), statistics) for optimise in (True, False)
        )
        assert chosen <= written, text


@pytest.mark.parametrize("pattern", SEARCHES[:3])
def test_edges_are_followed_where_a_join_would_leave_a_search_for_each_of_its_rows(pattern: str) -> None:
    statistics = Statistics(CATALOG, ROWS, {"node:Person": {"age": 5_000}})
    query = compile_query(
        f"query q() {{ match {{ {pattern} }} return {{ count($a) as n }} }}", CATALOG, None, kind="read"
    )
    assert isinstance(query, ReadQuery)
    assert _largest(plan_read(query, statistics), statistics) < 4e6


def _largest(plan: ReadPlan, statistics: Statistics) -> float:
    first = sum(item.rows for item in plan.sources) if plan.sources else 1.0
    before = (_largest(item, statistics) for item in plan.sources)
    return max((first, *before, *_looked_at(plan.block, plan.query.match, first, statistics)))


def _looked_at(plan: BlockPlan, block: Block, rows: float, statistics: Statistics) -> Iterator[float]:
    """Yield how many rows each step gives, and what searches over several hops reach on their way."""
    yield rows
    for step in plan.steps:
        match step.action:
            case AntiJoinBlock(number, inner) | LeftJoinBlock(number, inner):
                outer = block.steps[number]
                assert isinstance(outer, AntiJoin | LeftJoin)
                yield from _looked_at(inner, outer.block, rows, statistics)
            case Expand(number, start):
                traverse = block.steps[number]
                assert isinstance(traverse, Traverse)
                yield rows * statistics.reach(traverse, start == traverse.target != traverse.source)
        yield step.rows
        rows = step.rows
