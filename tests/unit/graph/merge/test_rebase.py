"""Rebasing: commits made again, and a branch that switches to them in one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from support.care import files
from support.compaction import Compaction
from support.stored_graph import read_back

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    """Two persons; main and `work` have each gone on by themselves."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    put(graph, "main", "ada", 1)
    put(graph, "main", "bob", 1)
    graph.branches.create("work")
    for name, actor in (("w1", "act-one"), ("w2", "act-two")):
        writer = og.open(graph.uri, branch="work", actor=actor)
        writer.load([person(name, 1)], mode="append", message=f"adds {name}", metadata={"job": name})
    put(graph, "main", "m1", 1)
    return graph


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def put(graph: og.Graph, branch: str, name: str, age: int) -> str:
    done = graph.load([person(name, age)], mode="merge", branch=branch)
    assert done.commit_id is not None
    return done.commit_id


def people(graph: og.Graph, branch: str = "main") -> dict[str, int]:
    return {name: row["age"] for name, row in read_back(graph.snapshot(branch)).nodes["Person"].items()}


def test_a_branch_begins_after_the_other_head_with_its_commits_made_again(g: og.Graph) -> None:
    head = g.snapshot()
    done = g.branches.rebase("work")
    assert (done.outcome, len(done.commits), done.onto) == ("rebased", 2, "main")
    assert set(people(g, "work")) == {"ada", "bob", "m1", "w1", "w2"}
    newest, older, onto, *_ = g.commits.list("work")
    assert (newest.id, older.id) == (done.commits[1], done.commits[0])
    assert (newest.message, newest.actor, newest.operation) == ("adds w2", "act-two", "rebase")
    assert (older.message, older.actor, older.parent) == ("adds w1", "act-one", head.commit_id)
    assert [commit.metadata["job"] for commit in (newest, older)] == ["w2", "w1"]
    assert [commit.metadata["load.rows"] for commit in (newest, older)] == ["1", "1"]
    assert onto.id == head.commit_id
    assert newest.version == head.version + 2
    assert g.snapshot().commit_id == head.commit_id
    assert g.branches.list() == ["main", "work"]
    assert g.branches.rebase("work").outcome == "already_up_to_date"
    assert g.branches.merge("work").outcome == "fast_forward"
    assert set(people(g)) == {"ada", "bob", "m1", "w1", "w2"}


def test_the_rebased_branch_is_written_forked_and_deleted_like_any_other(g: og.Graph) -> None:
    old = og.open(g.uri, branch="work")
    old.snapshot()
    g.branches.rebase("work")
    with pytest.raises(og.BranchGone):
        old.load([person("late", 1)], mode="append")
    put(og.open(g.uri), "work", "w3", 1)
    g.branches.create("child", "work")
    assert "w3" in people(g, "child")
    put(g, "main", "m2", 1)
    with pytest.raises(og.BranchInUse):
        g.branches.rebase("work")
    g.branches.delete("child")
    g.branches.delete("work")
    with pytest.raises(og.NotFound):
        og.open(g.uri, branch="work")
    g.branches.create("work")
    assert set(people(g, "work")) == {"ada", "bob", "m1", "m2"}


def test_a_conflict_leaves_the_branch_as_it_was_and_can_be_answered(g: og.Graph) -> None:
    put(g, "work", "ada", 2)
    put(g, "work", "w9", 1)
    put(g, "main", "ada", 3)
    before = g.snapshot("work").commit_id
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.rebase("work")
    (found,) = caught.value.conflicts
    assert (found.entity_id, found.ours["properties"]["age"], found.theirs["properties"]["age"]) == (
        "ada",
        3,
        2,
    )
    assert g.snapshot("work").commit_id == before
    g.branches.rebase("work", resolutions=[{"entity_id": "ada", "take": "theirs"}])
    assert people(g, "work") == {"ada": 2, "bob": 1, "m1": 1, "w1": 1, "w2": 1, "w9": 1}


def test_a_dry_run_tries_every_commit_and_changes_nothing(g: og.Graph) -> None:
    first, second = put(g, "work", "new", 1), put(g, "work", "new", 2)
    put(g, "main", "other", 5)
    before = {branch: g.snapshot(branch).commit_id for branch in g.branches.list()}
    chains = files(Path(g.uri), "__manifest")
    tried = g.branches.rebase("work", dry_run=True)
    assert tried.outcome == "rebased" and tried.conflicts == ()
    assert tried.commits[-2:] == (first, second)
    put(g, "main", "new", 7)
    (found,) = g.branches.rebase("work", dry_run=True).conflicts
    assert (found.kind, found.entity_id) == ("DivergentInsert", "new")
    before["main"] = g.snapshot().commit_id
    assert {branch: g.snapshot(branch).commit_id for branch in g.branches.list()} == before
    assert len(files(Path(g.uri), "__manifest")) == len(chains) + 1  # the commit of main
    assert g.repair().ok
    with pytest.raises(og.ReadOnly, match="so it writes files"):
        og.open(g.uri, read_only=True).branches.rebase("work", dry_run=True)


