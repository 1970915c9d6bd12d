"""Taking back what one actor has done: what others have changed since stays, or is a conflict to answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import telemetry

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  hits: I64? @merge(sum) }
edge Knows: Person -> Person { note: String?  @key(src, dst) }
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="ada")
    graph.load([person(name, age=1, nick="n") for name in ("a", "b", "c")], mode="append")
    graph.tags.create("start")
    return graph


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def act(graph: og.Graph, actor: str, *records: dict[str, Any], branch: str = "main", **more: Any) -> str:
    done = og.open(graph.uri, actor=actor).load(list(records), mode="patch", branch=branch, **more)
    return str(done.commit_id)


def drop(graph: og.Graph, actor: str, name: str) -> None:
    text = "query q($n: String) { delete Person where name = $n }"
    og.open(graph.uri, actor=actor).mutate(text, {"n": name})


def people(graph: og.Graph, at: str | None = None) -> dict[str, tuple[Any, ...]]:
    rows = graph.export(types=["Person"], snapshot=at)
    return {r["data"]["name"]: (r["data"]["age"], r["data"]["nick"], r["data"]["hits"]) for r in rows}


def test_what_an_actor_did_is_gone_and_what_others_did_stays(g: og.Graph) -> None:
    act(g, "bot", person("a", age=2), person("new", age=9))
    act(g, "ada", person("a", nick="ada's"), person("d"))
    act(g, "bot", person("a", age=3), person("b", age=5))
    drop(g, "bot", "c")
    done = g.commits.revert(actor="bot", since="start", message="the bot was wrong")
    assert people(g) == {
        "a": (1, "ada's", None),
        "b": (1, "n", None),
        "c": (1, "n", None),
        "d": (None, None, None),
    }
    told = g.commits.show(str(done.commit_id))
    assert (told.operation, told.message) == ("revert", "the bot was wrong")
    assert (told.metadata["revert.actor"], told.metadata["revert.commits"]) == ("bot", "3")
    assert g.commits.revert(actor="bot", since=done.commit_id).commit_id is None


def test_what_others_changed_after_is_a_conflict_that_is_answered(g: og.Graph) -> None:
    act(g, "bot", person("a", age=2, nick="bot's"), person("new"))
    act(g, "ada", person("a", age=7))
    act(g, "ada", person("new", age=1))
    with pytest.raises(og.MergeConflicts) as caught:
        g.commits.revert(actor="bot", since="start")
    told = caught.value.conflicts
    assert [(c.kind, c.entity_id, c.properties) for c in told] == [
        ("DivergentUpdate", "a", ("age",)),
        ("DeleteVsUpdate", "new", ()),
    ]
    assert [told[0].ours["properties"]["age"], told[0].theirs["properties"]["age"]] == [7, 1]
    tried = g.commits.revert(actor="bot", since="start", dry_run=True)
    assert len(tried.conflicts) == 2
    g.commits.revert(actor="bot", since="start", resolutions=[{"take": "ours"}])
    assert people(g)["a"] == (7, "n", None), "the property that only the bot changed is back"
    assert "new" in people(g)


def test_sums_lose_what_the_actor_added(g: og.Graph) -> None:
    act(g, "ada", person("a", hits=10))
    act(g, "bot", person("a", hits=15))
    act(g, "ada", person("a", hits=16))
    g.commits.revert(actor="bot")
    assert people(g)["a"][2] == 11


def test_commits_that_came_by_a_merge_are_taken_back_and_those_beside_them_stay(g: og.Graph) -> None:
    g.branches.create("work")
    act(g, "bot", person("a", age=5), branch="work")
    act(g, "ada", person("b", age=6), branch="work")
    act(g, "ada", person("c", age=7))
    g.branches.merge("work")
    g.commits.revert(actor="bot", since="start")
    assert {name: row[0] for name, row in people(g).items()} == {"a": 1, "b": 6, "c": 7}


def test_a_merge_by_the_actor_takes_nothing_back_that_others_did(g: og.Graph) -> None:
    g.branches.create("work")
    act(g, "ada", person("a", age=5), branch="work")
    act(g, "ada", person("b", age=6))
    og.open(g.uri, actor="bot").branches.merge("work")
    assert g.commits.revert(actor="bot", since="start").commit_id is None
    assert people(g)["a"][0] == 5


def test_commits_are_chosen_by_their_metadata(g: og.Graph) -> None:
    act(g, "bot", person("a", age=5), metadata={"task": "t-1"})
    act(g, "bot", person("b", age=6), metadata={"task": "t-2"})
    g.commits.revert(actor="bot", where={"task": "t-1"})
    assert (people(g)["a"][0], people(g)["b"][0]) == (1, 6)


def test_a_node_that_others_point_at_stays_or_its_edge_goes_as_is_answered(g: og.Graph) -> None:
    act(g, "bot", person("new"))
    act(g, "ada", {"edge": "Knows", "from": "a", "to": "new", "data": {}})
    with pytest.raises(og.MergeConflicts) as caught:
        g.commits.revert(actor="bot", since="start")
    assert [c.kind for c in caught.value.conflicts] == ["OrphanEdge"]
    gone = {
        "entity_kind": "edge",
        "type_name": "Knows",
        "take": "custom",
        "image": None,
        "entity_id": '["a","new"]',
    }
    g.commits.revert(actor="bot", since="start", resolutions=[gone])
    assert "new" not in people(g)


def test_changes_of_the_schema_are_refused(g: og.Graph) -> None:
    og.open(g.uri, actor="bot").schema.apply("node City { name: String @key }", mode="extend")
    with pytest.raises(og.SchemaChangeUnsupported, match="changed the schema"):
        g.commits.revert(actor="bot", since="start")
    for wrong in ({}, {"since": "start"}, {"id": "HEAD", "actor": "bot"}):
        with pytest.raises(og.BadInput):
            g.commits.revert(**wrong)


@pytest.mark.parametrize("seed", range(4))
def test_the_graph_is_as_if_the_actor_had_never_been_there(g: og.Graph, tmp_path: Path, seed: int) -> None:
    """Two actors write different properties, and nodes of their own, in random order."""
    dice = random.Random(seed)
    alone = og.init(tmp_path / "alone", SCHEMA)
    alone.load(list(g.export()), mode="append")
    for number in range(14):
        actor = dice.choice(["bot", "ada"])
        name = dice.choice(["a", "b", "c", f"{actor}{dice.randrange(3)}"])
        record = person(name, **({"age": number} if actor == "bot" else {"nick": str(number)}))
        targets = [g, alone] if actor == "ada" else [g]
        own = name.startswith(actor) and name in people(g) and dice.random() < 0.5
        for target in targets:
            drop(target, actor, name) if own else act(target, actor, record)
    g.commits.revert(actor="bot", since="start")
    assert people(g) == people(alone)


def test_the_cost_follows_what_was_changed_not_the_graph(tmp_path: Path) -> None:
    costs = []
    for size in (10, 5_000):
        graph = og.init(tmp_path / str(size), SCHEMA, actor="ada")
        graph.load([person(f"p{at}") for at in range(size)], mode="append")
        for at in range(5):
            act(graph, "bot", person(f"p{at}", age=at))
        with telemetry.measure() as counted:
            graph.commits.revert(actor="bot")
        costs.append(counted["changes.rows_read"])
    assert costs[0] == costs[1] > 0
