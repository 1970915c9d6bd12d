"""Renaming, describing and resetting branches."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint, InjectedFault
from support.care import at_once
from support.interleaving import at

PEOPLE = "node Person { name: String @key }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } order { name } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", PEOPLE, actor="ada")


def _put(graph: og.Graph, name: str, branch: str | None = None, key: str | None = None) -> str:
    gq = f'query q() {{ insert Person {{ name: "{name}" }} }}'
    commit = graph.mutate(gq, branch=branch, idempotency_key=key).commit_id
    assert commit is not None
    return commit


def _names(graph: og.Graph, branch: str = "main") -> list[str]:
    return [row["name"] for row in graph.query(NAMES, branch=branch)]


def test_a_renamed_branch_has_its_commits_and_keys_and_the_old_name_is_free(graph: og.Graph) -> None:
    graph.branches.create("old")
    first = _put(graph, "a", "old", key="once")
    graph.branches.rename("old", "new")
    assert graph.branches.list() == ["main", "new"]
    assert _names(graph, "new") == ["a"]
    assert _put(graph, "a", "new", key="once") == first
    assert graph.commits.show(first).branch == "old"
    assert graph.branches.merge("new").outcome == "fast_forward"
    graph.branches.create("old")
    assert _names(graph, "old") == ["a"]


def test_a_renamed_branch_does_not_go_on_from_another_that_was_made_under_its_old_name(
    graph: og.Graph,
) -> None:
    graph.branches.create("old")
    _put(graph, "a", "old")

    def make_another() -> None:
        graph.branches.create("old")
        _put(graph, "b", "old", key="once")

    at(Failpoint.BRANCH_RENAME_AFTER_DELETE, make_another)
    graph.branches.rename("old", "new")
    assert _names(graph, "new") == ["a"]
    assert _names(graph, "old") == ["b"]
    _put(graph, "b", "new", key="once")  # the key of the other branch says nothing here
    assert _names(graph, "new") == ["a", "b"]


def test_a_rename_that_was_cut_off_does_not_bring_back_what_was_deleted_since(graph: og.Graph) -> None:
    graph.branches.create("old")
    with (
        failpoints.arm_temporarily(Failpoint.BRANCH_RENAME_AFTER_HOLD, "raise"),
        pytest.raises(InjectedFault),
    ):
        graph.branches.rename("old", "new")
    _put(graph, "a", "old")
    graph.branches.delete("old")
    with pytest.raises(og.NotFound, match="there is no branch 'old'"):
        graph.branches.rename("old", "new")
    assert graph.branches.list() == ["main"]
    graph.branches.restore("old")
    assert _names(graph, "old") == ["a"]


def test_names_that_cannot_be_given_are_refused_and_change_nothing(graph: og.Graph) -> None:
    graph.branches.create("old")
    graph.branches.create("taken")
    _put(graph, "a", "old")
    for old, new, error in (
        ("main", "x", og.InvalidName),
        ("old", "main", og.InvalidName),
        ("old", "taken", og.AlreadyExists),
        ("old", "old", og.AlreadyExists),
        ("none", "x", og.NotFound),
    ):
        with pytest.raises(error):
            graph.branches.rename(old, new)
    graph.branches.create("child", "old")
    with pytest.raises(og.BranchInUse):
        graph.branches.rename("old", "x")
    assert graph.branches.list() == ["main", "child", "old", "taken"]
    assert graph.tags.list() == []


@pytest.mark.parametrize(
    "point", ["branch.rename.after_hold", "branch.rename.after_delete", "branch.create.before_ref"]
)
def test_a_rename_that_was_cut_off_loses_nothing_and_is_finished_by_the_same_call(
    graph: og.Graph, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    graph.branches.create("old")
    _put(graph, "a", "old")
    with failpoints.arm_temporarily(point, "raise"), pytest.raises(InjectedFault):
        graph.branches.rename("old", "new")
    _put(graph, "m")
    og.open(graph.uri).cleanup(keep=1)
    again = og.open(graph.uri)
    again.branches.rename("old", "new")
    assert again.branches.list() == ["main", "new"]
    assert _names(again, "new") == ["a"]
    assert [tag.name for tag in again.internals.core.truth.tags.list()] == []


def test_a_write_that_lands_while_a_branch_is_renamed_is_part_of_it(graph: og.Graph) -> None:
    from support.interleaving import at

    graph.branches.create("old")
    _put(graph, "a", "old")
    at(failpoints.Failpoint.BRANCH_RENAME_AFTER_HOLD, lambda: _put(og.open(graph.uri), "b", "old"))
    graph.branches.rename("old", "new")
    assert _names(graph, "new") == ["a", "b"]


def test_info_counts_what_is_apart(graph: og.Graph) -> None:
    fork = graph.snapshot().commit_id
    graph.branches.create("work")
    _put(graph, "a", "work")
    _put(og.open(graph.uri, branch="work", actor="bob"), "b")
    _put(graph, "c")
    info = graph.branches.info("work")
    assert (info.name, info.ahead, info.behind, info.last_writer) == ("work", 2, 1, "bob")
    assert (info.fork, info.created_by, info.compared_with) == (fork, "ada", "main")
    assert (graph.branches.info().ahead, graph.branches.info(compared_with="work").ahead) == (0, 1)


@pytest.mark.parametrize("branch", ["main", "side"])
def test_reset_is_a_new_commit_with_the_content_of_an_old_one(graph: og.Graph, branch: str) -> None:
    graph.branches.create("side")
    first = _put(graph, "a", branch)
    _put(graph, "b", branch)
    graph.schema.apply("node Person { name: String @key  age: I32? }") if branch == "main" else None
    head = graph.snapshot(branch).version
    done = graph.branches.reset(branch, first[:12] if branch == "main" else "HEAD~1", message="undo")
    assert _names(graph, branch) == ["a"]
    shown = graph.commits.show(str(done.commit_id))
    assert (shown.operation, shown.message, shown.version) == ("reset", "undo", head + 1)
    assert graph.branches.reset(branch, first).commit_id is None
    assert "age" not in og.open(graph.uri, branch=branch).schema.source


@pytest.mark.parametrize("point", ["branch.rename.after_hold", "branch.rename.after_delete"])
def test_a_cleanup_beside_a_rename_leaves_the_branch_its_history(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    at_once(monkeypatch)
    graph.branches.create("old")
    for name in "abc":
        _put(graph, name, "old")
    before = [commit.id for commit in graph.commits.list("old") if not commit.maintenance]
    at(Failpoint(point), lambda: og.open(graph.uri).cleanup())
    graph.branches.rename("old", "new")
    after = [commit.id for commit in graph.commits.list("new") if not commit.maintenance]
    assert after == before
    for commit in after:
        assert graph.snapshot(commit=commit).table("node:Person").count() >= 0
    assert og.open(graph.uri).repair(scrub=True).ok
