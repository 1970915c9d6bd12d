"""Exports on Spark: part files that a load brings back, and folders that never look complete too early."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import omnigraph as og
from omnigraph.execution.export.export import Export
from omnigraph.pipeline.jobs import export
from omnigraph.pipeline.workers.export import ExportTask
from omnigraph.storage.objects import open_store
from support.s3 import S3

SCHEMA = """
node Person { name: String @key  age: I32?  seen: DateTime?  tags: [String]?  vec: Vector(2)? }
node Photo { data: Blob?  big: U64? }
node Ghost { name: String @key }
edge Knows: Person -> Person { since: Date? }
"""


@pytest.fixture
def graph(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    """A graph whose tables have several fragments, each of which is a part."""
    monkeypatch.setattr(export, "_LEAST_ROWS", 1)
    graph = og.init(tmp_path / "graph", SCHEMA)
    for at in range(3):
        names = [f"p{at}-{i}" for i in range(4)]
        people = [{"type": "Person", "data": {"name": name, "age": at, "seen": "2024-02-29T12:00:00.001Z",
                   "tags": [name], "vec": [at, 0.1]}} for name in names]  # fmt: skip
        photos = [{"type": "Photo", "data": {"data": "base64:AAE=", "big": 2**64 - 1}}, {"type": "Photo"}]
        knows = [{"edge": "Knows", "from": names[0], "to": name, "data": {"since": "2024-02-29"}}
                 for name in names]  # fmt: skip
        graph.load([*people, *photos, *knows], mode="append")
    return graph


def _lines(graph: og.Graph) -> list[str]:
    return sorted(json.dumps(record) for record in graph.export())  # type: ignore[union-attr]


def test_ndjson_parts_make_the_same_graph_again(graph: og.Graph, tmp_path: Path) -> None:
    seen = graph.snapshot()
    graph.mutate('query q() { delete Person where name = "p1-1" }')
    done = graph.export(tmp_path / "out", engine="spark", snapshot=seen)
    assert isinstance(done, Export)
    assert (done.nodes, done.edges) == ({"Ghost": 0, "Person": 12, "Photo": 6}, {"Knows": 12})
    assert (done.engine, done.commit_id) == ("spark", seen.commit_id)
    note = json.loads((tmp_path / "out" / "_SUCCESS").read_text())
    assert note["files"]["nodes/Person/part-00001.ndjson"] == 4
    copy = og.init(tmp_path / "copy", SCHEMA)
    copy.load(str(tmp_path / "out" / "**" / "*.ndjson"), mode="append")
    assert _lines(copy) == sorted(json.dumps(record) for record in graph.export(snapshot=seen))  # type: ignore[union-attr]


def test_parquet_parts_make_the_same_graph_again_and_spark_reads_them(
    graph: og.Graph, tmp_path: Path, session: Any
) -> None:
    graph.export(tmp_path / "out", engine="spark", format="parquet")
    copy = og.init(tmp_path / "copy", SCHEMA)
    for kind, name in (("nodes", "Person"), ("nodes", "Photo"), ("nodes", "Ghost"), ("edges", "Knows")):
        copy.load(str(tmp_path / "out" / kind / name / "*.parquet"), mode="append", type=name)
    assert _lines(copy) == _lines(graph)
    assert session.read.parquet(str(tmp_path / "out" / "nodes" / "Person")).count() == 12


def test_only_named_types_are_written(graph: og.Graph, tmp_path: Path) -> None:
    done = graph.export(tmp_path / "out", engine="spark", types=["Knows"])
    assert isinstance(done, Export)
    assert (done.nodes, done.edges) == ({}, {"Knows": 12})
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_dir()] == ["edges"]


class DyingTask(ExportTask):
    """A task that writes its file and then fails, in its first attempt or always."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        told = list(ExportTask.__call__(self, batches))
        if TaskContext.get().attemptNumber() == 0:
            raise og.Unavailable("the machine is gone")
        yield from told


class HopelessTask(ExportTask):
    """A task that writes its file and then fails, always."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        list(ExportTask.__call__(self, batches))
        raise og.Unavailable("the disk is full")
        yield


def _replace_task(monkeypatch: pytest.MonkeyPatch, kind: type[ExportTask]) -> None:
    monkeypatch.setattr(export, "ExportTask", kind)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_tasks_that_run_twice_write_every_row_once(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, DyingTask)
    graph.export(tmp_path / "out", engine="spark", types=["Person"])
    lines = [line for path in (tmp_path / "out").rglob("part-*") for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 12


def test_an_export_that_fails_leaves_nothing(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, HopelessTask)
    with pytest.raises(og.SparkFailed, match="the disk is full"):
        graph.export(tmp_path / "out", engine="spark")
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


@pytest.mark.s3
def test_a_bucket_holds_the_parts_and_then_success(
    s3: S3, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(f"{s3.uri}/graph", "node Person { name: String @key }", storage_options=s3.options)
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    target = f"{s3.uri}/out/one"
    with s3.requests() as sent:
        graph.export(target, engine="spark", format="parquet")
    puts = [item.key for item in sent if item.method == "PUT"]
    assert puts == ["out/one/_UNFINISHED", "out/one/nodes/Person/part-00000.parquet", "out/one/_SUCCESS"]
    assert [item.path for item in open_store(target, s3.options).list()] == [
        "_SUCCESS", "nodes/Person/part-00000.parquet",
    ]  # fmt: skip
    other = og.init(f"{s3.uri}/copy", "node Person { name: String @key }", storage_options=s3.options)
    other.load(f"{target}/nodes/Person/*.parquet", mode="append", type="Person")
    assert _lines(other) == _lines(graph)
    with pytest.raises(og.AlreadyExists):
        graph.export(target, engine="spark")
    _replace_task(monkeypatch, HopelessTask)
    with pytest.raises(og.SparkFailed):
        graph.export(f"{s3.uri}/out/two", engine="spark")
    assert list(open_store(f"{s3.uri}/out/two", s3.options).list()) == []
