"""History with a hole in it: what is lost is told from what a cleanup dropped, and the rest can be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.graph.manifest import layout
from support.care import PEOPLE, at_once, fill

_NAMES = "query q() { match { $p: Person } return { $p.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Eleven commits on main, never cleaned up, and a branch from version 5."""
    graph = og.init(tmp_path / "graph", PEOPLE)
    for number in range(10):
        fill(graph, 1, number)
    graph.branches.create("old", version=5)
    fill(graph, 1, 100, "old")
    return graph


def _record(graph: og.Graph, number: int) -> Path:
    return Path(graph.uri, layout.record_path(graph.internals.core.truth.stamp.main, number))


def _lose(graph: og.Graph, number: int) -> tuple[og.Graph, str]:
    path = _record(graph, number)
    path.unlink()
    return og.open(graph.uri), str(path.relative_to(graph.uri))


def _is_told(error: pytest.ExceptionInfo[og.CorruptState], where: str) -> bool:
    return where in str(error.value) and "omnigraph repair" in str(error.value)


@pytest.mark.parametrize("number", [2, 5, 8, 10])
def test_no_history_is_read_over_a_lost_record(graph: og.Graph, number: int) -> None:
    lost = graph.snapshot(version=number).commit_id
    first = graph.snapshot(version=1).commit_id
    again, where = _lose(graph, number)
    with pytest.raises(og.CorruptState) as listed:
        again.commits.list()
    with pytest.raises(og.CorruptState) as read:
        again.snapshot(version=number)
    with pytest.raises(og.CorruptState) as shown:
        again.commits.show(lost)
    with pytest.raises(og.CorruptState) as fed:
        again.changes.poll(start=f"after:{first}")
    with pytest.raises(og.CorruptState) as fed_from_the_start:
        again.changes.poll(start="beginning")
    for error in (listed, read, shown, fed, fed_from_the_start):
        assert _is_told(error, where), error.value
    assert again.commits.list(limit=1)


def test_a_merge_over_a_lost_record_says_so(graph: og.Graph) -> None:
    again, where = _lose(graph, 8)
    with pytest.raises(og.CorruptState) as error:
        again.branches.merge("old")
    assert _is_told(error, where)


def test_a_branch_whose_fork_is_lost_says_so(graph: og.Graph) -> None:
    graph.branches.create("empty", version=4)
    again, where = _lose(graph, 4)
    with pytest.raises(og.CorruptState) as error:
        again.snapshot("empty")
    assert _is_told(error, where)


def test_all_other_commits_can_be_read_beside_a_hole(graph: og.Graph) -> None:
    commits = {commit.version: commit.id for commit in graph.commits.list()}
    again, _ = _lose(graph, 8)
    for version in set(commits) - {8}:
        assert again.commits.show(commits[version]).version == version
        assert again.snapshot(version=version).commit_id == commits[version]


def test_what_a_cleanup_dropped_is_told_as_dropped(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = graph.snapshot(version=3)
    at_once(monkeypatch)
    graph.cleanup(keep=2)
    again = og.open(graph.uri)
    with pytest.raises(og.HistoricalVersionReclaimed):
        again.snapshot(version=3)
    with pytest.raises(og.HistoricalVersionReclaimed):
        again.commits.show(gone.commit_id)
    assert [commit.version for commit in again.commits.list()][-1] == 5
    path = _record(graph, again.snapshot().version - 1)
    path.unlink()
    with pytest.raises(og.CorruptState) as error:
        og.open(graph.uri).commits.list()
    assert _is_told(error, str(path.relative_to(graph.uri)))


@pytest.mark.parametrize("damage", ["lost", "cut short"])
def test_older_commits_outlive_a_damaged_newest_record(graph: og.Graph, tmp_path: Path, damage: str) -> None:
    """A rescue without a backup: read, export, tag and branch from any commit that is sound."""
    head, before = graph.snapshot(), graph.snapshot(version=10)
    path = _record(graph, head.version)
    if damage == "lost":
        path.unlink()
    else:
        os.truncate(path, 40)
    with pytest.raises(og.CorruptState):
        og.open(graph.uri)
    again = og.open(graph.uri, rescue=True)
    with pytest.raises(og.CorruptState):
        again.snapshot()
    with pytest.raises(og.CorruptState):
        fill(again, 1, 300)
    with pytest.raises(og.CorruptState):
        again.snapshot(commit=head.commit_id)
    with pytest.raises(og.CorruptState):
        again.snapshot(version=head.version)
    with pytest.raises(og.CorruptState):
        again.snapshot(version=head.version + 1)
    assert again.snapshot(commit=before.commit_id).version == 10
    assert again.snapshot(version=3).version == 3
    assert again.commits.show(before.commit_id).version == 10
    assert len(again.query(_NAMES, snapshot=before.commit_id).rows) == 9
    again.export(str(tmp_path / "rescued"), snapshot=before.commit_id)
    again.backup(str(tmp_path / "backup"), snapshot=before.commit_id)
    assert again.tags.create("rescue", commit=before.commit_id).version == 10
    again.branches.create("rescued", commit=before.commit_id)
    fill(again, 1, 200, "rescued")
    assert len(again.query(_NAMES, branch="rescued").rows) == 10
