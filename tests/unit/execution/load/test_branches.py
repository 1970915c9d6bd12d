"""Loads into a branch that may not exist yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_refused_load_leaves_no_branch_behind(tmp_path: Path, mode: str) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    for records in ([{"type": "A", "data": {}}], [{"type": "A", "data": {"k": "1"}}] * 2, [{"no": "record"}]):
        with pytest.raises(og.ValidationError):
            graph.load(records, mode=mode, branch="topic", from_branch="main")
    with pytest.raises(og.BadInput):
        graph.load(tmp_path / "missing.jsonl", mode=mode, branch="topic", from_branch="main")
    with pytest.raises(og.NotFound):
        graph.load([{"type": "A", "data": {"k": "1"}}], mode=mode, branch="topic", from_branch="nowhere")
    assert graph.branches.list() == ["main"]
    assert graph.load([{"type": "A", "data": {"k": "1"}}], mode=mode, branch="topic", from_branch="main")
    assert graph.snapshot("topic").tables[0].rows == 1


def test_an_origin_without_a_branch_is_refused(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    with pytest.raises(og.BadInput, match="give its name as branch="):
        graph.load([{"type": "A", "data": {"k": "1"}}], mode="append", from_branch="main")


def test_a_branch_that_begins_with_a_load_has_the_history_of_its_origin(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="ada")
    graph.load([{"type": "A", "data": {"k": "1"}}], mode="append")
    loaded = graph.load(
        [{"type": "A", "data": {"k": "2"}}],
        mode="append",
        branch="topic",
        from_branch="main",
        message="first",
    )
    commits = og.open(tmp_path / "graph").commits.list("topic")
    assert [commit.version for commit in commits] == [3, 2, 1]
    assert (commits[0].id, commits[0].actor, commits[0].message) == (loaded.commit_id, "ada", "first")
    assert commits[1].id == graph.snapshot("main").commit_id
    assert graph.load([], mode="append", branch="empty", from_branch="topic").commit_id is None
    assert graph.snapshot("empty").commit_id == loaded.commit_id


def test_a_load_forks_from_what_its_origin_has_become_while_it_was_read(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)

    def records() -> Iterator[dict[str, Any]]:
        graph.load([{"type": "A", "data": {"k": "1"}}], mode="append")
        graph.schema.apply("node A { k: String @key  note: String? }")
        yield {"type": "A", "data": {"k": "2"}}

    graph.load(records(), mode="append", branch="topic", from_branch="main")
    rows = graph.snapshot("topic").table("node:A").scan().to_pylist()
    assert [(row["k"], row["note"]) for row in rows] == [("1", None), ("2", None)]


def test_a_load_whose_origin_is_deleted_meanwhile_is_refused(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.branches.create("origin")

    def records() -> Iterator[dict[str, Any]]:
        graph.branches.delete("origin")
        yield {"type": "A", "data": {"k": "2"}}

    with pytest.raises(og.BranchGone):
        graph.load(records(), mode="append", branch="topic", from_branch="origin")
    assert graph.branches.list() == ["main"]
