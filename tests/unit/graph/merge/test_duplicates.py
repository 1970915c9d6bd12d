"""One thing under two ids: one of them goes, and its edges and values come to the other."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node Person {
  name: String @key  age: I32?  mail: String? @unique  nick: String?  hits: I64? @merge(sum)
  tags: [String]? @merge(union)
}
node Firm { name: String @key  best: String? }
edge Knows: Person -> Person { note: String?  weight: I32?  @key(src, dst) }
edge Likes: Person -> Person { note: String? }
edge Works: Person -> Firm @card(0..1) { role: String? }
"""
RULE = {"type": "Person", "on": ["nick"]}


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA, actor="ada")


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def edge(type_: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": type_, "from": source, "to": target, "data": data}


def load(graph: og.Graph, *records: dict[str, Any], branch: str = "main") -> None:
    graph.load(list(records), mode="merge", branch=branch)


def people(graph: og.Graph, branch: str = "main") -> dict[str, dict[str, Any]]:
    return {r["data"]["name"]: r["data"] for r in graph.export(branch=branch, types=["Person"])}


def ends(graph: og.Graph, type_: str, branch: str = "main") -> list[tuple[str, str]]:
    return sorted((r["from"], r["to"]) for r in graph.export(branch=branch, types=[type_]))


def test_what_goes_gives_its_missing_values_and_its_edges_to_what_stays(g: og.Graph) -> None:
    load(
        g,
        person("a", age=1, hits=2, tags=["x"]),
        person("b", age=2, mail="b@x", hits=3, tags=["y"]),
        person("c"),
        edge("Knows", "a", "c"),
        edge("Knows", "b", "c", note="met"),
        edge("Knows", "b", "a"),
        edge("Knows", "c", "b"),
        edge("Likes", "b", "b"),
        edge("Likes", "c", "b"),
        edge("Likes", "c", "a"),
    )
    done = g.entities.combine("Person", keep="a", drop="b", message="one person", metadata={"task": "t-1"})
    found = people(g)
    assert set(found) == {"a", "c"}
    assert found["a"] | {"id": "a"} == {
        **{"id": "a", "name": "a", "age": 1, "mail": "b@x", "nick": None, "hits": 5, "tags": ["x", "y"]}
    }
    assert ends(g, "Knows") == [("a", "c"), ("c", "a")]
    assert [r["data"]["note"] for r in g.export(types=["Knows"]) if r["from"] == "a"] == ["met"]
    assert ends(g, "Likes") == [("a", "a"), ("c", "a"), ("c", "a")], "a loop that was one stays"
    assert (done.edges_moved, done.edges_folded, done.loops_removed) == (3, 1, 1)
    commit = g.commits.show(str(done.commit_id))
    assert (commit.operation, commit.message, commit.metadata["task"]) == ("combine", "one person", "t-1")


def test_the_history_of_what_went_says_where_and_blame_still_answers(g: og.Graph) -> None:
    load(g, person("a"), person("b", nick="n"))
    done = g.entities.combine("Person", "a", ["b"])
    gone, stays = list(g.entity("Person", "b").history()), list(g.entity("Person", "a").history())
    assert [(item.op, item.went_into) for item in gone] == [("delete", "a"), ("insert", None)]
    assert [(item.op, item.took_in) for item in stays] == [("update", ("b",)), ("insert", ())]
    assert g.entity("Person", "a").blame()["nick"].id == done.commit_id
    assert {change.op for change in g.diff(gone[1].commit.id, "main")} == {"delete", "update"}
    g.commits.revert(str(done.commit_id))
    assert people(g)["b"]["nick"] == "n"


def test_whose_values_it_gets_is_chosen(g: og.Graph) -> None:
    for keep, values, given, expected in (
        ("k1", "keep", None, (None, 1)),
        ("k2", "newest", None, ("d", 9)),
        ("k3", "fill", {"age": 7}, ("d", 7)),
    ):
        load(g, person(keep, age=1))
        load(g, person(f"{keep}x", age=9, nick="d"))
        g.entities.combine("Person", keep, f"{keep}x", values=values, properties=given)
        assert (people(g)[keep]["nick"], people(g)[keep]["age"]) == expected
    load(g, person("old", age=1))
    load(g, person("new", age=2))
    g.entities.combine("Person", "new", "old", values="newest")
    assert people(g)["new"]["age"] == 2


def test_what_breaks_a_rule_is_a_conflict_that_can_be_answered(g: og.Graph) -> None:
    firms = [{"type": "Firm", "data": {"name": name}} for name in ("f", "h")]
    load(g, person("a"), person("b"), *firms)
    load(g, edge("Works", "a", "f", id="w1"), edge("Works", "b", "h", id="w2"))
    with pytest.raises(og.MergeConflicts) as caught:
        g.entities.combine("Person", "a", "b")
    assert [item.kind for item in caught.value.conflicts] == ["CardinalityViolation"]
    assert set(people(g)) == {"a", "b"}
    drop = {"entity_kind": "edge", "type_name": "Works", "entity_id": "w2", "take": "custom", "image": None}
    g.entities.combine("Person", "a", "b", resolutions=[drop])
    assert ends(g, "Works") == [("a", "f")]


@pytest.mark.parametrize(
    ("keep", "drop", "error"),
    [
        ("a", "nobody", og.NotFound),
        ("nobody", "a", og.NotFound),
        ("a", "a", og.BadInput),
        ("a", [], og.BadInput),
    ],
)
def test_what_is_not_there_is_refused(g: og.Graph, keep: str, drop: Any, error: type[Exception]) -> None:
    load(g, person("a"))
    with pytest.raises(error):
        g.entities.combine("Person", keep, drop)


def test_the_same_key_again_answers_with_the_first_commit(g: og.Graph) -> None:
    load(g, person("a"), person("b"), edge("Likes", "b", "a"))
    first = g.entities.combine("Person", "a", "b", idempotency_key="k")
    assert g.entities.combine("Person", "a", "b", idempotency_key="k") == first


def test_a_merge_asks_about_what_may_be_one_thing_and_answers_make_it_one(g: og.Graph) -> None:
    load(g, person("z", nick="n", age=1), person("other"))
    g.branches.create("work")
    load(g, person("x", nick="n", mail="x@x"), edge("Knows", "x", "other"), branch="work")
    load(g, person("y", nick="n"), edge("Knows", "y", "z"), branch="work")
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("work", same_as=RULE)
    told = caught.value.conflicts
    assert [(item.kind, item.entity_id, item.entities) for item in told] == [
        ("PossibleDuplicate", "x", ("x", "z")),
        ("PossibleDuplicate", "y", ("y", "z")),
    ]
    assert told[0].ours["properties"]["name"] == "z"
    assert told[0].theirs_by is not None
    answers = [
        {**told[0].to_json(), "take": "same"},
        {**told[1].to_json(), "take": "different"},
    ]
    saved = json.loads(json.dumps(answers))
    done = g.branches.merge("work", same_as=RULE, resolutions=saved)
    assert done.outcome == "merged"
    assert set(people(g)) == {"z", "other", "y"}
    assert people(g)["z"]["mail"] == "x@x"
    assert ends(g, "Knows") == [("y", "z"), ("z", "other")]
    history = list(g.entity("Person", "x").history())
    assert [(item.op, item.went_into) for item in history] == [("delete", "z"), ("insert", None)]


def test_a_rule_answers_for_all_and_an_answer_needs_no_rule(g: og.Graph) -> None:
    load(g, person("z", nick="n"))
    g.branches.create("one")
    g.branches.create("two")
    load(g, person("x", nick="n"), branch="one")
    load(g, person("y", nick="q"), branch="two")
    g.branches.merge("one", same_as=[RULE], resolutions=[{"kind": "PossibleDuplicate", "take": "same"}])
    g.branches.merge("two", resolutions=[{"type_name": "Person", "entity_id": "y", "same_as": "z"}])
    assert set(people(g)) == {"z"}


def test_an_answer_about_other_values_is_told_anew(g: og.Graph) -> None:
    load(g, person("z", nick="n"))
    g.branches.create("work")
    load(g, person("x", nick="n"), branch="work")
    (conflict,) = g.branches.merge("work", same_as=RULE, dry_run=True).conflicts
    load(g, person("z", nick="n", age=9))
    with pytest.raises(og.MergeConflicts, match="other images"):
        g.branches.merge("work", same_as=RULE, resolutions=[{**conflict.to_json(), "take": "same"}])


@pytest.mark.parametrize(
    "answer",
    [
        {"type_name": "Person", "entity_id": "x", "take": "same"},
        {"entity_id": "x", "same_as": "z"},
        {"type_name": "Person", "entity_id": "x", "same_as": "x"},
        {"type_name": "Person", "entity_id": "x", "same_as": "z", "values": "best"},
        {"type_name": "Nobody", "entity_id": "x", "same_as": "z"},
    ],
)
def test_answers_that_name_no_two_nodes_are_refused(g: og.Graph, answer: dict[str, Any]) -> None:
    load(g, person("z"))
    g.branches.create("work")
    load(g, person("x"), branch="work")
    with pytest.raises(og.BadInput):
        g.branches.merge("work", resolutions=[answer])


def test_a_circle_is_refused_and_a_row_of_pairs_goes_to_its_end(g: og.Graph) -> None:
    load(g, *(person(name) for name in "abc"), edge("Likes", "c", "b"))
    g.branches.create("work")
    load(g, person("new"), branch="work")

    def same(*pairs: str) -> list[dict[str, str]]:
        return [{"type_name": "Person", "entity_id": one, "same_as": two} for one, two in pairs]

    with pytest.raises(og.BadInput, match="circle"):
        g.branches.merge("work", resolutions=same("ab", "bc", "ca"))
    g.branches.merge("work", resolutions=same("cb", "ba"))
    assert set(people(g)) == {"a", "new"}


def test_rules_name_a_type_and_properties_that_are_there(g: og.Graph) -> None:
    g.branches.create("work")
    load(g, person("x"), branch="work")
    for rule, error in (
        ({"type": "Persn", "on": ["nick"]}, og.NotFound),
        ({"type": "Person", "on": ["nik"]}, og.NotFound),
        ({"type": "Person", "on": ["tags"]}, og.BadInput),
        ({"type": "Person"}, og.BadInput),
        ("Person", og.BadInput),
    ):
        with pytest.raises(error):
            g.branches.merge("work", same_as=rule)


def test_groups_with_the_same_values_are_found(g: og.Graph) -> None:
    load(g, person("a", nick="n", age=1), person("b", nick="n", age=1), person("c", nick="n"), person("d"))
    assert g.entities.find_same("Person", "nick") == [("a", "b", "c")]
    assert g.entities.find_same("Person", ["nick", "age"]) == [("a", "b")]
    assert g.entities.find_same("Person", "age", limit=0) == []


def test_an_edge_that_comes_meanwhile_is_moved_too(g: og.Graph) -> None:
    load(g, *(person(name) for name in ("a", "b", *"0123456789")))
    other = og.open(g.uri, actor="bob")
    failed: list[str] = []

    def write() -> None:
        for name in "0123456789":
            try:
                other.load([edge("Likes", name, "b")], mode="append")
            except og.OmniError as error:
                failed.append(error.code)

    thread = Thread(target=write)
    thread.start()
    g.entities.combine("Person", "a", "b")
    thread.join()
    assert set(failed) <= {"validation_error"}, "b was gone"
    assert len(ends(g, "Likes")) + len(failed) == 10
    assert {target for _, target in ends(g, "Likes")} <= {"a"}


def test_two_that_combine_the_same_at_once_make_one_commit(g: og.Graph) -> None:
    load(g, person("a"), person("b"), person("c"), edge("Likes", "c", "b"))
    outcomes: list[str] = []

    def combine(keep: str, drop: str) -> None:
        try:
            og.open(g.uri).entities.combine("Person", keep, drop)
            outcomes.append("done")
        except og.OmniError as error:
            outcomes.append(error.code)

    threads = [Thread(target=combine, args=pair) for pair in (("a", "b"), ("b", "a"), ("c", "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("done") >= 1
    assert set(outcomes) <= {"done", "not_found"}
    assert len(people(g)) == 3 - outcomes.count("done")


@pytest.mark.parametrize("seed", range(3))
def test_random_graphs_are_as_a_model_combines_them(g: og.Graph, seed: int) -> None:
    """Nodes of random graphs become one, on a branch, on main, and in the merge of both."""
    dice = random.Random(seed)
    names = [f"p{at}" for at in range(8)]
    load(g, *(person(name, age=dice.choice([None, 1, 2]), hits=dice.choice([None, 1])) for name in names))
    pairs = list(itertools.permutations(names, 2))
    chosen = dice.sample(pairs, 14)
    load(g, *(edge("Knows", *pair, note=dice.choice([None, "x"])) for pair in chosen))
    load(g, *(edge("Likes", *pair) for pair in dice.sample(pairs, 10)))
    nodes = people(g)
    knows = {(r["from"], r["to"]): r["data"]["note"] for r in g.export(types=["Knows"])}
    likes = ends(g, "Likes")
    for round_ in range(3):
        keep, *gone = dice.sample(sorted(nodes), dice.choice([2, 2, 3]))
        if round_ % 2:
            g.entities.combine("Person", keep, gone)
        else:
            g.branches.create(f"w{round_}")
            fresh = f"fresh{round_}"
            load(g, person(fresh), branch=f"w{round_}")
            answers = [{"type_name": "Person", "entity_id": one, "same_as": keep} for one in gone]
            g.branches.merge(f"w{round_}", resolutions=answers)
            nodes[fresh] = {"age": None, "hits": None}
        nodes = _combine_nodes(nodes, keep, gone)
        into = dict.fromkeys(gone, keep)
        likes = sorted(moved for one in likes if (moved := _move(one, into)) is not None)
        knows = _fold(knows, into)
        found = people(g)
        assert {name: (row["age"], row["hits"]) for name, row in found.items()} == {
            name: (row["age"], row["hits"]) for name, row in nodes.items()
        }
        assert ends(g, "Likes") == likes
        assert {(r["from"], r["to"]): r["data"]["note"] for r in g.export(types=["Knows"])} == knows
        assert all(
            r["data"]["id"] == json.dumps([r["from"], r["to"]], separators=(",", ":"))
            for r in g.export(types=["Knows"])
        )
    assert g.repair().ok


def _combine_nodes(nodes: dict[str, dict[str, Any]], keep: str, gone: list[str]) -> dict[str, dict[str, Any]]:
    row = dict(nodes[keep])
    for name in gone:
        row["age"] = nodes[name]["age"] if row["age"] is None else row["age"]
        hits = [value for value in (row["hits"], nodes[name]["hits"]) if value is not None]
        row["hits"] = sum(hits) if hits else None
    return {name: found for name, found in nodes.items() if name not in gone} | {keep: row}


def _move(one: tuple[str, str], into: dict[str, str]) -> tuple[str, str] | None:
    new = into.get(one[0], one[0]), into.get(one[1], one[1])
    return None if new[0] == new[1] and one[0] != one[1] else new


def _fold(knows: dict[tuple[str, str], Any], into: dict[str, str]) -> dict[tuple[str, str], Any]:
    """Move edges in the order of their ids: those that stay where they are come first, then by id."""
    stay = {one: note for one, note in knows.items() if not {*one} & set(into)}
    for one in sorted(knows, key=lambda pair: json.dumps(pair, separators=(",", ":"))):
        if one in stay:
            continue
        new = _move(one, into)
        if new is not None:
            stay[new] = stay[new] if stay.get(new) is not None else knows[one]
    return stay
