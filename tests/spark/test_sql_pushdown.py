"""Random predicates over all types give the same rows through the catalog as through the plain source."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import omnigraph as og
from omnigraph.spark import attach
from omnigraph.storage.filters import ComparedColumn, as_sql
from support.examples import examples
from support.sql_values import ENDS, LITERALS, PREDICATES, SCHEMA


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, session: Any) -> og.Graph:
    """Rows with every end of every range, NULLs, two fragments and an index."""
    graph = og.init(tmp_path_factory.mktemp("pushed") / "graph", SCHEMA)
    columns = sorted(ENDS)
    rows = [
        {name: ENDS[name][at % len(ENDS[name])] for name in columns if (at + place) % 5}
        for at in range(16)
        for place, _ in enumerate(columns[:2])
    ]
    records = [{"type": "T", "data": {"name": f"n{at}", **row}} for at, row in enumerate([*rows, {}])]
    graph.load(records[:20], mode="append")
    graph.optimize()
    graph.load(records[20:], mode="append")
    attach(session, graph.uri, "pushed")
    plain = session.read.format("omnigraph").option("graph", graph.uri).load("T")
    plain.cache().createOrReplaceTempView("plain_t")
    return graph


@settings(
    max_examples=examples(40), derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(predicate=PREDICATES)
def test_the_same_rows_come_with_and_without_push_down(session: Any, graph: og.Graph, predicate: str) -> None:
    found = session.sql(f"SELECT name FROM pushed.main.T WHERE {predicate}").collect()
    wanted = session.sql(f"SELECT name FROM plain_t WHERE {predicate}").collect()
    assert sorted(row.name for row in found) == sorted(row.name for row in wanted), predicate


def test_a_moment_keeps_its_time_of_day_on_its_way_to_a_task() -> None:
    moment = ComparedColumn("at", "=", pa.array([1], pa.int64()).view(pa.date64())[0])
    assert as_sql(pickle.loads(pickle.dumps(moment))) == as_sql(moment) == "`at` = arrow_cast(1, 'Date64')"


def test_every_column_is_compared_by_storage(session: Any, graph: og.Graph) -> None:
    values = {"v": "0BD", "f": "0.1F", "i": "0", "l": "0"}
    for column, literals in LITERALS.items():
        literal = values.get(column, literals[0])
        for condition in (f"{column} = {literal}", f"NOT ({column} <> {literal} OR {column} IS NULL)"):
            plan = session.sql(f"EXPLAIN SELECT name FROM pushed.main.T WHERE {condition}").collect()[0][0]
            assert " where " in plan and " Filter " not in plan, plan
