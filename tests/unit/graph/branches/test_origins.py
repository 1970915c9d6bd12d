"""Where a branch can begin, how a deleted one comes back, and what becomes of one that was never finished."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import InjectedFault
from support.care import PEOPLE, at_once, fill
from support.graphs import contents


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with four commits on main, a tag, and a branch with two commits of its own."""
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    graph.tags.create("v1", commit=graph.commits.list()[1].id)
    graph.branches.create("dev")
    fill(graph, 2, 10, "dev")
    return graph


def test_a_branch_begins_at_a_version_a_commit_or_a_tag(graph: og.Graph) -> None:
    commits = graph.commits.list()
    graph.branches.create("by-version", version=2)
    graph.branches.create("by-commit", commit=commits[1].id)
    graph.branches.create("by-tag", tag="v1")
    graph.branches.create("of-dev", "dev", version=5)
    assert graph.snapshot("by-version").version == 2
    assert graph.snapshot("by-commit").commit_id == graph.snapshot("by-tag").commit_id == commits[1].id
    assert graph.snapshot("of-dev").version == 5
    fill(graph, 1, 40, "by-commit")
    assert graph.branches.merge("by-commit").outcome == "merged"


def test_words_that_mean_two_origins_are_refused(graph: og.Graph) -> None:
    for given in ({"commit": "x", "version": 1}, {"tag": "v1", "version": 1}, {"tag": "v1", "commit": "x"}):
        with pytest.raises(og.OmniError):
            graph.branches.create("new", **given)  # type: ignore[arg-type]
    assert graph.branches.list() == ["main", "dev"]


def test_a_deleted_branch_comes_back_with_its_commits(graph: og.Graph) -> None:
    before = contents(graph.snapshot("dev"))
    commits = [commit.id for commit in graph.commits.list("dev")]
    graph.branches.delete("dev")
    with pytest.raises(og.NotFound):
        graph.snapshot("dev")
    graph.branches.restore("dev")
    assert contents(graph.snapshot("dev")) == before
    assert [commit.id for commit in graph.commits.list("dev")] == commits
    fill(graph, 1, 30, "dev")
    assert graph.branches.merge("dev").outcome == "fast_forward"


def test_a_cleanup_ends_what_can_be_restored_and_spares_what_was(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph.branches.delete("dev")
    graph.branches.restore("dev")
    fill(graph, 2, 50)
    for _ in range(2):
        og.open(graph.uri).cleanup(keep=1)
    opened = og.open(graph.uri)
    assert opened.repair().ok
    assert opened.branches.merge("dev").outcome == "merged"
    opened.branches.create("unmerged")
    fill(opened, 1, 60, "unmerged")
    opened.branches.delete("unmerged")
    og.open(graph.uri).cleanup()
    with pytest.raises(og.HistoricalVersionReclaimed, match="cannot be restored"):
        og.open(graph.uri).branches.restore("unmerged")


def test_a_branch_is_restored_from_a_tagged_commit_though_a_later_fence_was_dropped(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph = og.open(graph.uri)
    graph.cleanup(keep=1)
    head = graph.snapshot("dev")
    assert head.commit.operation == "cleanup"
    tagged = next(commit for commit in graph.commits.list("dev") if not commit.maintenance)
    graph.tags.create("v2", commit=tagged.id)
    said = contents(head)
    graph.branches.delete("dev")
    graph.cleanup(keep=1)
    graph = og.open(graph.uri)
    assert graph.commits.show(tagged.id).id == tagged.id
    graph.branches.restore("dev")
    assert contents(graph.snapshot("dev")) == said


def test_a_restore_tells_which_commits_of_the_branch_are_left(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph = og.open(graph.uri)
    tagged = graph.snapshot("dev", version=5)
    said = contents(tagged)
    graph.tags.create("v2", commit=tagged.commit_id)
    graph.branches.delete("dev")
    graph.cleanup(keep=1)
    with pytest.raises(og.HistoricalVersionReclaimed, match=f"create dev --commit {tagged.commit_id}"):
        graph.branches.restore("dev")
    graph.branches.create("dev", commit=tagged.commit_id)
    assert contents(graph.snapshot("dev")) == said


def test_there_is_nothing_to_restore_of_what_lives_or_never_was(graph: og.Graph) -> None:
    with pytest.raises(og.AlreadyExists, match="exists"):
        graph.branches.restore("dev")
    with pytest.raises(og.NotFound, match="was no branch"):
        graph.branches.restore("never")


def test_a_delete_that_was_cut_off_is_undone_by_a_restore(graph: og.Graph) -> None:
    with failpoints.arm_temporarily("branch.delete.before_close", "raise"), pytest.raises(InjectedFault):
        graph.branches.delete("dev")
    with pytest.raises(og.Contention, match="is being deleted"):
        graph.branches.create("child", "dev")
    graph.branches.restore("dev")
    graph.branches.create("child", "dev")
    with pytest.raises(og.BranchInUse, match="child"):
        graph.branches.delete("dev")
    graph.branches.create("second-child", "dev")


def test_a_branch_that_was_never_finished_is_not_there_and_stops_nobody(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    old = graph.commits.list()[2].id
    with failpoints.arm_temporarily("branch.create.before_check", "raise"), pytest.raises(InjectedFault):
        graph.branches.create("half", commit=old)
    opened = og.open(graph.uri)
    assert "half" not in opened.branches.list()
    opened.branches.delete("half")  # its name is free
    opened.branches.create("half", commit=old)
    og.open(graph.uri).cleanup(keep=1)
    assert og.open(graph.uri).snapshot("half").record.content == old
    assert og.open(graph.uri).repair().ok


def test_a_name_for_a_dropped_commit_is_free(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    truth = graph.internals.core.truth
    old = graph.snapshot(version=2).record
    fill(graph, 2, 50)
    og.open(graph.uri).cleanup(keep=1)
    graph.tags.delete("v1")
    truth.refs.create("half", old.ref, None, None)  # as a maker that is cut off right after it leaves it
    opened = og.open(graph.uri)
    with pytest.raises(og.NotFound, match="there is no branch"):
        opened.snapshot("half")
    opened.cleanup(keep=1)
    opened.branches.create("half")
    assert opened.snapshot("half").commit_id == opened.snapshot().commit_id
    assert opened.repair().ok
