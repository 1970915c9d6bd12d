"""Exports: what they hold, that a load brings it back, and that files appear whole or not at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.execution.export import export as export_module
from omnigraph.execution.export.export import Export
from omnigraph.sdk.graph import Graph
from omnigraph.storage.rows import scan_with_blobs as whole_rows_module
from support.random_history import SCHEMA, RandomHistory
from support.stored_graph import read_back

PEOPLE = [
    {"type": "Person", "data": {"name": "ada", "age": None, "photo": "base64:aGk=", "tags": []}},
    {"type": "Person", "data": {"name": "bob", "age": 7, "photo": "base64:", "born": "1970-01-02"}},
    {"type": "City", "data": {"name": "Rome", "size": 2**53 + 1}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1", "note": ""}},
]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return og.init(tmp_path / "g", SCHEMA)


def test_records_are_what_a_load_takes_with_ids_ends_and_every_property(graph: Graph) -> None:
    graph.load(PEOPLE, mode="append")
    records = list(graph.export())
    assert [record.get("type") or record.get("edge") for record in records] == [
        "City", "Person", "Person", "Knows",
    ]  # fmt: skip
    assert records[0]["data"] == {"id": "Rome", "name": "Rome", "size": 2**53 + 1}
    assert records[1]["data"]["photo"] == "base64:aGk="
    assert records[2]["data"] == {
        "id": "bob", "name": "bob", "age": 7, "photo": "base64:", "born": "1970-01-02", "tags": None,
        "score": None, "seen": None, "vec": None,
    }  # fmt: skip
    assert records[3] == {
        "edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1", "note": "", "since": None},
    }  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["all.ndjson", "all.ndjson.gz", "all.ndjson.zst"])
def test_a_graph_loaded_from_an_export_is_the_same_graph(
    graph: Graph, tmp_path: Path, seed: int, name: str
) -> None:
    history = RandomHistory(graph, seed)
    for _ in range(12):
        history.step("main")
    done = graph.export(tmp_path / name)
    assert isinstance(done, Export)
    assert sum(done.nodes.values()) == sum(
        table.rows for table in graph.snapshot().tables if table.key.startswith("node:")
    )
    plain = "\n".join(line for line in graph.schema.source.splitlines())
    copy = og.init(tmp_path / "copy", plain.replace('@rename_from("City")', "").replace(
        '@rename_from("size")', "").replace('@rename_from("note")', ""))  # fmt: skip
    copy.load(str(tmp_path / name), mode="append")
    one, two = read_back(graph.snapshot()), read_back(copy.snapshot())
    assert (one.nodes, one.edges) == (two.nodes, two.edges)
    assert sorted(map(json.dumps, graph.export())) == sorted(map(json.dumps, copy.export()))


def _copied(graph: Graph, root: Path, folder: str) -> Graph:
    """Return a graph loaded from a Parquet export, type by type."""
    copy = og.init(root, graph.snapshot().catalog)
    for table in copy.snapshot().catalog.tables:
        files = f"{folder}/{table.kind}s/{table.name}*"
        copy.load(files, mode="append", type=table.name)
    return copy


@pytest.mark.parametrize("seed", [3, 4])
def test_a_graph_loaded_from_a_parquet_export_is_the_same_graph(
    graph: Graph, tmp_path: Path, seed: int
) -> None:
    history = RandomHistory(graph, seed)
    for _ in range(12):
        history.step("main")
    done = graph.export(tmp_path / "out", format="parquet")
    assert isinstance(done, Export)
    copy = _copied(graph, tmp_path / "copy", done.path)
    assert sorted(map(json.dumps, graph.export())) == sorted(map(json.dumps, copy.export()))
    note = json.loads((tmp_path / "out" / "_SUCCESS").read_text())
    assert note["commit"] == done.commit_id
    assert sum(note["files"].values()) == sum(done.nodes.values()) + sum(done.edges.values())
    assert done.files == len(note["files"]) == len(list((tmp_path / "out").rglob("*.parquet")))


EVERY_TYPE = """
node T { name: String @key  s: String?  b: Bool?  i: I32?  l: I64?  u: U32?  v: U64?  f: F32?  d: F64?
  day: Date?  at: DateTime?  kind: enum(red, blue)?  vec: Vector(2)?  blob: Blob?
  ss: [String]?  bb: [Bool]?  vv: [U64]?  ff: [F32]?  days: [Date]?  ats: [DateTime]? }
