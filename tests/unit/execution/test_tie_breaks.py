"""Rows that differ in nothing but the length of a path, or in a list, have an order too."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

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


LISTED = "node Doc { key: String @key  tags: [String]?  vec: Vector(2)? }"
ROWS: list[dict[str, Any]] = [
    {"key": "a", "tags": ["x", "y"], "vec": [1, 2]},
    {"key": "b", "tags": ["x"], "vec": [1, 1]},
    {"key": "c", "tags": [], "vec": [0, 5]},
    {"key": "d"},
]
FIRST: list[tuple[str, list[dict[str, Any]]]] = [
    (
        "return distinct { 1 as n, $d.tags as t } order { n } limit 2",
        [{"n": 1, "t": None}, {"n": 1, "t": []}],
    ),
    (
        "return distinct { 1 as n, $d.vec as t } order { n } skip 1 limit 1",
        [{"n": 1, "t": [0.0, 5.0]}],
    ),
    (
        "return { $d.tags as t, count($d) as n } order { n } limit 3",
        [{"t": None, "n": 1}, {"t": [], "n": 1}, {"t": ["x"], "n": 1}],
    ),
]


@pytest.mark.long
def test_lists_break_ties_whatever_the_order_of_loading(tmp_path: Path) -> None:
    for number, rows in enumerate(permutations(ROWS)):
        graph = og.init(tmp_path / str(number), LISTED)
        graph.load([{"type": "Doc", "data": row} for row in rows], mode="append")
        for shape, expected in FIRST:
            assert graph.query(f"query q() {{ match {{ $d: Doc }} {shape} }}").rows == expected
