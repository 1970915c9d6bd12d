"""Time zones of timestamps on their way into a graph, and names of result columns on their way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.execution.spark.column_names import names_in_spark
from omnigraph.pipeline.datasource import GraphSource

SCHEMA = "node Event { name: String @key  at: DateTime? }\n"
NOON = "timestamp_ntz'2026-01-31 12:00:00'"
EVENTS = "query q() { match { $e: Event } return { $e.name  $e.at } order { $e.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def zone(session: Any) -> Iterator[str]:
    before = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield "America/New_York"
    session.conf.set("spark.sql.session.timeZone", before)


def test_a_timestamp_without_a_zone_is_one_of_the_session_s_zone(
    session: Any, graph: og.Graph, zone: str
) -> None:
    frame = session.sql(f"SELECT 'written' AS name, {NOON} AS at")
    frame.write.format("omnigraph").mode("append").option("graph", graph.uri).save("Event")
    graph.load(session.sql(f"SELECT 'loaded' AS name, {NOON} AS at"), type="Event", mode="append")
    stream = graph.stream_writer("Event", app_id="crm")
    stream(session.sql(f"SELECT 'streamed' AS name, {NOON} AS at"), 0)
    moments = {row["e.name"]: row["e.at"] for row in graph.query(EVENTS).rows}
    noon = "2026-01-31T17:00:00.000Z"
    assert moments == {"written": noon, "loaded": noon, "streamed": noon}


def test_digits_that_are_lost_are_told(session: Any, graph: og.Graph, tmp_path: Path) -> None:
    exact = "SELECT 'a' AS name, timestamp'2026-01-31 12:00:00.123456Z' AS at"
    done = graph.load(session.sql(exact), type="Event", mode="merge")
    assert done.warnings == ("Event.at has milliseconds: further digits of its values were cut",)
    whole = "SELECT 'a' AS name, timestamp'2026-01-31 12:00:00.123Z' AS at"
    assert graph.load(session.sql(whole), type="Event", mode="merge").warnings == ()
    rows = pa.table({"name": ["b"], "at": pa.array([1_000_001], pa.timestamp("us", "UTC"))})
    assert graph.load(rows, type="Event", mode="merge").warnings == done.warnings
    assert graph.load(rows, type="Event", mode="merge", engine="spark").warnings == done.warnings


def test_columns_of_a_result_are_selected_by_their_names(session: Any, graph: og.Graph) -> None:
    graph.load([{"type": "Event", "data": {"name": "a"}}], mode="append")
    source = session.read.format("omnigraph").option("graph", graph.uri).option("query", EVENTS)
    for frame in (source.load(), graph.query(EVENTS, engine="spark").to_spark()):
        assert frame.columns == ["e_name", "e_at"]
        assert [row.e_name for row in frame.select("e_name").collect()] == ["a"]


def test_columns_of_a_table_come_as_declared(tmp_path: Path) -> None:
    edge = "edge Knows: Person -> Person { until: Date?  since: Date? }\n"
    graph = og.init(tmp_path / "declared", f"node Person {{ name: String @key  age: I32? }}\n{edge}")
    orders = {"Person": ["id", "name", "age"], "Knows": ["id", "from", "to", "until", "since"]}
    for table, names in orders.items():
        assert GraphSource({"graph": graph.uri, "path": table}).schema().fieldNames() == names


def test_a_name_that_another_column_has_keeps_its_dot() -> None:
    assert names_in_spark(["p.name", "p_age", "p.age", "n"]) == ["p_name", "p_age", "p.age", "n"]
    assert names_in_spark(["a.b_c", "a_b.c"]) == ["a.b_c", "a_b.c"]
