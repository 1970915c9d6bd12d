"""The cache of plans: how long a plan is kept, and that it keeps its query, which it knows by id(), alive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.plan import access
from omnigraph.execution.plan.nodes import ReadPlan
from omnigraph.execution.plan.plan_cache import PlanCache
from omnigraph.execution.plan.statistics import Statistics
from support.available_data import FixedAvailableData

CATALOG = compile_schema(
    (Path(__file__).parents[3] / "golden" / "plan" / "graph.pg").read_text(encoding="utf-8")
)
PLAIN = "query q() { match { $p: Person  $p.age > 3 } return { $p.name } }"
STAGED = "query q() { match { $p: Person } with { $p, $p.age as $a } match { $a > 3 } return { $p.name } }"


def test_a_query_lives_as_long_as_its_plan_also_if_the_plan_has_another_form_of_it() -> None:
    for text in (PLAIN, STAGED):
        query = compile_query(text, CATALOG, None, kind="read")
        assert isinstance(query, ReadQuery)
        plans, before = PlanCache(), sys.getrefcount(query)
        plan = plans.get(query, True, "c1", 0, lambda: Statistics(CATALOG, {}), FixedAvailableData())
        assert (plan.query is query) is (text == PLAIN)
        assert plans.get(query, True, "c1", 0, lambda: Statistics(CATALOG, {}), FixedAvailableData()) is plan
        del plan
        assert sys.getrefcount(query) > before


NAMED = 'query q() { match { $p: Person { name: "a" } } return { $p.age } }'
LARGE = 300_000


def test_a_commit_leaves_the_plan_if_what_it_was_chosen_from_is_still_so() -> None:
    plans, query = PlanCache(), compile_query(NAMED, CATALOG, None, kind="read")
    assert isinstance(query, ReadQuery)

    def plan(commit: str, rows: int, changes: int = 0, renew: bool = False, **available: Any) -> ReadPlan:
        known, there = Statistics(CATALOG, {"node:Person": rows}), FixedAvailableData(**available)
        assert isinstance(query, ReadQuery)
        return plans.get(query, True, commit, changes, lambda: known, there, renew)

    indexed = {"exact": {"node:Person": frozenset({"name"})}}
    first = plan("c1", LARGE)
    assert plan("c2", LARGE + 1) is first
    assert plan("c3", LARGE + 1, changes=1) is first
    assert plan("c4", LARGE + 1, **indexed) != first, "an index has come"
    assert plan("c5", LARGE + 2) == plan("c6", LARGE + 2, renew=True)
    assert plan("c7", LARGE + 2, columns=frozenset({"node:Person.name"})) != first, "a column was read"
    small = plan("c8", access.LARGE_TABLE_ROWS - 1, **indexed)
    assert plan("c9", access.LARGE_TABLE_ROWS, **indexed) != small, "a table has become a large one"
