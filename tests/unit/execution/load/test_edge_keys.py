"""Edges with a natural key: one edge for one key, in mutations, loads, merges and schema changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

NODES = "node P { name: String @key }\n"
SCHEMA = NODES + 'edge K: P -> P { kind: String @default("friend")  since: I64?  @key(src, dst, kind) }\n'
PEOPLE = [{"type": "P", "data": {"name": name}} for name in ("a", "b", 'c"\\é')]


def _edge(source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": "K", "from": source, "to": target, "data": data}


def _edges(graph: og.Graph) -> dict[str, Any]:
    rows = graph.snapshot().table("edge:K").scan(columns=["id", "since"]).to_pylist()
    return {row["id"]: row["since"] for row in rows}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(PEOPLE, mode="append")
    return made


def test_a_merge_of_the_same_edges_updates_them(graph: og.Graph) -> None:
    given = [_edge("a", "b", since=1), _edge("a", "b", kind="boss"), _edge('c"\\é', "a")]
    first = graph.load(given, mode="merge")
    assert first.warnings == ()
    ids = {'["a","b","friend"]': 1, '["a","b","boss"]': None, '["c\\"\\\\é","a","friend"]': None}
    assert _edges(graph) == ids
    graph.load([_edge("a", "b", since=2)], mode="merge")
    assert _edges(graph) == ids | {'["a","b","friend"]': 2}


def test_an_insert_replaces_the_edge_of_its_key(graph: og.Graph) -> None:
    for since in (1, 2):
        text = 'query q($n: I64) { insert K { from: "a" to: "b" since: $n } }'
        assert graph.mutate(text, {"n": since}).affected_edges == 1
    assert _edges(graph) == {'["a","b","friend"]': 2}


def test_an_update_may_not_set_a_member_of_the_key(graph: og.Graph) -> None:
    with pytest.raises(og.TypeCheckError, match=r"cannot update @key property K\.kind"):
        graph.mutate('query q() { update K set { kind: "x" } where since = 1 }')


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_one_key_twice_in_a_load_is_refused(mode: str, graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match=r"@unique violation on K.\(src, dst, kind\)"):
        graph.load([_edge("a", "b"), _edge("a", "b", since=1)], mode=mode)


def test_an_id_that_the_key_does_not_make_is_refused(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match="its key says"):
        graph.load([_edge("a", "b", id="mine")], mode="merge")
    graph.load([_edge("a", "b", id='["a","b","friend"]')], mode="append")
    with pytest.raises(og.KeyConflict):
        graph.load([_edge("a", "b")], mode="append")


def test_two_branches_that_insert_one_edge_have_the_same_edge(graph: og.Graph) -> None:
    graph.branches.create("other", "main")
    graph.load([_edge("a", "b", since=1)], mode="merge", branch="other")
    graph.load([_edge("a", "b", since=1)], mode="merge")
    graph.branches.merge("other", "main")
    assert _edges(graph) == {'["a","b","friend"]': 1}


def test_edges_without_key_and_id_are_told_of_in_a_merge(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", NODES + "edge K: P -> P { since: I64? }\n")
    graph.load(PEOPLE, mode="append")
    (said,) = graph.load([_edge("a", "b"), _edge("a", "b", id="x")], mode="merge").warnings
    assert said.startswith("1 edge of K has neither a key nor an id") and "@key(src, dst)" in said
    (said,) = graph.load([_edge("a", "b"), _edge("a", "b")], mode="merge").warnings
    assert said.startswith("2 edges of K have neither a key nor an id")
    assert graph.load([_edge("a", "b")], mode="append").warnings == ()


def test_stored_edges_get_the_ids_of_a_key_that_is_added(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", NODES + "edge K: P -> P { since: I64? }\n")
    graph.load([*PEOPLE, _edge("a", "b", since=1), _edge("b", "a")], mode="append")
    keyed = NODES + "edge K: P -> P { since: I64?  @key(src, dst) }\n"
    graph.schema.apply(keyed)
    assert _edges(graph) == {'["a","b"]': 1, '["b","a"]': None}
    graph.load([_edge("a", "b", since=2)], mode="merge")
    assert _edges(graph) == {'["a","b"]': 2, '["b","a"]': None}


def test_a_key_that_two_stored_edges_have_cannot_be_added(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", NODES + "edge K: P -> P { since: I64? }\n")
    graph.load([*PEOPLE, _edge("a", "b"), _edge("a", "b")], mode="append")
    with pytest.raises(og.SchemaChangeUnsupported, match="OG-MF-111"):
        graph.schema.apply(NODES + "edge K: P -> P { since: I64?  @key(src, dst) }\n")


def test_the_key_of_an_edge_names_both_ends(tmp_path: Path) -> None:
    with pytest.raises(og.ParseError, match="not supported on edges without both ends") as caught:
        og.init(tmp_path / "graph", NODES + "edge K: P -> P { since: I64  @key(src, since) }\n")
    assert "@key(src, dst, since)" in str(caught.value)
