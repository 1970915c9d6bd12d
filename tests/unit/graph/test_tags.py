"""Tags: names for commits, on every kind of target."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, BadInput, InvalidName, NotFound, ReadOnly
from omnigraph.graph.manifest.tags import StoredTag
from support.care import PEOPLE, fill
from support.graphs import contents, fingerprint
from support.processes import run_in_threads

NAMES = "query q() { match { $p: Person } return { $p.name } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE, actor="act-ada")
    fill(graph, 3)
    return graph


def test_a_tag_names_the_head_of_the_handle_of_a_branch_or_any_commit(graph: og.Graph) -> None:
    graph.branches.create("dev")
    fill(graph, 1, 10, "dev")
    old = graph.snapshot(version=2).commit_id
    head = graph.tags.create("head")
    assert (head.commit, head.branch, head.version) == (graph.snapshot().commit_id, "main", 4)
    assert head.actor == "act-ada"
    assert graph.tags.create("dev/head", branch="dev").commit == graph.snapshot("dev").commit_id
    assert graph.tags.create(" old ", commit=old).name == "old"
    assert [tag.name for tag in graph.tags.list()] == ["dev/head", "head", "old"]
    assert contents(graph.snapshot(tag="old")) == contents(graph.snapshot(commit=old))


def test_a_query_takes_a_tag_where_it_takes_a_commit(graph: og.Graph) -> None:
    graph.tags.create("v1")
    fill(graph, 2, 10)
    assert len(graph.query(NAMES, snapshot="v1")) == 3
    assert len(graph.query(NAMES)) == 5
    with pytest.raises(NotFound, match="does not name a commit"):
        graph.query(NAMES, snapshot="v2")
    with pytest.raises(NotFound, match="does not name a commit"):
        graph.query(NAMES, snapshot="not a name!")


def test_a_tag_is_never_moved(graph: og.Graph) -> None:
    first = graph.tags.create("v1")
    fill(graph, 1, 10)
    with pytest.raises(AlreadyExists):
        graph.tags.create("v1")
    assert graph.tags.list() == [first]
    graph.tags.delete("v1")
    assert graph.tags.create("v1").version == 5


def test_a_delete_that_was_delayed_leaves_a_tag_alone_that_was_made_again(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = clock.current().now_us()
    monkeypatch.setattr(clock.Clock, "now_us", lambda self: moment)  # the clock tells nothing apart
    graph.tags.create("v1")
    late = og.open(graph.uri)
    tags = late.internals.core.truth.tags
    look = tags._is_void
    again: list[og.Tag] = []

    def look_and_sleep(tag: StoredTag) -> bool:
        is_void = look(tag)
        if not again:
            graph.tags.delete("v1")
            again.append(graph.tags.create("v1"))  # of the same commit
        return is_void

    monkeypatch.setattr(tags, "_is_void", look_and_sleep)
    late.tags.delete("v1")
    assert graph.tags.list() == again


def test_a_deleted_tag_is_gone_for_everybody_and_its_name_is_free(graph: og.Graph) -> None:
    graph.tags.create("v1")
    graph.tags.delete("v1")
    fresh = og.open(graph.uri)
    assert fresh.tags.list() == []
    assert fresh.repair().findings == ()
    for ask in (lambda: fresh.tags.delete("v1"), lambda: fresh.snapshot(tag="v1")):
        with pytest.raises(NotFound):
            ask()
    assert fresh.tags.create("v1", commit=graph.snapshot(version=2).commit_id).version == 2


def test_of_many_who_make_a_tag_one_wins(graph: og.Graph) -> None:
    def make(number: int) -> str:
        try:
            return og.open(graph.uri, actor=f"a{number}").tags.create("v1").actor or ""
        except AlreadyExists:
            return ""

    winners = [actor for actor in run_in_threads(make, [(number,) for number in range(6)]) if actor]
    assert winners == [graph.tags.list()[0].actor]


@pytest.mark.parametrize("name", ["", "a//b", "../x", "a b", "x.lock", "01ARZ3NDEKTSV4RRFFQ69G5FAV", None])
def test_a_wrong_name_is_refused_before_storage_is_touched(graph: og.Graph, name: str) -> None:
    before = fingerprint(Path(graph.uri))
    with pytest.raises(InvalidName, match="tag name"):
        graph.tags.create(name)
    with pytest.raises(InvalidName):
        graph.snapshot(tag=name or "")
    assert fingerprint(Path(graph.uri)) == before


def test_what_does_not_exist_is_not_found(graph: og.Graph) -> None:
    for ask in (
        lambda: graph.tags.delete("none"),
        lambda: graph.snapshot(tag="none"),
        lambda: graph.tags.create("x", commit="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        lambda: graph.tags.create("x", branch="none"),
    ):
        with pytest.raises(NotFound):
            ask()
    assert graph.tags.list() == []


def test_more_than_one_target_is_refused(graph: og.Graph) -> None:
    graph.tags.create("v1")
    with pytest.raises(BadInput):
        graph.tags.create("v2", commit=graph.snapshot().commit_id, branch="main")
    with pytest.raises(BadInput):
        graph.snapshot(tag="v1", version=1)


def test_a_handle_for_reading_lists_and_makes_none(graph: og.Graph) -> None:
    graph.tags.create("v1")
    reader = og.open(graph.uri, read_only=True)
    assert [tag.name for tag in reader.tags.list()] == ["v1"]
    with pytest.raises(ReadOnly):
        reader.tags.create("v2")
    with pytest.raises(ReadOnly):
        reader.tags.delete("v1")