edge E: T -> T { at: DateTime?  @unique(src, dst) }
"""
FULL = {
    "s": "ü\n", "b": False, "i": -(2**31), "l": -(2**63), "u": 2**32 - 1, "v": 2**64 - 1, "f": 0.1,
    "d": 1e300, "day": "0001-01-01", "at": "1969-12-31T23:59:59.999Z", "kind": "red", "vec": [0.1, -2],
    "blob": "base64:AAE=",
    "ss": ["", "x"], "bb": [True], "vv": [2**64 - 1], "ff": [0.1], "days": ["2024-02-29"],
    "ats": ["2024-02-29T12:00:00.001Z"],
}  # fmt: skip


@pytest.mark.parametrize("with_blobs", [True, False])
def test_every_property_type_comes_back_from_parquet(tmp_path: Path, with_blobs: bool) -> None:
    schema = EVERY_TYPE if with_blobs else EVERY_TYPE.replace("blob: Blob?", "")
    full = FULL if with_blobs else {name: value for name, value in FULL.items() if name != "blob"}
    graph = og.init(tmp_path / "g", schema)
    empty = {name: [] for name in ("ss", "bb", "vv", "ff", "days", "ats")}
    graph.load(
        [
            {"type": "T", "data": {"name": "full", **full}},
            {"type": "T", "data": {"name": "none"}},
            {"type": "T", "data": {"name": "empty", **empty}},
            {"edge": "E", "from": "full", "to": "none", "data": {"at": "2024-02-29T12:00:00.001Z"}},
        ],
        mode="append",
    )
    done = graph.export(tmp_path / "out", format="parquet")
    assert isinstance(done, Export)
    copy = _copied(graph, tmp_path / "copy", done.path)
    assert list(copy.export()) == list(graph.export())


def test_a_folder_that_holds_something_is_not_exported_into(graph: Graph, tmp_path: Path) -> None:
    graph.load(PEOPLE, mode="append")
    graph.export(tmp_path / "out", format="parquet")
    with pytest.raises(og.AlreadyExists):
        graph.export(tmp_path / "out", format="parquet")
    (tmp_path / "free").mkdir()
    graph.export(tmp_path / "free", format="parquet")


def test_a_folder_of_an_export_that_fails_never_has_its_name(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load(PEOPLE, mode="append")
    write = export_module.write_rows

    def fail_late(file: Any, format: Any, table: Any, pieces: Any) -> int:
        if table.name == "Knows":
            raise og.Unavailable("the disk is full")
        return write(file, format, table, pieces)

    monkeypatch.setattr(export_module, "write_rows", fail_late)
    with pytest.raises(og.Unavailable):
        graph.export(tmp_path / "out", format="parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


def test_two_exports_of_one_snapshot_have_the_same_bytes(graph: Graph, tmp_path: Path) -> None:
    graph.load(PEOPLE, mode="append")
    seen = graph.snapshot()
    graph.mutate('query q() { delete Person where name = "bob" }')
    for name in ("a.gz", "b.gz"):
        graph.export(tmp_path / name, snapshot=seen)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert len(gzip.decompress((tmp_path / "a.gz").read_bytes()).splitlines()) == 4


def test_large_blobs_are_read_a_few_at_a_time(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_rows_module, "_BLOB_BYTES", 4)
    monkeypatch.setattr(whole_rows_module, "_ROWS_PER_BATCH", 3)
    people = [{"type": "Person", "data": {"name": f"p{i}", "photo": "base64:aGVsbG8="}} for i in range(8)]
    graph.load(people, mode="append")
    assert [record["data"]["id"] for record in graph.export()] == [f"p{i}" for i in range(8)]


def test_only_named_types_are_exported_and_unknown_ones_are_refused(graph: Graph) -> None:
    graph.load(PEOPLE, mode="append")
    assert {record.get("edge", "node") for record in graph.export(types=["Knows"])} == {"Knows"}
    with pytest.raises(og.NotFound, match="Person"):
        list(graph.export(types=["Persn"]))
    with pytest.raises(og.BadInput):
        list(graph.export(types="Person"))
    for wrong in ({"format": "parquet"}, {"engine": "spark"}, {"format": "avro"}, {"engine": "duck"}):
        with pytest.raises(og.BadInput):
            graph.export(**wrong)


def test_a_failed_export_leaves_the_file_that_was_there(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load(PEOPLE, mode="append")
    target = tmp_path / "all.ndjson"
    target.write_text("precious")
    with pytest.raises(og.NotFound):
        graph.export(target, types=["Nobody"])
    with pytest.raises(og.Unavailable):
        graph.export(tmp_path / "no" / "such" / "folder")
    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.ndjson", "g"]
    with pytest.raises(og.BadInput):
        graph.export("s3://bucket/all.ndjson")
