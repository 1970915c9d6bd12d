"""Rows that differ in nothing but the length of a path have an order too."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key }\nedge Knows: Person -> Person"


@pytest.mark.parametrize("optimise", [True, False])
def test_path_lengths_break_ties(tmp_path: Path, optimise: bool) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    nodes = [{"type": "Person", "data": {"name": name}} for name in "dcba"]
    edges = [{"edge": "Knows", "from": a, "to": b} for a, b in ("cd", "bc", "ab")]
    graph.load(nodes + edges, mode="append")
    shown = '$a: Person { name: "a" }  $a knows{1,3} $_ as $n } return { $n } order { $a'
    rows = graph.query(f"query q() {{ match {{ {shown} }} }}", optimise=optimise).rows
    assert rows == [{"n": 1}, {"n": 2}, {"n": 3}]
    first = graph.query(f"query q() {{ match {{ {shown} desc }} limit 1 }}", optimise=optimise).rows
    assert first == [{"n": 1}]
