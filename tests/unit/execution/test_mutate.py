"""Mutations: blobs are written as in a load, what an update commits, and what problems say."""

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


def test_an_update_to_the_value_that_stands_there_commits_and_one_that_matches_nothing_does_not(
    graph: og.Graph,
) -> None:
    gq = "query q($name: String) { update Paper set { n: 7 } where name = $name }"
    first, again = (graph.mutate(gq, {"name": "a"}) for _ in range(2))
    assert first.commit_id != again.commit_id
    assert again.commit_id == graph.snapshot().commit_id
    assert (first.affected_nodes, again.affected_nodes) == (1, 1)
    nothing = graph.mutate(gq, {"name": "nobody"})
    assert (nothing.commit_id, nothing.affected_nodes) == (None, 0)


def test_a_whole_number_is_a_float_and_a_fraction_is_no_integer(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "numbers", "node P { k: String @key  f: F64?  g: F32?  n: I64? }")
    graph.mutate('query q($f: F64) { insert P { k: "a", f: 3, g: 4 } insert P { k: "b", f: $f } }', {"f": 5})
    rows = graph.query("query q() { match { $p: P } return { $p.f } order { $p.k } }").rows
    assert rows == [{"p.f": 3.0}, {"p.f": 5.0}]
    assert len(graph.query("query q() { match { $p: P {f: 3} } return { $p.k } }")) == 1
    with pytest.raises(og.TypeCheckError, match="T3"):
        graph.mutate('query q() { insert P { k: "c", n: 3.5 } }')
    gq = 'query q($n: F64) { insert P { k: "c", n: $n } }'
    with pytest.raises(og.ValidationError, match=r"the float 3\.5 does not fit"):
        graph.mutate(gq, {"n": 3.5})
    assert graph.mutate(gq, {"n": 3.0}).affected_nodes == 1


def test_a_problem_names_the_statement_and_the_row(tmp_path: Path) -> None:
    graph = og.init(
        tmp_path / "rows", "node P { k: String @key  n: I64?  @range(n, 0..9) }\nnode Q { n: I64 @unique }"
    )
    graph.mutate('query q() { insert P { k: "a" n: 1 } insert P { k: "b" n: 2 } insert Q { n: 1 } }')
    with pytest.raises(og.ValidationError) as caught:
        graph.mutate('query q() { insert P { k: "c" } update P set { n: 99 } where n = 2 }')
    assert caught.value.details["problems"][0]["place"] == "statement 2, node 'b'"
    with pytest.raises(og.ValidationError) as caught:
        graph.mutate("query q() { insert Q { n: 1 } }")
    assert caught.value.details["problems"][0]["place"] == "statement 1"


def test_edits_below_zero_and_a_test_behind_a_bare_variable_are_told(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "words", "node P { k: String @key }\nedge K: P -> P")
    with pytest.raises(og.TypeCheckError, match="at least 0"):
        graph.query('query q() { match { $p: P fuzzy($p.k, "a", -1) } return { $p.k } }')
    with pytest.raises(og.BadInput, match="at least 0"):
        gq = 'query q($e: I64) { match { $p: P fuzzy($p.k, "a", $e) } return { $p.k } }'
        graph.query(gq, {"e": -1})
    with pytest.raises(og.TypeCheckError, match=r"write \$v.property in"):
        graph.query("query q($y: [String]) { match { $p: P $p in $y } return { $p.k } }", {"y": ["a"]})
