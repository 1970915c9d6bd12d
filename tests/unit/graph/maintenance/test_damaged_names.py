"""Names of branches and tags that are lost or damaged: told, hiding nothing else, and with a way out."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import InjectedFault
from omnigraph.graph.manifest import layout
from support.care import PEOPLE, at_once, fill
from support.graphs import contents


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    graph.branches.create("dev")
    fill(graph, 2, 10, "dev")
    graph.branches.create("other")
    graph.tags.create("v1", commit=graph.snapshot(version=2).commit_id)
    graph.tags.create("v2")
    return graph


def _cut(graph: og.Graph, path: str) -> None:
    os.truncate(Path(graph.uri, path), 30)


def _lose(graph: og.Graph, path: str) -> None:
    Path(graph.uri, path).unlink()


def _damage(graph: og.Graph, *, confirm: bool = False, scrub: bool = False) -> dict[str, tuple[str, bool]]:
    """Return the damage that repair names: by where it is, its code and whether it was put right."""
    found = og.open(graph.uri, rescue=True).repair(confirm, scrub=scrub)
    return {item.where: (item.code, item.mended) for item in found.findings if item.severity == "damage"}


def test_a_damaged_tag_hides_no_other_and_can_be_deleted(
    graph: og.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    path = layout.tag_path("v1")
    _cut(graph, path)
    again = og.open(graph.uri)
    with caplog.at_level(logging.WARNING, "omnigraph"):
        assert [tag.name for tag in again.tags.list()] == ["v2"]
    assert path in caplog.text
    with pytest.raises(og.CorruptState, match=r"tags/v1\.json.*omnigraph tag delete v1"):
        again.tags.create("v1")
    with pytest.raises(og.CorruptState, match=r"tags/v1\.json.*omnigraph tag delete v1"):
        again.cleanup()
    (told,) = (item for item in again.repair(confirm=True).findings if item.severity == "damage")
    assert (told.code, told.where, told.mended) == ("tag_unreadable", path, False)
    assert "omnigraph tag delete v1" in told.advice
    again.tags.delete("v1")
    assert Path(graph.uri, "__quarantine/tags/v1.json").exists()
    assert _damage(graph) == {}
    again.tags.create("v1")
    again.cleanup()


@pytest.mark.parametrize("damage", [_cut, _lose])
@pytest.mark.parametrize("commits", [1, 2, 5])
def test_a_branch_whose_name_is_lost_or_damaged_is_brought_back(
    graph: og.Graph,
    damage: Callable[[og.Graph, str], None],
    commits: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    at_once(monkeypatch)
    graph.branches.create("qq", version=2)
    for number in range(commits):
        fill(graph, 1, 50 + number, "qq")
    head, said = graph.snapshot("qq"), contents(graph.snapshot("qq"))
    path = layout.ref_path("qq")
    damage(graph, path)
    again = og.open(graph.uri)
    with caplog.at_level(logging.WARNING, "omnigraph"):
        assert again.branches.list() == ["main", "dev", "other"]
    assert (path in caplog.text) == (damage is _cut)
    with pytest.raises(og.CorruptState, match=r"branches/qq\.json.*omnigraph repair --confirm"):
        again.cleanup(keep=1)
    assert [code for code, _ in _damage(graph).values()] == [
        "ref_unreadable" if damage is _cut else "branch_lost"
    ]
    assert again.snapshot(commit=head.commit_id).version == head.version
    assert all(mended for _, mended in _damage(graph, confirm=True, scrub=True).values())
    assert _damage(graph, scrub=True) == {}
    once_more = og.open(graph.uri)
    assert once_more.branches.list() == ["main", "dev", "other", "qq"]
    assert once_more.snapshot("qq").commit_id == head.commit_id
    assert contents(once_more.snapshot("qq")) == said
    once_more.cleanup(keep=1)
    assert contents(once_more.snapshot("qq")) == said
    fill(once_more, 1, 90, "qq")
    once_more.branches.merge("qq")


@pytest.mark.parametrize("damage", [_cut, _lose])
@pytest.mark.parametrize("how", ["renamed", "restored"])
def test_a_name_without_commits_of_its_own_that_is_lost_keeps_cleanup_from_what_it_stands_for(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, damage: Callable[[og.Graph, str], None], how: str
) -> None:
    """All that such a branch has lies in the chain of another, which has ended."""
    at_once(monkeypatch)
    head, said = graph.snapshot("dev").commit_id, contents(graph.snapshot("dev"))
    if how == "renamed":
        graph.branches.rename("dev", "late")
    else:
        graph.branches.delete("dev")
        graph.branches.restore("dev")
    name = "late" if how == "renamed" else "dev"
    damage(graph, layout.ref_path(name))
    again = og.open(graph.uri)
    with pytest.raises(og.CorruptState, match=rf"branches/{name}\.json.*omnigraph repair"):
        again.cleanup(keep=1)
    (told,) = (item for item in again.repair(confirm=True).findings if item.severity == "damage")
    assert told.mended
    assert f"omnigraph branch create {name} --commit {head}" in told.advice
    again.branches.create(name, commit=head)
    again.cleanup(keep=1)
    assert contents(again.snapshot(name)) == said
    assert _damage(graph, scrub=True) == {}


@pytest.mark.parametrize("tombstone", [True, False])
def test_a_damaged_name_without_commits_is_put_aside(
    graph: og.Graph, tombstone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    name = "dev" if tombstone else "other"
    if tombstone:
        graph.branches.delete("dev")
    path = layout.ref_path(name)
    _cut(graph, path)
    again = og.open(graph.uri)
    assert again.branches.list() == (["main", "other"] if tombstone else ["main", "dev"])
    with pytest.raises(og.CorruptState, match=rf"branches/{name}\.json"):
        again.cleanup()
    assert _damage(graph) == {path: ("ref_unreadable", False)}
    assert _damage(graph, confirm=True) == {path: ("ref_unreadable", True)}
    assert Path(graph.uri, f"__quarantine/branches/{name}.json").exists()
    again.cleanup()
    again.branches.create(name)
    assert _damage(graph) == {}


def test_what_a_maker_of_a_branch_left_behind_is_no_damage(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch that appears with its first commit puts its name first: who dies between leaves both."""
    at_once(monkeypatch)
    with failpoints.arm_temporarily("branch.create.before_check", "raise"), pytest.raises(InjectedFault):
        graph.load(
            [{"type": "Person", "data": {"name": "x"}}], mode="append", branch="new", from_branch="main"
        )
    assert _damage(graph) == {}
    og.open(graph.uri).cleanup()
    assert [item.code for item in graph.repair().findings] == []


