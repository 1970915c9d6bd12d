"""`writeStream.format("omnigraph")`: micro-batches as commits, each of them once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

import omnigraph as og
from omnigraph.base.errors import OmniError
from omnigraph.pipeline.datasource import GraphSource
from omnigraph.spark import graph_error

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { @key(src, dst) }\n"
PEOPLE = "name string, age int"


@pytest.fixture
def graph(tmp_path: Path, session: Any) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def put(folder: Path, number: int, *records: dict[str, Any]) -> None:
    """Put a file where a stream looks for files."""
    folder.mkdir(exist_ok=True)
    draft = folder.with_name(f"draft-{number}")
    draft.write_text("".join(json.dumps(record) + "\n" for record in records))
    os.utime(draft, (1_700_000_000 + number,) * 2)  # Spark takes files by their times
    draft.rename(folder / f"{number}.json")


def run(
    session: Any,
    graph: og.Graph,
    folder: Path,
    table: str | None,
    columns: str | None = PEOPLE,
    **options: str,
) -> None:
    """Let a stream take all files that are there, one in a batch; without columns, as lines."""
    lines = session.readStream.option("maxFilesPerTrigger", 1)
    rows = lines.text(str(folder)) if columns is None else lines.schema(columns).json(str(folder))
    sink = rows.writeStream.format("omnigraph").option("graph", graph.uri).options(**options)
    query = (
        sink.option("checkpointLocation", str(folder.with_name("checkpoint")))
        .trigger(availableNow=True)
        .start(table)
    )
    assert query.awaitTermination(240)
    if query.exception() is not None:
        raise query.exception()


def error_of(*given: Any, **options: str) -> OmniError:
    with pytest.raises(Exception) as told:
        run(*given, **options)
    error = graph_error(told.value)
    assert error is not None, told.value
    return error


def names(graph: og.Graph) -> dict[str, Any]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name as n  $p.age as a } }").rows
    return {row["n"]: row["a"] for row in rows}


def test_a_batch_is_a_commit_and_one_that_spark_forgot_changes_nothing(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    inbox = tmp_path / "in"
    put(inbox, 0, {"name": "ada", "age": 1}, {"name": "bob"})
    put(inbox, 1, {"name": "ada", "age": 2})
    run(session, graph, inbox, "Person", app_id="crm", message="from the stream")
    assert names(graph) == {"ada": 2, "bob": None}
    assert graph.snapshot().version == 3
    newest = graph.commits.list(limit=1)[0]
    assert newest.metadata.items() >= {"app_id": "crm", "batch": "1", "load.rows": "1"}.items()
    assert newest.message == "from the stream"
    assert not [tag for tag in graph.internals.core.truth.tags.list() if tag.name.startswith("__write/")]

    commits = tmp_path / "checkpoint" / "commits"
    (commits / "1").unlink()
    (commits / ".1.crc").unlink(missing_ok=True)
    run(session, graph, inbox, "Person", app_id="crm")
    assert graph.snapshot().version == 3
    assert (commits / "1").exists()


def test_records_of_any_type_are_one_commit(graph: og.Graph, session: Any, tmp_path: Path) -> None:
    records = [{"edge": "Knows", "from": "ada", "to": "bob"}]
    records += [{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")]  # type: ignore[dict-item]
    put(tmp_path / "in", 0, *records)
    run(session, graph, tmp_path / "in", None, None, app_id="crm")
    assert {info.key: info.rows for info in graph.snapshot().tables} == {"edge:Knows": 1, "node:Person": 2}
    assert graph.snapshot().version == 2


def test_a_wrong_record_stops_the_stream_and_its_batch_stays_out(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    put(tmp_path / "in", 0, {"name": "ada"}, {"age": 3})
    error = error_of(session, graph, tmp_path / "in", "Person", app_id="crm")
    assert isinstance(error, og.ValidationError)
    assert "Person.name is required" in error.message
    assert names(graph) == {}
    assert not [tag for tag in graph.internals.core.truth.tags.list() if tag.name.startswith("__write/")]


def test_wrong_records_are_put_aside_and_the_stream_goes_on(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    put(tmp_path / "in", 0, {"name": "ada"}, {"age": 3})
    put(tmp_path / "in", 1, {"age": 4}, {"name": "bob"})
    put(tmp_path / "in", 2, {"name": "cyd"})
    given = {"app_id": "crm/eu", "on_error": "quarantine", "rejected_to": str(aside)}
    run(session, graph, tmp_path / "in", "Person", **given)
    assert set(names(graph)) == {"ada", "bob", "cyd"}
    files = sorted(aside.iterdir())
    assert [path.name for path in files] == ["crm%2Feu-0.rejected", "crm%2Feu-1.rejected"]
    assert [json.loads(path.read_text())["data"]["age"] for path in files] == [3, 4]
    noted = [commit.metadata["load.rejected"] for commit in graph.commits.list(limit=3)]
    assert noted == ["0", "1", "1"]


def test_a_record_with_line_breaks_is_a_record_and_a_broken_one_is_put_aside(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    texts = [
        json.dumps({"type": "Person", "data": {"name": "a"}}, indent=1),
        '{"type": "Person",\n"data": {"name": "b\nc"}}',
        '{"edge": "Knows", "from": "a", "to": "gone"}',
    ]
    (tmp_path / "in").mkdir()
    session.createDataFrame([(text,) for text in texts], "value string").coalesce(1).write.mode(
        "append"
    ).parquet(str(tmp_path / "in"))
    lines = session.readStream.schema("value string").parquet(str(tmp_path / "in"))
    sink = lines.writeStream.format("omnigraph").option("graph", graph.uri).option("app_id", "any")
    sink = sink.option("on_error", "quarantine").option("rejected_to", str(aside))
    sink = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query = sink.start()
    assert query.awaitTermination(240)
    assert query.exception() is None
    assert names(graph) == {"a": None}
    (told,) = aside.iterdir()
    reasons = " ".join(json.loads(line)["_problems"][0] for line in told.read_text().splitlines())
    assert told.read_text().count("\n") == 2
    assert "'gone' not found" in reasons


def test_a_stream_that_has_lost_its_checkpoint_is_refused_and_loses_nothing(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    (tmp_path / "first").mkdir()
    for number in range(2):
        put(tmp_path / "first" / "in", number, {"name": f"p{number}"})
    run(session, graph, tmp_path / "first" / "in", "Person", app_id="crm")
    put(tmp_path / "in", 0, {"name": "new"})
    error = error_of(session, graph, tmp_path / "in", "Person", app_id="crm")
    assert isinstance(error, og.BadInput)
    assert "lost its checkpoint" in error.message
    run(session, graph, tmp_path / "in", "Person", app_id="crm2")
    assert set(names(graph)) == {"p0", "p1", "new"}


@pytest.mark.parametrize(
    ("options", "columns", "said"),
    [
        ({"path": "Person"}, "name string", "which stream"),
        ({"path": "Person", "app_id": "crm"}, "nam string", "no property 'nam'"),
        ({"path": "Person", "app_id": "crm", "idempotency_key": "k"}, "name string", "app_id instead"),
        ({"path": "Person", "app_id": "crm", "where": "[]"}, "name string", "for reading only"),
        ({"app_id": "crm"}, "name string, age int", "one column of graph records"),
        ({"app_id": "crm", "mode": "patch"}, "value string", "appended or merged"),
    ],
)
def test_what_a_stream_lacks_is_told(
    options: dict[str, str], columns: str, said: str, graph: og.Graph
) -> None:
    source = GraphSource({"graph": graph.uri, "checkpointLocation": "/there", **options})
    with pytest.raises(OmniError, match=said):
        source.streamWriter(StructType.fromDDL(columns), overwrite=False)


def test_a_stream_of_sums_replaces_its_type(graph: og.Graph, session: Any, tmp_path: Path) -> None:
    for number in range(2):
        put(tmp_path / "in", number, {"name": "ada", "age": 1}, {"name": f"p{number}", "age": 1})
    rows = session.readStream.option("maxFilesPerTrigger", 1).schema(PEOPLE).json(str(tmp_path / "in"))
    sums = rows.groupBy("name").agg({"age": "sum"}).selectExpr("name", "cast(`sum(age)` as int) age")
    query = (
        sums.writeStream.format("omnigraph")
        .outputMode("complete")
        .option("graph", graph.uri)
        .option("app_id", "sums")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start("Person")
    )
    assert query.awaitTermination(240)
    assert query.exception() is None
    assert names(graph) == {"ada": 2, "p0": 1, "p1": 1}
