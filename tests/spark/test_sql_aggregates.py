"""Aggregates that tasks compute of what they read are those that Spark computes of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

import omnigraph as og
from omnigraph.spark import attach
from support.examples import examples
from support.sql_values import ENDS, PREDICATES, SCHEMA

COLUMNS = ("name", *ENDS)
SUMS = ("i", "u", "f", "v")
PUSHED = ("name", "s", "b", "i", "l", "u", "day", "at", "e")

AGGREGATES = st.one_of(
    st.just("count(*)"),
    st.builds(lambda column: f"count({column})", st.sampled_from(COLUMNS)),
    st.builds(lambda column: f"sum({column})", st.sampled_from(SUMS)),
    st.builds(
        lambda word, column: f"{word}({column})", st.sampled_from(["min", "max"]), st.sampled_from(COLUMNS)
    ),
    st.sampled_from(
        [
            "avg(i)",
            "count(DISTINCT s)",
            "sum(i + 1L)",
            "count(*) FILTER (WHERE b)",
            "sum(DISTINCT i)",
        ]
    ),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, session: Any) -> og.Graph:
    """Rows with every end of every range and NULLs in three fragments, of which one has deleted rows."""
    graph = og.init(tmp_path_factory.mktemp("summed") / "graph", SCHEMA)
    rows = [
        {
            name: values[at % len(values)]
            for place, (name, values) in enumerate(ENDS.items())
            if (at + place) % 5
        }
        for at in range(40)
    ]
    records = [{"type": "T", "data": {"name": f"n{at}", **row}} for at, row in enumerate(rows)]
    for at in (0, 15, 30):
        graph.load(records[at : at + 15], mode="append")
    attach(session, graph.uri, "summed")
    session.sql("DELETE FROM summed.main.T WHERE name IN ('n3', 'n9')").collect()
    plain = session.read.format("omnigraph").option("graph", graph.uri).load("T")
    plain.cache().createOrReplaceTempView("plain_sums")
    return graph


def run(session: Any, text: str, table: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in session.sql(text.replace("FROM t", f"FROM {table}")).collect())


@settings(
    max_examples=examples(40), derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    some=st.lists(AGGREGATES, min_size=1, max_size=4),
    by=st.lists(st.sampled_from(COLUMNS), max_size=2, unique=True),
    where=st.one_of(st.just("true"), PREDICATES),
)
def test_aggregates_are_the_same_with_and_without_push_down(
    session: Any, graph: og.Graph, some: list[str], by: list[str], where: str
) -> None:
    text = f"SELECT {', '.join([*by, *some])} FROM t WHERE {where}" + (
        f" GROUP BY {', '.join(by)}" if by else ""
    )
    assert run(session, text, "summed.main.T") == run(session, text, "plain_sums"), text


def test_rows_stay_with_the_tasks_where_aggregates_are_exact(session: Any, graph: og.Graph) -> None:
    def plan(text: str) -> str:
        return str(session.sql("EXPLAIN " + text.replace("FROM t", "FROM summed.main.T")).collect()[0][0])

    for column in PUSHED:
        asked = f"{column}, count(*), count({column}), min({column}), max({column})"
        assert f"[{asked}]" in plan(f"SELECT {asked} FROM t GROUP BY {column}")
    assert "[sum(i), sum(l), sum(u)] where" in plan("SELECT sum(i), sum(l), sum(u) FROM t WHERE i > 3")
    for left in ("sum(d)", "min(d)", "max(v)", "sum(v)", "count(DISTINCT i)", "avg(i)"):
        assert f"[{left}]" not in plan(f"SELECT {left} FROM t")
    assert "count" not in plan("SELECT count(*) FROM t WHERE length(s) = 1").split("BatchScan")[1]


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("word", ["avg", "mean", "try_avg"])
def test_an_average_does_not_overflow(session: Any, graph: og.Graph, ansi: str, word: str) -> None:
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        text = f"SELECT {word}(l), max(l), {word}(u), {word}(i) FROM t WHERE l > 0"
        assert run(session, text, "summed.main.T") == run(session, text, "plain_sums")
        assert run(session, text, "summed.main.T")[0].startswith("(9.22")
    finally:
        session.conf.set("spark.sql.ansi.enabled", before)


def test_the_planner_knows_how_large_vectors_are_and_counts_without_reading_them(
    session: Any, tmp_path: Path
) -> None:
    graph = og.init(tmp_path / "wide", "node T { name: String @key  vec: Vector(1000)?  tags: [String]? }")
    graph.load(
        [{"type": "T", "data": {"name": str(at), "vec": [0.5] * 1000}} for at in range(10)], mode="append"
    )
    attach(session, graph.uri, "wide")

    def plan(text: str) -> str:
        return str(session.sql(f"EXPLAIN COST {text}").collect()[0][0])

    assert "sizeInBytes=39.1 KiB" in plan("SELECT vec FROM wide.main.T")
    # A condition that storage does not apply leaves the counting to Spark, of the narrowest column.
    assert "[name]" in plan("SELECT count(*) FROM wide.main.T TABLESAMPLE (50 PERCENT)")
    assert session.sql("SELECT count(*) FROM wide.main.T").collect()[0][0] == 10


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_sum_overflows_as_in_spark(session: Any, graph: og.Graph, ansi: str) -> None:
    found = []
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for table in ("summed.main.T", "plain_sums"):
            try:
                found.append(
                    run(session, "SELECT sum(l), count(*), min(l), count(s) FROM t WHERE l > 0", table)
                )
            except PySparkException as error:
                found.append([str(error.getCondition())])
    finally:
        session.conf.set("spark.sql.ansi.enabled", before)
    assert found[0] == found[1]
    assert (found[0] == ["ARITHMETIC_OVERFLOW"]) is (ansi == "true")


def test_nothing_has_a_count_of_zero(session: Any, graph: og.Graph) -> None:
    for where in ("false", "name = 'nobody'"):
        assert run(
            session, f"SELECT count(*), count(i), sum(i), max(s) FROM t WHERE {where}", "summed.main.T"
        ) == ["(0, 0, None, None)"]
        assert run(session, f"SELECT s, count(*) FROM t WHERE {where} GROUP BY s", "summed.main.T") == []
    empty = og.init(f"{graph.uri}-empty", SCHEMA)
    attach(session, empty.uri, "no_sums")
    assert run(session, "SELECT count(*), sum(i) FROM t", "no_sums.main.T") == ["(0, None)"]