def test_what_the_other_branch_has_already_is_not_made_again(g: og.Graph) -> None:
    g.commits.cherry_pick(g.commits.list("work")[0].id)
    done = g.branches.rebase("work")
    assert len(done.commits) == 1
    assert people(g, "work") == {"ada": 1, "bob": 1, "m1": 1, "w1": 1, "w2": 1}


def test_a_branch_that_merged_the_other_before_keeps_only_its_own_changes(g: og.Graph) -> None:
    g.branches.merge("main", into="work")
    put(g, "work", "m1", 5)
    put(g, "main", "m2", 1)
    g.commit_work(Compaction(), branch="work")
    done = g.branches.rebase("work")
    assert done.outcome == "rebased"
    assert people(g, "work") == {"ada": 1, "bob": 1, "m1": 5, "m2": 1, "w1": 1, "w2": 1}
    assert all(commit.merged_parent is None for commit in g.commits.list("work", limit=len(done.commits)))


def test_a_fork_of_a_fork_brings_the_commits_that_it_inherited(g: og.Graph) -> None:
    g.branches.create("deep", "work")
    put(g, "deep", "d1", 1)
    done = g.branches.rebase("deep")
    assert len(done.commits) == 3
    assert set(people(g, "deep")) == {"ada", "bob", "m1", "w1", "w2", "d1"}
    assert set(people(g, "work")) == {"ada", "bob", "w1", "w2"}


def test_a_branch_without_commits_of_its_own_becomes_the_other_head(g: og.Graph) -> None:
    g.branches.create("idle", "main")
    put(g, "main", "m2", 1)
    done = g.branches.rebase("idle")
    assert (done.outcome, done.commits, done.commit_id) == ("rebased", (), g.snapshot().commit_id)
    assert people(g, "idle") == people(g)


def test_what_cannot_be_rebased(g: og.Graph) -> None:
    with pytest.raises(og.InvalidName):
        g.branches.rebase("main", onto="work")
    with pytest.raises(og.BadInput, match="itself"):
        g.branches.rebase("work", onto="work")
    with pytest.raises(og.NotFound):
        g.branches.rebase("ghost")
    with pytest.raises(og.ReadOnly):
        og.open(g.uri, read_only=True).branches.rebase("work")


@pytest.mark.parametrize("point", ["branch.rebase.before_close", "publish.before_record"])
def test_a_rebase_that_is_cut_off_before_the_switch_changed_nothing(g: og.Graph, point: str) -> None:
    before = g.snapshot("work").commit_id
    with failpoints.arm_temporarily(point, "raise"), pytest.raises(OSError, match="injected"):
        g.branches.rebase("work")
    fresh = og.open(g.uri)
    assert fresh.snapshot("work").commit_id == before
    assert fresh.branches.list() == ["main", "work"]
    put(fresh, "work", "w3", 1)
    assert og.open(g.uri).branches.rebase("work").outcome == "rebased"
    assert set(people(g, "work")) == {"ada", "bob", "m1", "w1", "w2", "w3"}


def test_a_rebase_that_is_cut_off_after_the_switch_is_whole_and_the_next_one_puts_the_name_right(
    g: og.Graph,
) -> None:
    with (
        failpoints.arm_temporarily("branch.rebase.after_close", "raise"),
        pytest.raises(OSError, match="injected"),
    ):
        g.branches.rebase("work")
    for graph in (g, og.open(g.uri, read_only=True), og.open(g.uri, branch="work")):
        assert set(people(graph, "work")) == {"ada", "bob", "m1", "w1", "w2"}
        assert graph.branches.list() == ["main", "work"]
    with pytest.raises(og.AlreadyExists):
        og.open(g.uri).branches.create("work")
    put(og.open(g.uri), "work", "w3", 1)
    assert "w3" in people(og.open(g.uri), "work")
    og.open(g.uri).branches.delete("work")
    assert og.open(g.uri).branches.list() == ["main"]


def test_a_commit_that_comes_between_is_rebased_too(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    came = []

    def overtake(point: failpoints.Failpoint) -> None:
        if point is failpoints.Failpoint.BRANCH_REBASE_BEFORE_CLOSE and not came:
            came.append(put(og.open(g.uri), "work", "between", 1))

    monkeypatch.setattr("omnigraph.graph.branches.lifecycle.hit", overtake)
    assert len(g.branches.rebase("work").commits) == 3
    assert set(people(g, "work")) == {"ada", "bob", "m1", "w1", "w2", "between"}


@pytest.mark.parametrize("cut_off", [False, True])
def test_cleanup_keeps_what_a_rebased_branch_is_and_takes_what_it_was(
    g: og.Graph, cut_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    if cut_off:
        with (
            failpoints.arm_temporarily("branch.rebase.after_close", "raise"),
            pytest.raises(OSError, match="injected"),
        ):
            g.branches.rebase("work")
    else:
        g.branches.rebase("work")
    expected = people(g, "work")
    og.open(g.uri).cleanup(keep=1)
    fresh = og.open(g.uri)
    assert people(fresh, "work") == expected
    assert fresh.branches.list() == ["main", "work"]
    put(fresh, "work", "w9", 1)
    assert fresh.branches.merge("work").outcome == "fast_forward"
    assert people(fresh) == {**expected, "w9": 1}
