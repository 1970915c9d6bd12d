"""Conflicts say who has made each side what it is, and why; saved answers do not depend on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.merge import causes

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  mail: String? @unique }
edge Knows: Person -> Person @card(0..1)
"""
AGE = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
NICK = "query q($n: String, $k: String) { update Person set { nick: $k } where name = $n }"

REMOVE = "query q($n: String) { delete Person where name = $n }"
ADD = 'query q($n: String) { insert Person { name: $n mail: "x" } }'


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    """Ada and Bob; a branch `work`."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    people = [{"type": "Person", "data": {"name": name, "age": 1, "nick": "-"}} for name in ("ada", "bob")]
    graph.load(people, mode="append")
    graph.branches.create("work")
    return graph


def write(graph: og.Graph, actor: str, query: str, params: dict[str, Any], why: str, **more: Any) -> str:
    """Commit as somebody, with a reason."""
    done = og.open(graph.uri, actor=actor).mutate(query, params, message=why, **more)
    assert done.commit_id is not None
    return done.commit_id


def test_each_side_tells_its_last_commit_of_the_properties_that_clash(g: og.Graph) -> None:
    mine = write(g, "act-ada", AGE, {"n": "ada", "a": 40}, "her birthday", metadata={"task": "t-1"})
    write(g, "act-cy", NICK, {"n": "ada", "k": "A"}, "a nick name")
    yours = write(g, "act-bob", AGE, {"n": "ada", "a": 41}, "found on page 3", branch="work")
    write(g, "act-dee", AGE, {"n": "bob", "a": 9}, "somebody else", branch="work")
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("work", strategy="property")
    (conflict,) = caught.value.conflicts
    assert (conflict.ours_by.commit, conflict.ours_by.actor) == (mine, "act-ada")
    assert (conflict.ours_by.message, conflict.ours_by.metadata) == ("her birthday", {"task": "t-1"})
    assert (conflict.theirs_by.commit, conflict.theirs_by.message) == (yours, "found on page 3")
    assert conflict.theirs_by.at == g.commits.show(yours).created_at
    (tried,) = g.branches.merge("work", strategy="property", dry_run=True).conflicts
    assert tried == conflict


def test_what_came_by_a_merge_is_told_with_the_commit_that_made_it(g: og.Graph) -> None:
    g.branches.create("between")
    made = write(g, "act-ada", AGE, {"n": "ada", "a": 40}, "made there", branch="between")
    g.mutate(NICK, {"n": "bob", "k": "B"})
    g.branches.merge("between")
    write(g, "act-bob", AGE, {"n": "ada", "a": 41}, "here", branch="work")
    (conflict,) = g.branches.merge("work", dry_run=True).conflicts
    assert conflict.ours_by.commit == made


def test_a_deletion_has_somebody_who_made_it(g: og.Graph) -> None:
    gone = write(g, "act-ada", REMOVE, {"n": "ada"}, "a double")
    write(g, "act-bob", AGE, {"n": "ada", "a": 41}, "here", branch="work")
    (conflict,) = g.branches.merge("work", dry_run=True).conflicts
    assert conflict.kind == "DeleteVsUpdate"
    assert (conflict.ours_by.commit, conflict.theirs_by.actor) == (gone, "act-bob")


def test_a_side_that_has_left_an_entity_alone_tells_nobody(g: og.Graph) -> None:
    write(g, "act-ada", ADD, {"n": "cy"}, "first")
    write(g, "act-bob", ADD, {"n": "dee"}, "second", branch="work")
    conflict = g.branches.merge("work", dry_run=True).conflicts[0]
    assert conflict.kind == "UniqueViolation"
    told = {side.actor for side in (conflict.ours_by, conflict.theirs_by) if side is not None}
    assert told == {"act-bob"}


def test_a_schema_has_somebody_who_changed_it(g: og.Graph) -> None:
    og.open(g.uri, actor="act-ada").schema.apply(SCHEMA.replace("nick:", "rank: I64?  nick:"))
    there = og.open(g.uri, branch="work", actor="act-bob")
    there.schema.apply(SCHEMA.replace("nick:", "rank: String?  nick:"))
    conflict = g.branches.merge("work", dry_run=True).conflicts[0]
    assert conflict.entity_kind == "schema"
    assert (conflict.ours_by.actor, conflict.theirs_by.actor) == ("act-ada", "act-bob")


def test_an_answer_is_not_stale_because_somebody_else_has_written_the_same(g: og.Graph) -> None:
    write(g, "act-ada", AGE, {"n": "ada", "a": 40}, "one")
    write(g, "act-bob", AGE, {"n": "ada", "a": 41}, "two", branch="work")
    proposal = g.proposals.create("work", title="older")
    (conflict,) = g.proposals.mergeable(proposal.id).conflicts
    assert conflict.theirs_by.actor == "act-bob"
    g.proposals.resolve(proposal.id, [{**conflict.to_json(), "take": "theirs"}])
    assert not {"ours_by", "theirs_by"} & set(g.proposals.show(proposal.id).resolutions[0])
    write(g, "act-cy", AGE, {"n": "ada", "a": 7}, "away", branch="work")
    write(g, "act-dee", AGE, {"n": "ada", "a": 41}, "and back", branch="work")
    assert g.proposals.mergeable(proposal.id).mergeable


def test_it_is_looked_for_no_further_back_than_is_cheap(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    write(g, "act-ada", AGE, {"n": "ada", "a": 40}, "one")
    for age in range(3):
        g.branches.create("x")
        g.mutate(AGE, {"n": "bob", "a": age + 7}, branch="x")
        g.mutate(NICK, {"n": "bob", "k": str(age)})
        g.branches.merge("x", strategy="property", delete_branch=True)
    write(g, "act-bob", AGE, {"n": "ada", "a": 41}, "two", branch="work")
    (found,) = g.branches.merge("work", dry_run=True).conflicts
    monkeypatch.setattr(causes, "_MOST_VERSIONS", 2)
    (conflict,) = g.branches.merge("work", dry_run=True).conflicts
    assert (found.ours_by.actor, conflict.ours_by) == ("act-ada", None)