@pytest.mark.parametrize("rebased", [False, True])
def test_what_a_rebase_left_behind_is_not_taken_for_the_branch(
    graph: og.Graph, rebased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    fill(graph, 1, 30)
    with failpoints.arm_temporarily("branch.rebase.before_close", "raise"), pytest.raises(InjectedFault):
        graph.branches.rebase("dev")
    if rebased:
        og.open(graph.uri).branches.rebase("dev")
    head = og.open(graph.uri).snapshot("dev").commit_id
    _lose(graph, layout.ref_path("dev"))
    assert [code for code, _ in _damage(graph).values()] == ["branch_lost"]
    assert all(mended for _, mended in _damage(graph, confirm=True).values())
    again = og.open(graph.uri)
    assert again.snapshot("dev").commit_id == head
    again.cleanup(keep=1)
    assert [item.code for item in again.repair(scrub=True).findings] == []


def test_a_damaged_floor_is_among_the_findings(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    graph.branches.delete("dev")
    graph.branches.create("late")
    fill(graph, 1, 70, "late")
    graph.branches.merge("late")
    graph.cleanup(keep=1)
    head, said = graph.snapshot().commit_id, contents(graph.snapshot())
    path = layout.floor_path(graph.internals.core.truth.stamp.main)
    data = bytearray(Path(graph.uri, path).read_bytes())
    data[len(data) // 2] ^= 1
    Path(graph.uri, path).write_bytes(data)
    assert _damage(graph) == {path: ("floor_unreadable", False)}
    assert _damage(graph, confirm=True, scrub=True) == {path: ("floor_unreadable", False)}
    again = og.open(graph.uri, rescue=True)
    with pytest.raises(og.CorruptState, match="floors"):
        again.snapshot()
    assert contents(again.snapshot(commit=head)) == said


def test_a_branch_is_not_made_again_over_the_commits_of_one_that_has_lost_its_ref(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    said = contents(graph.snapshot("dev"))
    _lose(graph, layout.ref_path("dev"))
    again = og.open(graph.uri)
    with pytest.raises(og.CorruptState, match=r"branches/dev\.json.*omnigraph repair --confirm") as refused:
        again.branches.create("dev")
    assert refused.value.details["branch"] == "dev"
    assert not Path(graph.uri, layout.ref_path("dev")).exists()
    assert [code for code, _ in _damage(graph, confirm=True).values()] == ["branch_lost"]
    assert _damage(graph) == {}
    assert contents(og.open(graph.uri).snapshot("dev")) == said
    og.open(graph.uri).cleanup()
    assert contents(og.open(graph.uri).snapshot("dev")) == said


def test_the_lost_name_of_a_branch_without_commits_is_told_and_freed(graph: og.Graph) -> None:
    _lose(graph, layout.ref_path("other"))
    again = og.open(graph.uri)
    with pytest.raises(og.CorruptState, match=r"branches/other\.json.*omnigraph repair --confirm"):
        again.branches.create("other")
    assert _damage(graph) == {layout.name_path("other"): ("ref_lost", False)}
    assert _damage(graph, confirm=True) == {layout.name_path("other"): ("ref_lost", True)}
    assert _damage(graph) == {}
    again.branches.create("other")
    assert og.open(graph.uri).branches.list() == ["main", "dev", "other"]


def test_the_lost_name_of_a_deleted_branch_is_freed(graph: og.Graph) -> None:
    graph.branches.delete("dev")
    _lose(graph, layout.ref_path("dev"))
    assert _damage(graph, confirm=True) == {layout.name_path("dev"): ("ref_lost", True)}
    again = og.open(graph.uri)
    assert again.branches.list() == ["main", "other"]
    again.branches.create("dev")


def test_a_restored_graph_knows_the_names_that_were_used(graph: og.Graph, tmp_path: Path) -> None:
    graph.backup(tmp_path / "backup")
    restored = og.restore(tmp_path / "backup", tmp_path / "restored")
    _lose(restored, layout.ref_path("dev"))
    with pytest.raises(og.CorruptState, match=r"branches/dev\.json"):
        og.open(restored.uri).branches.create("dev")
