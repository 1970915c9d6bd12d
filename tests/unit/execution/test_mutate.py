"""Mutations on blobs: bytes are written as in a load, and an update of another property keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Paper { name: String @key  body: Blob?  n: I64? }"
RECORDS = [
    {"type": "Paper", "data": {"name": "a", "body": "base64:aGVsbG8="}},
    {"type": "Paper", "data": {"name": "none"}},
    {"type": "Paper", "data": {"name": "empty", "body": "base64:"}},
    {"type": "Paper", "data": {"name": "long", "body": "base64:" + "QUJD" * 100_000}},
]
BODIES = {"a": b"hello", "none": None, "empty": b"", "long": b"ABC" * 100_000}


def _bodies(graph: og.Graph) -> dict[str, bytes | None]:
    dataset = graph.snapshot().table("node:Paper").dataset
    rows = dataset.to_table(columns=["name", "body"], blob_handling="all_binary").to_pylist()
    return {row["name"]: row["body"] for row in rows}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with blobs: some bytes, none at all, zero bytes, many."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load(RECORDS, mode="append")
    return graph


def test_an_update_of_another_property_keeps_the_bytes(graph: og.Graph) -> None:
    for number in range(2):
        for name in BODIES:
            params = {"name": name, "n": number}
            done = graph.mutate(
                "query q($name: String, $n: I64) { update Paper set { n: $n } where name = $name }", params
            )
            assert done.affected_nodes == 1
    assert _bodies(graph) == BODIES
    assert graph.snapshot().table("node:Paper").scan(columns=["n"])["n"].to_pylist() == [1] * 4


def test_bytes_are_written_as_in_a_load(graph: og.Graph) -> None:
    gq = """query q($b: Blob?) {
        insert Paper { name: "new" body: $b }
        update Paper set { body: $b } where name = "a"
    }"""
    graph.mutate(gq, {"b": "base64:d29ybGQ="})
    assert _bodies(graph) == BODIES | {"new": b"world", "a": b"world"}
    graph.mutate(gq, {"b": None})
    assert _bodies(graph) == BODIES | {"new": None, "a": None}


@pytest.mark.parametrize("wrong", ["base64:???", "https://example.org/x", "hello"])
def test_what_is_no_blob_is_refused_by_name(wrong: str, graph: og.Graph) -> None:
    head = graph.snapshot().commit_id
    with pytest.raises(og.ValidationError, match=r"Paper\.body"):
        graph.mutate('query q($b: Blob) { insert Paper { name: "x" body: $b } }', {"b": wrong})
    assert graph.snapshot().commit_id == head
