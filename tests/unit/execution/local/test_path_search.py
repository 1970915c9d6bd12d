"""Paths as rows of one graph: what storage may look like, how far a search goes, and what limits it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.execution.local.paths import search
from omnigraph.execution.plan import access

SCHEMA = "node Port { code: String @key }\nedge Lane: Port -> Port { distance: F64? }\n"
BEST = """query q($a: String, $b: String) {
  match { $a: Port { code: $a }  $b: Port { code: $b }  $a lane{1,40} $b shortest by distance as path $w }
  return { nodes($w) as nodes, edges($w) as edges, cost($w) as cost, length($w) as length }
}"""
ALL = """query q($count: String) {
  match { $a: Port { code: "p0" }  $a lane{1,40} $b shortest 2 by distance as path $w }
  return { $b.code as b, edges($w) as edges } order { b, cost($w), length($w) }
}"""


@pytest.fixture
def ports(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "ports", SCHEMA)
    chosen = random.Random(7)
    nodes = [{"type": "Port", "data": {"code": f"p{number}"}} for number in range(60)]
    graph.load(nodes, mode="append")
    graph.load([_lane(f"l{number}", chosen) for number in range(240)], mode="append")
    return graph


def _lane(name: str, chosen: random.Random) -> dict[str, Any]:
    ends = {end: f"p{chosen.randrange(60)}" for end in ("from", "to")}
    return {"edge": "Lane", **ends, "data": {"id": name, "distance": chosen.choice([0.1, 0.2, 0.3, 0.7])}}


def _join(graph: og.Graph, name: str, ends: tuple[str, str], distance: float | None) -> None:
    data = {"id": name, "distance": distance}
    graph.load([{"edge": "Lane", "from": ends[0], "to": ends[1], "data": data}], mode="append")


def test_ways_of_searching_give_the_same_paths(ports: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in ("", "shortest by distance", "shortest 2"):
        query = f"""query q() {{
          match {{ $a: Port  $b: Port  $a lane{{1,4}} $b {asked} as path $w  $a.code < "p2" }}
          return {{ nodes($w) as nodes, edges($w) as edges, length($w) as length }}
          order {{ $a.code, $b.code, length($w) }} }}"""
        plainly = ports.query(query).rows
        with monkeypatch.context() as patched:
            # Pair by pair: searches from both ends, or until the target is settled.
            patched.setattr(search, "MAX_SEARCHED_PAIRS", 1 << 30)
            assert ports.query(query).rows == plainly
        with monkeypatch.context() as patched:
            patched.setattr(search, "_MAX_MARKS", 1)
            patched.setattr(search, "MAX_SEARCHED_PAIRS", 0)
            assert ports.query(query).rows == plainly
        assert len(plainly) > 100


def test_paths_follow_what_was_deleted_added_and_moved(ports: og.Graph) -> None:
    first = ports.query(BEST, {"a": "p0", "b": "p1"}).first()
    gone = first["edges"][-1]
    ports.mutate("query q($e: String) { delete Lane where id = $e }", {"e": gone})
    second = ports.query(BEST, {"a": "p0", "b": "p1"}).first()
    assert gone not in second["edges"] and second["cost"] >= first["cost"]
    _join(ports, "new", ("p0", "p1"), 0.05)
    assert ports.query(BEST, {"a": "p0", "b": "p1"}).first()["edges"] == ["new"]
    ports.mutate('query q() { update Lane set { distance: 900.0 } where id = "new" }')
    ports.load([{"type": "Port", "data": {"code": "p1"}}], mode="merge")
    assert ports.query(BEST, {"a": "p0", "b": "p1"}).first() == second
    ports.optimize()
    assert og.open(ports.uri).query(BEST, {"a": "p0", "b": "p1"}).first() == second


def test_an_edge_without_a_weight_refuses_the_query_until_it_is_deleted(ports: og.Graph) -> None:
    _join(ports, "bad", ("p58", "p59"), None)
    with pytest.raises(og.ValidationError, match=r"Lane\.distance.*'bad'") as raised:
        ports.query(BEST, {"a": "p0", "b": "p1"})
    assert raised.value.ids == ["bad"] and raised.value.property == "distance"
    assert ports.explain(BEST) is not None
    ports.mutate('query q() { delete Lane where id = "bad" }')
    assert ports.query(BEST, {"a": "p0", "b": "p1"}).first()["cost"] > 0


def test_no_index_is_asked_for_the_edges_of_a_path(ports: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ports.query(ALL.replace("($count: String)", "()")).rows
    monkeypatch.setattr(access, "LARGE_TABLE_ROWS", 0)
    ports.ensure_indices()
    fresh = og.open(ports.uri)
    text = ALL.replace("($count: String)", "()")
    assert "a path is searched" in str(fresh.explain(text))
    assert fresh.query(text).rows == expected


def test_a_search_of_paths_stops_at_the_limits_of_a_query(
    ports: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_ROWS", "100")
    small = og.open(ports.uri)
    text = """query q() { match { $a: Port { code: "p0" }  $b: Port { code: "p1" }
      $a lane{1,40} $b shortest 1000 by distance as path $w } return { length($w) } }"""
    with pytest.raises(og.ResourceLimit, match="intermediate rows"):
        small.query(text)


def test_a_matched_write_may_read_a_path(ports: og.Graph) -> None:
    before = ports.query(BEST, {"a": "p0", "b": "p1"}).first()["cost"]
    ports.mutate("""query q() {
      match {
        $a: Port { code: "p0" }
        $b: Port { code: "p1" }
        $a lane{1,40} $b shortest by distance as path $w
      }
      insert Lane { from: $a, to: $b, distance: cost($w) / 2 }
    }""")
    after = ports.query(BEST, {"a": "p0", "b": "p1"}).first()
    assert (after["nodes"], after["cost"]) == (["p0", "p1"], before / 2)
