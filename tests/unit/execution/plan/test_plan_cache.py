"""The cache of plans knows queries by id(), and so must keep those alive whose plans it has."""

from __future__ import annotations

import sys
from pathlib import Path

from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import ReadQuery
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
