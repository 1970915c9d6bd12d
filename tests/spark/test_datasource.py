"""`spark.read.format("omnigraph")`: the rows of one commit, as Spark and as the graph itself see them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import omnigraph as og
from omnigraph.pipeline.datasource import GraphSource
from omnigraph.pipeline.jobs.write import mode_of
from omnigraph.spark import graph_error

SCHEMA = """
node T { name: String @key  s: String?  b: Bool?  i: I32?  l: I64?  u: U32?  v: U64?  f: F32?  d: F64?
  day: Date?  at: DateTime?  vec: Vector(2)?  blob: Blob?  ss: [String]?  ats: [DateTime]?  vv: [U64]? }
edge E: T -> T { since: Date? }
"""
FULL: dict[str, Any] = {
    "s": "ü", "b": False, "i": -7, "l": -(2**63), "u": 2**32 - 1, "v": 2**64 - 1, "f": 0.5, "d": 1e300,
    "day": "2024-02-29", "at": "1969-12-31T23:59:59.999Z", "vec": [0.5, -2], "blob": "base64:AAE=",
    "ss": ["", "x"], "ats": ["2024-02-29T12:00:00.001Z"], "vv": [2**64 - 1],
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, session: Any) -> og.Graph:
    """A graph with a row that has every value, rows that have none, and two fragments."""
    graph = og.init(tmp_path_factory.mktemp("source") / "graph", SCHEMA)
    graph.load(
        [
            {"type": "T", "data": {"name": "full", **FULL}},
            {"type": "T", "data": {"name": "none"}},
            {"edge": "E", "from": "full", "to": "none", "data": {"id": "e1", "since": "2024-02-29"}},
        ],
        mode="append",
    )
    graph.load(
        [{"type": "T", "data": {"name": f"n{i}", "i": i, "f": i / 2}} for i in range(6)], mode="append"
    )
    return graph


def _read(session: Any, graph: og.Graph, path: str | None = "node:T", **options: str) -> Any:
    reader = session.read.format("omnigraph").option("graph", graph.uri).options(**options)
    return reader.load(path) if path else reader.load()


def test_every_type_arrives_as_a_type_of_spark(session: Any, graph: og.Graph) -> None:
    frame = _read(session, graph, rows_per_task="1")
    source = GraphSource({"graph": graph.uri, "path": "T", "rows_per_task": "1"})
    assert len(source.reader(source.schema()).partitions()) == 2
    rows = {row["name"]: row.asDict() for row in frame.collect()}
    assert len(rows) == 8
    full = rows["full"]
    assert (full["s"], full["b"], full["i"], full["l"], full["u"]) == ("ü", False, -7, -(2**63), 2**32 - 1)
    assert (full["v"], full["vv"]) == (Decimal(2**64 - 1), [Decimal(2**64 - 1)])
    assert (full["f"], full["d"], full["day"]) == (0.5, 1e300, date(2024, 2, 29))
    assert full["at"].astimezone(UTC) == datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)
    assert (full["vec"], bytes(full["blob"]), full["ss"]) == ([0.5, -2.0], b"\x00\x01", ["", "x"])
    assert full["ats"][0].astimezone(UTC) == datetime(2024, 2, 29, 12, 0, 0, 1000, UTC)
    assert {name for name, value in rows["none"].items() if value is not None} == {"id", "name"}
    (edge,) = _read(session, graph, "E").collect()
    assert edge.asDict() == {"id": "e1", "from": "full", "to": "none", "since": date(2024, 2, 29)}


CONDITIONS: list[tuple[list[Any], Any]] = [
    (["i", "=", 3], lambda row: row["i"] == 3),
    (["i", "!=", 3], lambda row: row["i"] not in (None, 3)),
    (["i", "<=", 0], lambda row: row["i"] is not None and row["i"] <= 0),
    (["i", "in", [1, 5, 9]], lambda row: row["i"] in (1, 5)),
    (["s", "is null"], lambda row: row["s"] is None),
    (["name", ">=", "n4"], lambda row: row["name"] >= "n4"),
    (["v", "=", 2**64 - 1], lambda row: row["name"] == "full"),
    (["f", "<", 1.5], lambda row: row["f"] is not None and row["f"] < 1.5),
    (["day", ">", "2024-02-28"], lambda row: row["name"] == "full"),
    (["at", "<", "1970-01-01T00:00:00Z"], lambda row: row["name"] == "full"),
    (["id", "in", ["n1", "'"]], lambda row: row["name"] == "n1"),
]


def test_storage_filters_by_what_the_option_where_says(graph: og.Graph) -> None:
    every = {"graph": graph.uri, "path": "T", "columns": "name,s,i,f"}
    rows = _rows_of(GraphSource(every))
    for said, is_meant in CONDITIONS:
        source = GraphSource({**every, "where": json.dumps([said, ["name", "!=", "none"]])})
        wanted = [row["name"] for row in rows if is_meant(row) and row["name"] != "none"]
        assert [row["name"] for row in _rows_of(source)] == wanted, said
    for wrong in ("age > 3", '{"i": 3}', '[["nope", "=", 1]]', '[["i", "~", 1]]', '[["i", "=", "x"]]',
                  '[[["i"], "=", 1]]', '[["i", ["="], 1]]', '[["i", "is null", 5]]'):  # fmt: skip
        with pytest.raises(og.BadInput):
            GraphSource({**every, "where": wrong})


def _rows_of(source: GraphSource) -> list[dict[str, Any]]:
    """Return what Spark would get, without Spark."""
    reader = source.reader(source.schema())
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_two_filters_of_one_frame_each_get_their_rows(session: Any, graph: og.Graph) -> None:
    frame = _read(session, graph, columns="name,i", where='[["i", ">", 0]]')
    both = frame.filter(F.col("i") == 3).union(frame.filter(F.col("i") < 3))
    assert sorted(row["i"] for row in both.collect()) == [1, 2, 3]
    assert frame.count() == 5
    other = frame.select(F.col("i").alias("j")).filter("j = 4")
    joined = frame.filter("i > 2").join(other, F.col("i") <= F.col("j"))
    assert sorted(row["i"] for row in joined.collect()) == [3, 4]
    frame.createOrReplaceTempView("some_t")
    sql = "SELECT i FROM some_t WHERE i = 2 UNION ALL SELECT i FROM some_t WHERE i = 5 UNION ALL SELECT 0"
    assert sorted(row["i"] for row in session.sql(sql).collect()) == [0, 2, 5]


def test_a_frame_stays_at_the_commit_that_it_was_made_on(session: Any, graph: og.Graph) -> None:
    graph.branches.create("moving")
    frame = _read(session, graph, "E", branch="moving", columns="id")
    before = graph.snapshot("moving")
    graph.load(
        [{"edge": "E", "from": "n1", "to": "n2", "data": {"id": "e2"}}], mode="append", branch="moving"
    )
    assert frame.count() == 1
    assert _read(session, graph, "E", branch="moving", columns="id").count() == 2
    assert _read(session, graph, "E", commit=before.commit_id, columns="id").count() == 1
    old = _read(session, graph, "E", branch="moving", version=str(before.version), columns="id")
    assert old.count() == 1


def test_sql_reads_tables_and_results_of_queries(session: Any, graph: og.Graph) -> None:
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW t USING omnigraph OPTIONS (graph '{graph.uri}', path 'T')")
    assert session.sql("SELECT count(*) FROM t WHERE i BETWEEN 2 AND 4").collect()[0][0] == 3
    query = "query q($least: I32) { match { $t: T $t.i >= $least } return { $t.name as name, $t.at as at } }"
    frame = _read(session, graph, None, query=query, params=json.dumps({"least": 4}))
    assert sorted(row["name"] for row in frame.collect()) == ["n4", "n5"]


def test_an_old_commit_is_read_under_the_names_of_then_and_of_now(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "renamed", "node Person { name: String @key }\n")
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    old = {"graph": graph.uri, "commit": graph.snapshot().commit_id}
    graph.schema.apply('node Human @rename_from("Person") { name: String @key }\n')
    for name in ("Person", "Human", "node:Human"):
        assert GraphSource({**old, "path": name}).schema().fieldNames() == ["id", "name"]
        query = f"query q() {{ match {{ $p: {name.removeprefix('node:')} }} return {{ $p.name as name }} }}"
        assert GraphSource({**old, "query": query}).schema().fieldNames() == ["name"]


def test_options_that_mean_nothing_are_refused(graph: og.Graph) -> None:
    for wrong, error in (
        ({}, og.BadInput),
        ({"graph": graph.uri}, og.BadInput),
        ({"graph": graph.uri, "path": "node:Person"}, og.NotFound),
        ({"graph": graph.uri, "path": "T", "brunch": "main"}, og.BadInput),
        ({"graph": f"{graph.uri}-not", "path": "T"}, og.NotAGraph),
    ):
        with pytest.raises(error):
            GraphSource(dict(wrong))
    for columns, message in (("nam", "no column 'nam'"), ("name,i,name", "'name' is named twice")):
        with pytest.raises(og.BadInput, match=message):
            GraphSource({"graph": graph.uri, "path": "T", "columns": columns}).schema()


def test_options_that_mean_nothing_beside_each_other_are_refused(graph: og.Graph) -> None:
    query = "query q() { match { $t: T } return { $t.name } }"
    commit = graph.snapshot().commit_id
    for given, wrong in (
        ({"query": query, "where": '[["i", "=", 1]]'}, "where"),
        ({"query": query, "path": "T"}, "path"),
        ({"query": query, "rows_per_task": "1"}, "rows_per_task"),
        ({"path": "T", "params": "{}"}, "params"),
        ({"path": "T", "name": "q"}, "name"),
        ({"path": "T", "kinds": "node"}, "kinds"),
        ({"changes": "now", "query": query}, "query"),
        ({"path": "T", "version": "x"}, "version"),
        ({"path": "T", "branch": "main", "commit": commit}, "commit"),
    ):
        with pytest.raises(og.BadInput, match=wrong):
            GraphSource({"graph": graph.uri, **given})


def test_a_frame_is_written_as_one_commit_under_the_rules_of_a_load(session: Any, tmp_path: Path) -> None:
    graph = og.init(
        tmp_path / "graph", "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
    )

    def write(rows: list[Any], columns: str, path: str, save: str = "append", **options: str) -> None:
        writer = session.createDataFrame(rows, columns).write.format("omnigraph").mode(save)
        writer.option("graph", graph.uri).options(**options).save(path)

    write([("ada", 36), ("bob", None), ("cyd", 7)], "name string, age int", "node:Person")
    assert (graph.snapshot().version, graph.snapshot().commit.operation) == (2, "load")
    write([("ada", "bob")], "from string, to string", "Knows")
    for rows, columns, path, kind, message in (
        ([("ada", "nobody")], "from string, to string", "Knows", og.ValidationError, "nobody"),
        ([("ada", 1)], "name string, age int", "Person", og.KeyConflict, "'ada' is stored"),
        ([("eve", "x")], "name string, age string", "Person", og.ValidationError, "age needs an integer"),
    ):
        with pytest.raises(PySparkException) as told:
            write(rows, columns, path)
        ours = graph_error(told.value)
        assert isinstance(ours, kind)
        assert message in ours.message
    assert graph.snapshot().version == 3
    write([("ada", 37), ("dan", 1)], "name string, age int", "Person", mode="merge")
    rows = graph.query(
        "query q() { match { $p: Person } return { $p.name as n, $p.age as a } order { n } }"
    ).rows
    assert [tuple(row.values()) for row in rows] == [("ada", 37), ("bob", None), ("cyd", 7), ("dan", 1)]
    assert graph.snapshot().version == 4
    write([("ada",), ("eve",)], "name string", "Person", mode="patch")
    rows = graph.query("query q() { match { $p: Person } return { $p.age as a } order { $p.name } }").rows
    assert [row["a"] for row in rows] == [37, None, 7, 1, None]


def test_a_data_frame_that_is_written_again_with_its_key_is_the_first_commit(
    session: Any, tmp_path: Path
) -> None:
    graph = og.init(tmp_path / "graph", "node Person { name: String @key }")

    def write(name: str) -> None:
        writer = session.createDataFrame([(name,)], "name string").write.format("omnigraph").mode("append")
        writer.options(graph=graph.uri, idempotency_key="job 7").save("Person")

    write("ada")
    first = graph.snapshot()
    write("ada")
    assert graph.snapshot().commit_id == first.commit_id
    graph.mutate('query q() { delete Person where name = "ada" }')
    write("ada")
    assert graph.snapshot().table("node:Person").count() == 0
    with pytest.raises(PySparkException) as told:
        session.createDataFrame([("ada",)], "name string").write.format("omnigraph").mode("append").options(
            graph=graph.uri, idempotency_key="job 8"
        ).save("node:Nobody")
    assert isinstance(graph_error(told.value), og.OmniError)


def test_what_was_read_can_be_written_and_loaded_again(session: Any, graph: og.Graph, tmp_path: Path) -> None:
    graph.branches.create("again")
    frame = _read(session, graph)
    writer = frame.write.format("omnigraph").mode("append")
    writer.options(graph=graph.uri, branch="again", mode="merge").save("T")
    assert sorted(map(str, graph.export(branch="again"))) == sorted(map(str, graph.export()))

    query = "query q() { match { $t: T } return { $t.name as name, $t.v as v, $t.vv as vv, $t.u as u } }"
    other = og.init(tmp_path / "other", "node T { name: String @key  u: U32?  v: U64?  vv: [U64]? }")
    other.load(graph.query(query, engine="spark").to_spark(), mode="append", type="T")
    data = next(row["data"] for row in other.export() if row["data"]["name"] == "full")
    assert (data["u"], data["v"], data["vv"]) == (2**32 - 1, 2**64 - 1, [2**64 - 1])
    with pytest.raises(og.ValidationError, match="exceeds the range of U64"):
        other.load(session.sql("SELECT 'x' AS name, 18446744073709551616 AS v"), mode="append", type="T")
    with pytest.raises(og.BadInput, match="two columns named 'name'"):
        other.load(session.sql("SELECT 'x' AS name, 'y' AS name"), mode="append", type="T")


def test_an_error_in_a_task_that_reads_is_ours_inside_of_spark_s(session: Any, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node T { name: String @key }")
    graph.load([{"type": "T", "data": {"name": "a"}}], mode="append")
    frame = _read(session, graph)
    for file in (tmp_path / "graph").rglob("*.lance"):
        file.write_bytes(b"")
    with pytest.raises(PySparkException) as told:
        frame.collect()
    assert isinstance(graph_error(told.value), og.OmniError)


def test_save_modes_and_options_for_reading_are_told_apart() -> None:
    assert [mode_of({}, False), mode_of({}, True), mode_of({"mode": "merge"}, False)] == [
        "append", "overwrite", "merge",
    ]  # fmt: skip
    for told, overwrite in (({"mode": "upsert"}, False), ({"mode": "merge"}, True)):
        with pytest.raises(og.BadInput):
            mode_of(told, overwrite)
