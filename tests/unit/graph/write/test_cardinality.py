"""`@card`: the records that are to blame are named, and with quarantine only those are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node P { name: String @key }
edge Most: P -> P @card(0..2) { w: I64? }
edge Least: P -> P @card(2..) { w: I64? }
"""


def _edge(name: str, source: str, **data: Any) -> dict[str, Any]:
    return {"edge": name, "from": source, "to": "a", "data": data}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "P", "data": {"name": name}} for name in "abc"], mode="append")
    return graph


def _ids(graph: og.Graph, table: str) -> dict[str, str]:
    rows = graph.snapshot().table(table).scan(["id", "src"])
    return dict(zip(rows["id"].to_pylist(), rows["src"].to_pylist(), strict=True))


def _file(tmp_path: Path, *records: dict[str, Any]) -> Path:
    path = tmp_path / "edges.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _refused(graph: og.Graph, source: Any, mode: str = "append") -> dict[str, Any]:
    with pytest.raises(og.ValidationError) as caught:
        graph.load(source, mode=mode)
    (problem,) = caught.value.problems
    assert isinstance(problem, dict)
    return problem


def test_edges_beyond_the_limit_are_named_with_what_is_stored(graph: og.Graph, tmp_path: Path) -> None:
    graph.load([_edge("Most", "a", id="s")], mode="append")
    path = _file(tmp_path, *[_edge("Most", "a")] * 3)
    problem = _refused(graph, path)
    assert (problem["place"], problem["rule"], problem["property"]) == (f"{path}:2", "card", "src")
    assert problem["message"] == (
        "@card violation on edge Most: source 'a' of P has 4, allowed are 0..2; of these 1 stored already; "
        f"this edge and those at {path}:3 are beyond the limit"
    )


def test_quarantine_keeps_as_many_edges_as_fit_and_those_that_only_change(
    graph: og.Graph, tmp_path: Path
) -> None:
    graph.load([_edge("Most", "a", id="s1"), _edge("Most", "a", id="s2")], mode="append")
    records = [_edge("Most", "a", id="n"), _edge("Most", "a", id="s2", w=7), _edge("Most", "b", id="b1")]
    done = graph.load(records, mode="merge", on_error="quarantine", rejected_to=tmp_path / "bad")
    assert (done.edges, done.rejected) == ({"Most": 2}, 1)
    assert _ids(graph, "edge:Most") == {"s1": "a", "s2": "a", "b1": "b"}
    assert json.loads((tmp_path / "bad").read_text())["data"]["id"] == "n"


def test_too_few_edges_name_the_node_that_lacks_them_and_the_record(graph: og.Graph, tmp_path: Path) -> None:
    path = _file(tmp_path, _edge("Least", "a"), _edge("Least", "a"), _edge("Least", "b"))
    problem = _refused(graph, path)
    assert problem["place"] == f"{path}:3"
    assert (
        "source 'b' of P has 1, allowed are 2..; P 'b' lacks 1; this edge is not enough" in problem["message"]
    )
    done = graph.load(path, mode="append", on_error="quarantine")
    assert (done.edges, done.rejected) == ({"Least": 2}, 1)


def test_a_record_that_moves_an_edge_away_is_named(graph: og.Graph, tmp_path: Path) -> None:
    graph.load([_edge("Least", s, id=f"{s}{at}") for s in "ab" for at in range(2)], mode="append")
    moving = [_edge("Least", "a", id="a0", w=1), _edge("Least", "b", id="a1")]
    problem = _refused(graph, moving, "merge")
    assert problem["place"] == "record 2"
    assert "P 'a' lacks 1; this edge takes an edge away" in problem["message"]
    done = graph.load(moving, mode="merge", on_error="quarantine", rejected_to=tmp_path / "bad")
    assert (done.edges, done.rejected) == ({"Least": 1}, 1)
    assert _ids(graph, "edge:Least")["a1"] == "a"


def test_what_no_record_is_to_blame_for_says_why(graph: og.Graph) -> None:
    graph.load([_edge("Least", s, id=f"{s}{at}") for s in "ab" for at in range(2)], mode="append")
    problem = _refused(graph, [_edge("Least", "a"), _edge("Least", "a")], "overwrite")
    assert problem["place"] is None
    assert "P 'b' lacks 2, because edges that it had go away" in problem["message"]
    with pytest.raises(og.ValidationError, match="P 'a' lacks 1, because"):
        graph.mutate('query q() { delete Least where id = "a0" }')
