"""A graph that was one of igraph's meanwhile says the same."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from omnigraph.integrations.igraph import from_igraph, to_igraph

SCHEMA = "node Person { name: String @key  age: I64? }\nedge Knows: Person -> Person { since: Date? }"


def test_there_and_back(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    records = [{"type": "Person", "data": {"name": name, "age": 2**53 + 1}} for name in ("ada", "bob", "cyd")]
    edges = [
        {"edge": "Knows", "from": "ada", "to": name, "data": {"since": "2026-01-31"}}
        for name in ("bob", "cyd")
    ]
    graph.load([*records, *edges], mode="append")
    made = to_igraph(graph)
    assert made.is_directed()
    assert made.vs["name"] == ["ada", "bob", "cyd"]
    assert made.pagerank()[0] < made.pagerank()[1]
    again = og.init(tmp_path / "again", SCHEMA)
    again.load(list(from_igraph(made)), mode="append")
    assert sorted(map(str, again.export())) == sorted(map(str, graph.export()))
