"""Loads on Spark whose graph, source or vectors are not on this disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.storage.objects import open_store
from support.engines import both
from support.s3 import S3

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
EMBEDDED = 'node Note { text: String @key  about: Vector(8) @embed("text") }\n'


@pytest.mark.s3
def test_a_graph_and_a_source_in_a_bucket(session: Any, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_SPARK_SPLIT_BYTES", "2000")
    lines = [f'{{"type":"Person","data":{{"name":"p{i}","age":{i % 90}}}}}' for i in range(200)]
    edges = [f'{{"edge":"Knows","from":"p{i}","to":"p{(i * 7) % 200}"}}' for i in range(200)]
    open_store(s3.uri, s3.options).put("in/graph.ndjson", "\n".join([*lines, *edges]).encode())
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    for mode in ("append", "merge"):
        done = graph.load(f"{s3.uri}/in/*.ndjson", mode=mode, engine="spark")
        assert (done.nodes, done.edges, done.engine) == ({"Person": 200}, {"Knows": 200}, "spark")
    assert graph.snapshot().table("node:Person").count() == 200
    with pytest.raises(og.KeyConflict, match=f"{s3.uri}/in/graph.ndjson:1:"):
        graph.load(f"{s3.uri}/in/graph.ndjson", mode="append", engine="spark")


def test_missing_vectors_are_computed_by_the_workers(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "graph", EMBEDDED, embedding="mock")
    records = [{"type": "Note", "data": {"text": f"note {i}"}} for i in range(50)]
    found = []
    for engine in ("local", "spark"):
        graph.branches.create(engine)
        graph.load(records, mode="append", engine=engine, branch=engine)
        rows = graph.snapshot(engine).table("node:Note").scan(["text", "about"]).to_pylist()
        found.append({row["text"]: row["about"] for row in rows})
    assert found[0] == found[1]
    assert len(found[0]) == 50


def test_a_text_without_a_provider_breaks_the_same_rule_on_both_engines(session: Any, tmp_path: Path) -> None:
    og.init(tmp_path / "graph", EMBEDDED)
    records = [{"type": "Note", "data": {"text": "note"}}]
    local, spark = both(tmp_path / "graph", tmp_path, records, mode="append")
    assert spark == local
    assert spark[0] is og.ValidationError
