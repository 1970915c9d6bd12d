"""What a load says of itself: rows, bytes and seconds by phase, on the result and in the commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
NAMES = {"engine", "rows", "rejected", "bytes_read", "bytes_written", "seconds_read", "seconds_check"}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def people(path: Path, numbers: range, age: int = 7) -> Path:
    records = [{"type": "Person", "data": {"name": f"p{at}", "age": age}} for at in numbers]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def data_bytes(graph: og.Graph) -> int:
    return sum(path.stat().st_size for path in Path(graph.uri).rglob("data/*.lance"))


def noted(graph: og.Graph, done: object) -> dict[str, str]:
    assert isinstance(done, og.Load) and done.commit_id is not None
    return dict(graph.commits.show(done.commit_id).metadata)


def test_a_load_tells_rows_bytes_and_seconds_by_phase(graph: og.Graph, tmp_path: Path) -> None:
    source = people(tmp_path / "people.jsonl", range(500))
    done = graph.load(source, mode="append")
    assert (done.rows, done.bytes_read, done.bytes_written) == (500, source.stat().st_size, data_bytes(graph))
    assert list(done.phases) == ["read", "check", "write", "publish"]
    assert all(seconds >= 0 for seconds in done.phases.values())
    assert sum(done.phases.values()) <= done.seconds


def test_the_commit_notes_what_was_measured_before_it_was_published(graph: og.Graph, tmp_path: Path) -> None:
    source = people(tmp_path / "people.jsonl", range(500))
    done = graph.load(source, mode="append", metadata={"run": "7"})
    found = noted(graph, done)
    assert found.pop("run") == "7"
    assert set(found) == {f"load.{name}" for name in NAMES | {"seconds_write"}}
    assert found["load.rows"] == "500"
    assert found["load.bytes_written"] == str(done.bytes_written)
    assert float(found["load.seconds_read"]) == pytest.approx(done.phases["read"], abs=0.001)


def test_what_the_caller_notes_comes_before_what_was_measured(graph: og.Graph) -> None:
    record = {"type": "Person", "data": {"name": "ada"}}
    done = graph.load([record], mode="append", metadata={"load.rows": "mine"})
    assert noted(graph, done)["load.rows"] == "mine"
    assert done.bytes_read is None
    assert "load.bytes_read" not in noted(graph, done)


def test_a_merge_counts_the_files_that_it_adds(graph: og.Graph, tmp_path: Path) -> None:
    graph.load(people(tmp_path / "people.jsonl", range(500)), mode="append")
    before = data_bytes(graph)
    done = graph.load(people(tmp_path / "newer.jsonl", range(250, 750), 8), mode="merge")
    assert done.rows == 500
    assert done.bytes_written == data_bytes(graph) - before > 0


def test_rejected_records_are_counted_in_the_commit(graph: og.Graph, tmp_path: Path) -> None:
    source = people(tmp_path / "people.jsonl", range(10))
    source.write_text(source.read_text() + '{"type": "Person", "data": {"nam": "x"}}\n')
    done = graph.load(source, mode="append", on_error="quarantine")
    assert (done.rows, done.rejected) == (10, 1)
    assert (noted(graph, done)["load.rows"], noted(graph, done)["load.rejected"]) == ("10", "1")


def test_a_load_that_was_made_before_has_no_phases(graph: og.Graph, tmp_path: Path) -> None:
    source = people(tmp_path / "people.jsonl", range(10))
    first = graph.load(source, mode="append", idempotency_key="nightly")
    again = graph.load(source, mode="append", idempotency_key="nightly")
    assert (again.commit_id, again.rows) == (first.commit_id, 10)
    assert (again.phases, again.bytes_written) == ({}, 0)
