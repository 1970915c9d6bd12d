"""Adjacency that is a base and a patch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnigraph as og
from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.cache.edge_patch import PatchedNeighbours

SCHEMA = "node Person { name: String @key }\nedge Knows: Person -> Person\n"


def _knows(start: str, end: str) -> dict[str, str]:
    return {"edge": "Knows", "from": start, "to": end}


@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.BACKWARD])
@pytest.mark.parametrize("first", [0, 5])
def test_a_patch_knows_how_many_neighbours_all_nodes_have(
    tmp_path: Path, first: int, direction: Direction
) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    names = [f"p{at}" for at in range(9)]
    graph.load([{"type": "Person", "data": {"name": name}} for name in names], mode="append")
    graph.load([_knows(names[at], names[at + 1]) for at in range(first)], mode="append")
    graph.query("query q() { match { $p: Person  $p knows $q } return { $q.name } }")
    graph.load([_knows("p1", names[at]) for at in (0, 3, 4, 5, 6)], mode="append")
    graph.mutate('query q() { delete Knows where from = "p2" }')
    snapshot = graph.snapshot()
    graph.query("query q() { match { $p: Person  $p knows $q } return { $q.name } }", snapshot=snapshot)
    (edge,) = snapshot.catalog.edges
    patched = graph.reader._views(snapshot).adjacency(edge).neighbours(direction)
    assert isinstance(patched, PatchedNeighbours)
    assert patched.pairs == patched.degrees.sum() == patched.degrees_of(np.arange(len(names))).sum()
    assert patched.pairs == first + 5 - (first > 2)
