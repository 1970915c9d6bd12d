"""Loads into a branch that may not exist yet."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from support.processes import run_in_threads

SCHEMA = "node A { k: String @key }"


def test_a_load_forks_the_branch_once_however_its_name_is_padded(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    for at, name in enumerate(["topic", " topic ", "topic"]):
        graph.load([{"type": "A", "data": {"k": str(at)}}], mode="append", branch=name, from_branch="main")
    assert graph.branches.list() == ["main", "topic"]
    assert [graph.snapshot(name).tables[0].rows for name in ("main", "topic")] == [0, 3]


def test_loads_that_fork_one_branch_at_once_all_land(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)

    def load(at: int) -> int:
        records = [{"type": "A", "data": {"k": str(at)}}]
        return graph.load(records, mode="append", branch="topic", from_branch="main").nodes["A"]

    assert run_in_threads(load, [(at,) for at in range(4)]) == [1] * 4
    assert graph.snapshot("topic").tables[0].rows == 4
