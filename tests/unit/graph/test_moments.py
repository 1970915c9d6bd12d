"""What a branch was at a moment: the newest commit of then, or the news that it is gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key }"


def _graph(folder: Path, commits: int) -> og.Graph:
    graph = og.init(folder / "graph", SCHEMA)
    for at in range(commits):
        graph.load([{"type": "Person", "data": {"name": f"p{at}"}}], mode="append")
    return graph


def test_a_moment_is_the_newest_commit_of_then(tmp_path: Path) -> None:
    graph = _graph(tmp_path, 4)
    commits = graph.commits.list()
    for commit in commits:
        assert graph.snapshot(timestamp=commit.created_at).commit_id == commit.id
        assert graph.snapshot(timestamp=commit.created_at.isoformat()).commit_id == commit.id
    assert graph.snapshot(timestamp=datetime.now(UTC)).version == 5
    with pytest.raises(og.NotFound, match="nothing of branch"):
        graph.snapshot(timestamp=commits[-1].created_at - timedelta(microseconds=1))


def test_a_branch_goes_on_where_it_was_forked(tmp_path: Path) -> None:
    graph = _graph(tmp_path, 2)
    graph.branches.create("dev")
    graph.load([{"type": "Person", "data": {"name": "x"}}], mode="append", branch="dev")
    graph.load([{"type": "Person", "data": {"name": "y"}}], mode="append")
    for commit in graph.commits.list("dev"):
        assert graph.snapshot("dev", timestamp=commit.created_at).commit_id == commit.id
    assert graph.snapshot("dev", timestamp=datetime.now(UTC)).version == graph.snapshot("dev").version


def test_a_commit_that_a_cleanup_has_removed_is_not_replaced_by_an_older_one(tmp_path: Path) -> None:
    graph = _graph(tmp_path, 5)
    commits = {commit.version: commit for commit in graph.commits.list()}
    graph.tags.create("kept", commits[2].id)
    graph.cleanup(keep=1)
    assert graph.snapshot(timestamp=commits[6].created_at).version == 6
    for version in (2, 3, 5):
        with pytest.raises(og.HistoricalVersionReclaimed):
            graph.snapshot(timestamp=commits[version].created_at)
