"""Options of `df.write` and streams that people expect, and frames without rows."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

import omnigraph as og
from omnigraph.base.errors import OmniError
from omnigraph.pipeline.datasource import GraphSource
from omnigraph.spark import graph_error

SCHEMA = "node Person { nr: I64 @key  name: String? }\nedge Knows: Person -> Person\n"


@pytest.fixture
def graph(tmp_path: Path, session: Any) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    people = [{"type": "Person", "data": {"nr": number}} for number in (1, 2)]
    made.load(people, mode="append")
    return made


def write(graph: og.Graph, frame: Any, table: str, mode: str = "append", **options: str) -> None:
    frame.write.format("omnigraph").mode(mode).option("graph", graph.uri).options(**options).save(table)


def test_a_frame_is_written_with_message_actor_mapping_and_metadata(session: Any, graph: og.Graph) -> None:
    frame = session.createDataFrame([(3, "cyd")], "number long, name string")
    noted = {"message": "night run", "actor": "etl", "metadata": '{"run": "7"}'}
    write(graph, frame, "Person", mapping='{"number": "nr"}', **noted)
    newest = graph.commits.list(limit=1)[0]
    assert (newest.message, newest.actor, newest.metadata["run"]) == ("night run", "etl", "7")
    measured = {name: text for name, text in newest.metadata.items() if name.startswith("load.")}
    assert (measured["load.engine"], measured["load.rows"]) == ("spark", "1")
    assert int(measured["load.bytes_written"]) > 0
    assert float(measured["load.seconds_read"]) > 0
    assert set(newest.metadata) == {"run", *measured}
    source = session.read.format("omnigraph").option("graph", graph.uri)
    assert source.load("Person").count() == 3
    then = newest.created_at.isoformat()
    assert source.option("timestampAsOf", then).load("Person").count() == 3
    old = session.read.format("omnigraph").option("graph", graph.uri).option("versionAsOf", "2")
    assert old.load("Person").count() == 2


def test_integers_are_ends_of_edges_and_holds_go_with_the_write(session: Any, graph: og.Graph) -> None:
    write(graph, session.createDataFrame([(1, 2)], "from long, to long"), "Knows")
    graph.load(session.createDataFrame([(2, 1)], "from long, to long"), type="Knows", mode="append")
    found = graph.query("query q() { match { $a: Person  $a knows $b } return { $a.nr as a  $b.nr as b } }")
    assert sorted((row["a"], row["b"]) for row in found.rows) == [(1, 2), (2, 1)]
    assert not [tag for tag in graph.internals.core.truth.tags.list() if tag.name.startswith("__write/")]


def test_overwriting_with_a_frame_without_partitions_empties_the_type(session: Any, graph: og.Graph) -> None:
    none = session.createDataFrame(session.sparkContext.emptyRDD(), "nr long, name string")
    assert none.rdd.getNumPartitions() == 0
    write(graph, none, "Person", mode="overwrite")
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows == [{"n": 0}]
    wrong = session.createDataFrame(session.sparkContext.emptyRDD(), "nr long, nam string")
    with pytest.raises(PySparkException) as caught:
        write(graph, wrong, "Person", mode="overwrite")
    assert isinstance(error := graph_error(caught.value), og.ValidationError)
    assert "no property 'nam'" in str(error)


def test_what_a_frame_has_lost_is_told_in_its_commit(session: Any, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "times", "node Seen { at: DateTime }")
    write(graph, session.sql("SELECT timestamp'2026-01-31 00:00:00.000123' AS at"), "Seen")
    noted = graph.commits.list(limit=1)[0].metadata["load.warnings"]
    assert noted == "Seen.at has milliseconds: further digits of its values were cut"


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        ("Person", "name string", r"Person\.nr"),
        ("Knows", "to long", r"Knows\.from"),
        ("Knows", "to long, from long", None),
    ],
)
def test_a_column_that_every_row_needs_is_missed_before_any_task(
    table: str, columns: str, said: str | None, graph: og.Graph
) -> None:
    source = GraphSource({"graph": graph.uri, "path": table, "mode": "merge"})
    if said is None:
        assert source.writer(StructType.fromDDL(columns), overwrite=False)
    else:
        with pytest.raises(og.ValidationError, match=said):
            source.writer(StructType.fromDDL(columns), overwrite=False)
    patch = GraphSource({"graph": graph.uri, "path": "Person", "mode": "patch"})
    assert patch.writer(StructType.fromDDL("id string, name string"), overwrite=False)


def test_many_small_partitions_become_one_file(session: Any, graph: og.Graph) -> None:
    people = session.range(10, 210, 1, 40).selectExpr("id AS nr", "concat('p', id) AS name")
    write(graph, people, "Person")
    graph.load(people.selectExpr("nr + 1000 AS nr", "name"), type="Person", mode="append")
    assert count_files(graph) == 3  # one was there
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows == [{"n": 402}]
    assert graph.query("query q() { match { $p: Person  $p.nr = 1109 } return { $p.name as n } }").rows == [
        {"n": "p109"}
    ]


def count_files(graph: og.Graph) -> int:
    (entry,) = [item for item in graph.snapshot().record.tables.values() if item.key == "node:Person"]
    return entry.fragments


def test_missing_columns_become_properties_when_that_is_asked_for(session: Any, graph: og.Graph) -> None:
    wider = session.sql("SELECT 3L AS nr, 1.5D AS height, array('a') AS tags, 'x' AS called")
    with pytest.raises(PySparkException) as caught:
        write(graph, wider, "Person")
    assert "no property 'height'" in str(graph_error(caught.value))
    write(graph, wider, "Person", mergeSchema="true", mapping='{"called": "name"}')
    found = graph.query("query q() { match { $p: Person  $p.nr = 3 } return { $p.* } }").rows
    assert found == [{"p.height": 1.5, "p.name": "x", "p.nr": 3, "p.tags": ["a"]}]
    edges = session.sql("SELECT 1L AS `from`, 2L AS `to`, date'2026-01-31' AS since")
    write(graph, edges, "Knows", mergeSchema="true")
    assert "since: Date?" in graph.schema.source
    version = graph.snapshot().version
    write(graph, wider.selectExpr("nr + 1 AS nr", "height"), "Person", mergeSchema="true")
    assert graph.snapshot().version == version + 1
    strange = session.sql("SELECT 9L AS nr, map('a', 1) AS facts")
    with pytest.raises(PySparkException) as caught:
        write(graph, strange, "Person", mergeSchema="true")
    assert "which no property is" in str(graph_error(caught.value))


def test_wrong_rows_of_a_frame_are_put_aside(session: Any, graph: og.Graph, tmp_path: Path) -> None:
    aside = tmp_path / "people.rejected"
    rows = [(3, "ok"), (None, "no key"), (2, "stored"), (7, "twice"), (7, "again"), (9, "ok")]
    frame = session.createDataFrame(rows, "nr long, name string").repartition(2, "name")
    write(graph, frame, "Person", on_error="quarantine", rejected_to=str(aside))
    found = graph.query("query q() { match { $p: Person } return { $p.nr as n } order { n } }").rows
    assert [row["n"] for row in found] == [1, 2, 3, 7, 9]
    told = [json.loads(line) for line in aside.read_text().splitlines()]
    assert {record["data"]["name"] for record in told} - {"again", "twice"} == {"no key", "stored"}
    assert len(told) == 3  # of equal keys the first stays
    assert all(record["_problems"] for record in told)
    assert graph.commits.list(limit=1)[0].metadata["load.rejected"] == "3"
    edges = session.createDataFrame([(1, 2), (1, 44), (3, 9)], "from long, to long").coalesce(1)
    write(graph, edges, "Knows", on_error="quarantine", rejected_to=str(tmp_path / "edges.rejected"))
    assert graph.query("query q() { match { $a: Person  $a knows $b } return { count(*) as n } }").rows == [
        {"n": 2}
    ]
    fixed = tmp_path / "edges.rejected"
    assert json.loads(fixed.read_text())["to"] == "44"
    graph.load([{"type": "Person", "data": {"nr": 44}}], mode="append")
    assert graph.load(fixed, mode="append").edges == {"Knows": 1}
    assert not [tag for tag in graph.internals.core.truth.tags.list() if tag.name.startswith("__write/")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_error": "ignore"}, "use fail or quarantine"),
        ({"on_error": "quarantine"}, "where do wrong records go"),
        ({"rejected_to": "/there"}, "give on_error='quarantine'"),
        ({"on_error": "quarantine", "rejected_to": "/not/there"}, "a folder that exists"),
    ],
)
def test_where_wrong_rows_go_is_checked_before_any_task(
    options: dict[str, str], said: str, graph: og.Graph
) -> None:
    source = GraphSource({"graph": graph.uri, "path": "Person", **options})
    with pytest.raises(OmniError, match=said):
        source.writer(StructType.fromDDL("nr long"), overwrite=False)


def test_a_stream_puts_wrong_records_aside_and_warns_of_a_lost_checkpoint(
    session: Any, graph: og.Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    given: dict[str, Any] = {"app_id": "crm", "on_error": "quarantine", "rejected_to": aside}
    stream = graph.stream_writer("Person", **given)
    for batch in range(2):
        rows = [(10 + batch, "ok"), (None, f"wrong {batch}")]
        stream(session.createDataFrame(rows, "nr long, name string"), batch)
    assert stream.rejected == 2
    assert sorted(path.name.split(".")[0] for path in aside.iterdir()) == ["crm-0", "crm-1"]
    assert "wrong 1" in next(aside.glob("crm-1*")).read_text()
    noted = graph.commits.list(limit=1)[0].metadata
    assert (noted["app_id"], noted["batch"], noted["load.rejected"]) == ("crm", "1", "1")
    again = graph.stream_writer("Person", **given)
    with caplog.at_level(logging.WARNING, "omnigraph"):
        again(session.createDataFrame([(99, "lost")], "nr long, name string"), 0)
    assert again.last is None
    assert "lost its checkpoint" in caplog.text
