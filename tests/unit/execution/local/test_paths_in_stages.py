"""Paths before and behind `with`, and in the parts of a union: a stage passes on what is read of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Port { code: String @key }\nedge Lane: Port -> Port { distance: F64? }\n"
LANES = [("l1", "a", "b", 1.0), ("l2", "b", "c", 2.0), ("l3", "a", "c", 4.0), ("l4", "c", "d", 1.5)]


@pytest.fixture
def ports(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "ports", SCHEMA)
    nodes = [{"type": "Port", "data": {"code": code}} for code in "abcd"]
    edges = [
        {"edge": "Lane", "from": source, "to": target, "data": {"id": name, "distance": distance}}
        for name, source, target, distance in LANES
    ]
    graph.load([*nodes, *edges], mode="append")
    return graph


def test_what_follows_a_stage_reads_the_parts_of_a_path_that_it_passes_on(ports: og.Graph) -> None:
    rows = ports.query("""query q() {
      match { $a: Port { code: "a" }  $a lane{1,9} $b shortest by distance as path $w }
      with { $b, nodes($w) as $ids, cost($w) as $cost } order { $cost desc } limit 2
      match { $z lane{1,9} $b shortest 2 by distance as path $v  cost($v) < $cost }
      return { $ids, edges($v) as last } order { $cost, length($v), $z }
    }""").rows
    assert rows == [
        {"ids": ["a", "b", "c"], "last": ["l2"]},
        {"ids": ["a", "b", "c", "d"], "last": ["l4"]},
        {"ids": ["a", "b", "c", "d"], "last": ["l2", "l4"]},
    ]


def test_a_path_itself_ends_with_its_stage(ports: og.Graph) -> None:
    with pytest.raises(og.TypeCheckError, match=r"\[T26\] path \$w cannot be used bare"):
        ports.query("""query q() {
          match { $a: Port  $a lane{1,9} $b as path $w } with { $w } return { length($w) }
        }""")


def test_parts_of_a_union_may_be_paths_of_different_searches(ports: og.Graph) -> None:
    rows = ports.query("""query q() {
      match { $a: Port { code: "a" }  $b: Port { code: "c" }  $a lane{1,9} $b as path $w }
      return { nodes($w) as ids }
      union
      match {
        $a: Port { code: "a" }
        $b: Port { code: "c" }
        $a lane{1,9} $b shortest 9 by distance as path $v
      }
      return { nodes($v) as ids }
    }""").rows
    assert sorted(row["ids"] for row in rows) == [["a", "b", "c"], ["a", "c"]]


def test_weights_of_every_stage_are_checked_before_the_first_one_runs(ports: og.Graph) -> None:
    bad = {"edge": "Lane", "from": "d", "to": "a", "data": {"id": "bad", "distance": -1.0}}
    ports.load([bad], mode="append")
    with pytest.raises(og.ValidationError, match=r"Lane\.distance.*'bad'"):
        ports.query("""query q() {
          match { $a: Port { code: "none" } } with { $a }
          match { $a lane{1,9} $b shortest by distance as path $w } return { cost($w) }
        }""")
