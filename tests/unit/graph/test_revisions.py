"""What stands for a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

PEOPLE = "node Person { name: String @key }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", PEOPLE)
    graph.branches.create("side")
    for name, branch in (("a", "main"), ("b", "main"), ("c", "side")):
        graph.mutate(f'query q() {{ insert Person {{ name: "{name}" }} }}', branch=branch)
    graph.tags.create("v1", graph.commits.list()[1].id)
    return graph


def test_ids_names_and_steps_stand_for_commits(graph: og.Graph) -> None:
    b, a, first = (commit.id for commit in graph.commits.list("main"))
    c = graph.snapshot("side").commit_id
    for revision, commit in (
        (b, b), (b.lower(), b), ("HEAD", b), ("HEAD~0", b), ("HEAD~1", a), ("HEAD^", a), ("main~2", first),
        ("HEAD^^", first), ("v1", a), ("tag:v1~1", first), ("side", c), ("branch:side^", first),
        (f" {a} ", a), (f"{b}~1", a), (c[:-4], c),
    ):  # fmt: skip
        assert graph.commits.show(revision).id == commit, revision
        assert graph.snapshot(commit=revision).commit_id == commit
    assert og.open(graph.uri, branch="side").find("HEAD").commit == c
    assert graph.query(
        "query q() { match { $p: Person } return { count($p) as n } }", snapshot="HEAD~1"
    ).rows == [{"n": 1}]
    assert len(list(graph.diff("HEAD~1", "HEAD"))) == 1


def test_what_stands_for_no_commit_or_for_several_says_so(graph: og.Graph) -> None:
    for revision in (
        "nope",
        "",
        "HEAD~3",
        "~1",
        "HEAD~x",
        "side:x",
        "0",
        "01",
        "ZZZZZZZZ",
        "v2",
        "__backup/x",
    ):
        with pytest.raises(og.NotFound):
            graph.commits.show(revision)
    with pytest.raises(og.BadInput, match="begin with"):
        graph.commits.show(graph.snapshot().commit_id[:6])
    graph.tags.create("side", "main")
    with pytest.raises(og.BadInput, match="branch:side"):
        graph.commits.show("side")
    assert graph.commits.show("tag:side").id == graph.snapshot().commit_id


@pytest.mark.parametrize("name", ["shortened", "tag", "HEAD"])
def test_a_condition_names_its_commit_in_any_way(graph: og.Graph, name: str) -> None:
    head = graph.commits.list("main")[0].id
    graph.tags.create("seen", head)
    named = {"shortened": head[:-4], "tag": "seen", "HEAD": "HEAD"}[name]
    insert = 'query q() {{ insert Person {{ name: "{}" }} }}'.format
    assert graph.mutate(insert("d"), if_commit=named).commit_id is not None
    if name != "HEAD":
        with pytest.raises(og.PreconditionFailed, match=f"not at {head}"):
            graph.mutate(insert("e"), if_commit=named)
    of_side = graph.snapshot("side").commit_id
    graph.tags.create("of-side", of_side)
    with pytest.raises(og.PreconditionFailed):
        graph.branches.rename("side", "other", if_commit="HEAD")
    graph.branches.rename("side", "other", if_commit="side")
    graph.branches.rebase("other", if_commit=of_side[:-4])
    with pytest.raises(og.PreconditionFailed):
        graph.branches.delete("other", if_commit="of-side")
    graph.branches.delete("other", if_commit="other")
    graph.tags.delete("of-side", if_commit="tag:of-side")
    for unknown in ("", "nope"):
        with pytest.raises(og.NotFound, match="does not name a commit"):
            graph.mutate(insert("f"), if_commit=unknown)


def test_a_condition_that_fails_names_the_branch_that_was_asked_for(graph: og.Graph) -> None:
    first = graph.commits.list()[-1].id
    graph.mutate('query q() { insert Person { name: "newer" } }')
    graph.branches.create("fork")  # its head is a commit of main
    write = 'query q() { insert Person { name: "other" } }'
    for call in (
        lambda: graph.branches.delete("fork", if_commit=first),
        lambda: graph.branches.rename("fork", "spoon", if_commit=first),
        lambda: graph.branches.rebase("fork", "main", if_commit=first),
        lambda: graph.mutate(write, branch="fork", if_commit=first),
    ):
        with pytest.raises(og.PreconditionFailed, match="branch 'fork' is at commit") as raised:
            call()
        assert raised.value.branch == "fork"
