"""Whose change a commit brings over: a cherry-pick says who made it, a rebase who has put it elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.command_line import run

SCHEMA = "node Person { name: String @key  age: I32?  nick: String? }"


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="ada")
    graph.load([{"type": "Person", "data": {"name": "a", "age": 1}}], mode="append")
    for name in ("work", "more"):
        graph.branches.create(name)
    return graph


def as_(graph: og.Graph, actor: str) -> og.Graph:
    return og.open(graph.uri, actor=actor)


def put(graph: og.Graph, actor: str, branch: str, name: str, age: int, **more: Any) -> str:
    records = [{"type": "Person", "data": {"name": name, "age": age}}]
    return str(as_(graph, actor).load(records, mode="patch", branch=branch, **more).commit_id)


def test_a_cherry_pick_says_who_picked_it_and_whose_it_was(g: og.Graph) -> None:
    made = put(g, "bot", "work", "a", 2, message="a year more")
    once = as_(g, "cyd").commits.cherry_pick(made, onto="more").commit_id
    again = as_(g, "ada").commits.cherry_pick(str(once)).commit_id
    told = g.commits.show(str(again))
    assert (told.actor, told.author, told.metadata["cherry_pick.commit"]) == ("ada", "bot", once)
    assert g.commits.show(made).author == "bot" and "by 'ada' for 'bot'" in repr(told)
    assert g.entity("Person", "a").blame()["age"].author == "bot"
    assert [item.commit.author for item in g.entity("Person", "a").history()] == ["bot", "ada"]
    assert "ada, for bot" in run("entity", "blame", "Person", "a", "--store", g.uri).output
    assert "ada, for bot" in run("log", g.uri).output


def test_nobody_passes_a_commit_off_as_that_of_somebody_else(g: og.Graph) -> None:
    noted = {"cherry_pick.commit": "x", "cherry_pick.actor": "bob", "rebase.actors": '["bob"]'}
    made = put(g, "bot", "work", "b", 2, metadata=noted)
    assert g.commits.show(made).author == "bot"
    put(g, "ada", "main", "c", 3)
    (rebased,) = as_(g, "bot").branches.rebase("work").commits
    assert g.commits.show(rebased).metadata == {} or not {*noted} & {*g.commits.show(rebased).metadata}
    assert g.commits.show(rebased).author == "bot"
    picked = g.commits.cherry_pick(rebased, metadata={"cherry_pick.actor": "bob", "task": "t"}).commit_id
    told = g.commits.show(str(picked))
    assert (told.author, told.metadata["task"]) == ("bot", "t")


def test_a_rebase_keeps_who_made_a_commit_and_says_who_has_rebased_it(g: og.Graph) -> None:
    put(g, "bot", "work", "b", 2)
    for number, actor in enumerate(("bot", "cyd", "ada")):
        put(g, "eve", "main", "c", number)
        (rebased,) = as_(g, actor).branches.rebase("work").commits
    told = g.commits.show(rebased)
    assert (told.actor, told.author) == ("bot", "bot")
    assert told.metadata["rebase.actors"] == '["ada", "cyd"]'
    put(g, "eve", "more", "d", 1)
    g.commits.cherry_pick(g.snapshot("more").commit_id, onto="work")
    put(g, "eve", "main", "c", 9)
    newest = g.commits.show(as_(g, "fay").branches.rebase("work").commits[-1])
    assert (newest.actor, newest.author) == ("ada", "eve"), "a pick that is rebased is still a pick"


def test_what_others_have_picked_of_an_actor_is_taken_back_with_the_rest(g: og.Graph) -> None:
    made = put(g, "bot", "work", "a", 2)
    other = put(g, "eve", "work", "e", 5)
    for commit in (made, other):
        g.commits.cherry_pick(commit)
    g.commits.revert(actor="bot")
    assert {row["data"]["name"]: row["data"]["age"] for row in g.export()} == {"a": 1, "e": 5}


@pytest.mark.parametrize("way", ["picked", "rebased"])
def test_who_had_a_part_in_a_commit_does_not_approve_it(g: og.Graph, way: str) -> None:
    g.branches.protect("main")
    made = put(g, "bot" if way == "picked" else "eve", "work", "b", 2)
    if way == "picked":
        as_(g, "eve").commits.cherry_pick(made, onto="more")
    else:
        put(g, "eve", "more", "c", 3)
        as_(g, "bot").branches.rebase("work", onto="more")
    proposal = as_(g, "eve").proposals.create("more" if way == "picked" else "work", title="more")
    with pytest.raises(og.PolicyDenied):
        as_(g, "bot").proposals.approve(proposal.id)
    assert as_(g, "cyd").proposals.approve(proposal.id).approvals[0].is_current
