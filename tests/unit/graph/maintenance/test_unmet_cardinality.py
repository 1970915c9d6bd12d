"""`@card` with a minimum: nodes may come before their edges, then keep them, and are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node A { k: String @key }\nnode B { k: String @key }\nedge W: A -> B @card(1..)\nedge V: A -> B"


def test_a_node_without_edges_is_accepted_and_reported_and_the_last_edge_stays(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "A", "data": {"k": name}} for name in "abcde"], mode="append")
    graph.load([{"type": "B", "data": {"k": "x"}}, {"edge": "W", "from": "a", "to": "x"}], mode="append")
    with pytest.raises(og.ValidationError, match="@card violation"):
        graph.mutate('query q() { delete W where from = "a" }')
    report = graph.repair()
    (found,) = [item for item in report.findings if item.code == "card_unmet"]
    assert (found.severity, found.where) == ("leftover", "branch main, W")
    assert "4 have none, such as 'b', 'c', 'd'" in found.what
    graph.load([{"edge": "W", "from": name, "to": "x"} for name in "bcde"], mode="append")
    assert "card_unmet" not in [item.code for item in graph.repair().findings]
    graph.mutate('query q() { delete A where k = "a" }')
    assert graph.repair().findings == report.findings[:0]
