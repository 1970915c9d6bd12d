"""One node or edge: its properties, its edges, its history, blame, and putting it back."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.cli.main import app

SCHEMA = """
node Person { name: String @key  age: I64?  born: Date?  photo: Blob? }
node City { name: String @key }
edge Knows: Person -> Person { since: Date?  @key(src, dst) }
edge LivesIn: Person -> City
"""
AGE = "query q($n: String, $a: I64) { update Person set { age: $a } where name = $n }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="maker")
    people = [{"type": "Person", "data": {"name": name, "age": 1}} for name in ("ada", "bob", "cyd")]
    edges = [
        {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": "2020-01-01"}},
        {"edge": "Knows", "from": "cyd", "to": "ada"},
        {"edge": "Knows", "from": "ada", "to": "ada"},
        {"edge": "LivesIn", "from": "ada", "to": "oslo"},
    ]
    graph.load([*people, {"type": "City", "data": {"name": "oslo"}}, *edges], mode="append")
    return graph


def _set_age(graph: og.Graph, name: str, age: int, **where: str) -> str:
    commit = graph.mutate(AGE, {"n": name, "a": age}, **where).commit_id  # type: ignore[arg-type]
    assert commit is not None
    return commit


def test_a_node_has_properties_and_edges_at_any_commit(graph: og.Graph) -> None:
    ada = graph.entity("Person", "ada")
    assert (ada.kind, ada.type, ada.id, ada.ends, ada.exists) == ("node", "Person", "ada", None, True)
    assert ada.properties == {"name": "ada", "age": 1, "born": None, "photo": None}
    _set_age(graph, "ada", 7)
    assert graph.entity("Person", "ada").properties["age"] == 7
    assert graph.entity("Person", "ada", snapshot="HEAD~1").properties["age"] == ada.properties["age"] == 1
    assert graph.snapshot(commit="HEAD~1").entity("Person", "ada").properties["age"] == 1
    assert pickle.loads(pickle.dumps(ada)).properties == ada.properties


def test_the_edges_of_a_node_come_by_direction_and_type_and_a_loop_once(graph: og.Graph) -> None:
    ada = graph.entity("Person", "ada")
    ends = [(item["edge"], item["from"], item["to"]) for item in ada.edges()]
    assert sorted(ends) == [
        ("Knows", "ada", "ada"),
        ("Knows", "ada", "bob"),
        ("Knows", "cyd", "ada"),
        ("LivesIn", "ada", "oslo"),
    ]
    assert {item["from"] for item in ada.edges(["Knows"], "in")} == {"cyd", "ada"}
    assert {item["to"] for item in ada.edges(direction="out")} == {"bob", "ada", "oslo"}
    assert len(ada.edges(limit=2)) == 2
    assert graph.entity("City", "oslo").edges()[0]["from"] == "ada"
    (known,) = (item for item in ada.edges(["Knows"], "out") if item["to"] == "bob")
    edge = graph.entity("Knows", known["data"]["id"])
    assert (edge.kind, edge.ends, edge.properties) == ("edge", ("ada", "bob"), {"since": "2020-01-01"})
    with pytest.raises(og.BadInput, match="is an edge"):
        edge.edges()
    with pytest.raises(og.BadInput, match="out, in or both"):
        ada.edges(direction="up")  # type: ignore[arg-type]


def test_the_history_says_who_changed_what_and_ends_where_it_was_inserted(graph: og.Graph) -> None:
    first = _set_age(graph, "ada", 2)
    _set_age(graph, "bob", 3)
    graph.optimize()
    second = graph.mutate(AGE, {"n": "ada", "a": 4}, metadata={"task": "t-1"}).commit_id
    changes = list(graph.entity("Person", "ada").history())
    assert [item.op for item in changes] == ["update", "update", "insert"]
    assert [item.commit.id for item in changes][:2] == [second, first]
    assert changes[0].changed == ("age",)
    assert (changes[0].commit.actor, changes[0].commit.metadata) == ("maker", {"task": "t-1"})
    assert [item.after["properties"]["age"] for item in changes if item.after] == [4, 2, 1]
    assert [item.before and item.before["properties"]["age"] for item in changes] == [2, 1, None]
    assert len(list(graph.entity("Person", "ada").history(limit=1))) == 1


def test_commits_that_leave_an_entity_alone_cost_its_history_no_look_at_the_table(graph: og.Graph) -> None:
    _set_age(graph, "ada", 2)
    counts = []
    for _ in range(2):
        for at in range(8):
            _set_age(graph, "bob", at)
        with telemetry.measure() as told:
            assert len(list(graph.entity("Person", "ada").history())) == 2
        counts.append(told["tables.finds"])
    assert counts[0] == counts[1]


def test_what_a_branch_changed_is_in_the_history_of_what_it_was_merged_into(graph: og.Graph) -> None:
    graph.branches.create("side")
    there = _set_age(graph, "ada", 5, branch="side")
    _set_age(graph, "bob", 5)
    merge = graph.branches.merge("side").commit_id
    changes = list(graph.entity("Person", "ada").history())
    assert [(item.commit.id, item.came_by_merge) for item in changes][:2] == [(merge, True), (there, False)]
    assert len(changes) == 3
    blamed = graph.entity("Person", "ada").blame()
    assert (blamed["age"].id, blamed["name"].operation) == (there, "load")


def test_blame_names_the_commit_of_each_property_also_where_a_merge_combined_them(graph: og.Graph) -> None:
    graph.branches.create("side")
    born = graph.mutate(
        'query q() { update Person set { born: date("1815-12-10") } where name = "ada" }', branch="side"
    ).commit_id
    age = _set_age(graph, "ada", 36)
    graph.branches.merge("side", strategy="property")
    blamed = {name: commit.id for name, commit in graph.entity("Person", "ada").blame().items()}
    assert (blamed["born"], blamed["age"]) == (born, age)
    assert graph.commits.show(blamed["name"]).operation == "load"


def test_a_deleted_node_has_a_history_and_can_be_put_back(graph: og.Graph) -> None:
    _set_age(graph, "bob", 9)
    graph.mutate('query q() { delete Person where name = "bob" }')
    bob = graph.entity("Person", "bob")
    assert not bob.exists
    assert [item.op for item in bob.history()] == ["delete", "update", "insert"]
    for look in (lambda: bob.properties, bob.edges, bob.blame):
        with pytest.raises(og.NotFound, match="no node Person with the id 'bob'"):
            look()
    done = bob.reset("HEAD~1", message="it was wrong to delete bob", metadata={"task": "t-2"})
    assert graph.entity("Person", "bob").properties["age"] == 9
    assert graph.commits.show(str(done)).metadata["task"] == "t-2"
    assert [item.op for item in graph.entity("Person", "bob").history()] == ["insert"]
    lives = [item.op for item in graph.entity("Person", "bob").history(earlier=True)]
    assert lives == ["insert", "delete", "update", "insert"]


def test_a_note_that_somebody_has_made_up_hides_no_history(graph: og.Graph) -> None:
    gone = 'query q() { delete Person where name = "ada" }'
    for note in ("[" * 5_000, "[[1]]", "{}"):
        graph.mutate(gone, metadata={"same.ids": note})
        assert [change.op for change in graph.entity("Person", "ada").history(limit=1)] == ["delete"]
        graph.mutate('query q() { insert Person { name: "ada" } }')


def test_a_reset_gives_what_was_there_and_deletes_what_was_not(graph: og.Graph) -> None:
    photo = 'query q($b: Blob) { update Person set { photo: $b } where name = "ada" }'
    graph.mutate(photo, {"b": b"x" * 9})
    _set_age(graph, "ada", 8)
    graph.entity("Person", "ada").reset("HEAD~1")
    assert graph.entity("Person", "ada").properties["age"] == 1
    assert graph.blob("node", "Person", "ada", "photo").read() == b"x" * 9
    graph.entity("Person", "cyd").reset("main~4")
    assert not graph.entity("Person", "cyd").exists
    with pytest.raises(og.ReadOnly):
        graph.snapshot().entity("Person", "ada").reset("HEAD~1")


def test_a_renamed_type_and_property_keep_their_history(graph: og.Graph) -> None:
    first = _set_age(graph, "ada", 2)
    renamed = SCHEMA.replace("node Person {", 'node Human @rename_from("Person") {').replace(
        "age: I64?", 'years: I64? @rename_from("age")'
    )
    graph.schema.apply(renamed.replace("Person ->", "Human ->").replace("-> Person", "-> Human"))
    ada = graph.entity("Human", "ada")
    assert next(item.commit.id for item in ada.history()) == first
    assert ada.blame()["years"].id == first


def test_what_is_not_there_is_told(graph: og.Graph) -> None:
    with pytest.raises(og.NotFound, match="did you mean 'Person'"):
        graph.entity("Persn", "ada")
    with pytest.raises(og.BadInput, match="must be a string"):
        graph.entity("Person", 7)  # type: ignore[arg-type]
    with pytest.raises(og.BadInput, match="not both"):
        graph.entity("Person", "ada", branch="main", snapshot="main")


def test_the_command_line_shows_an_entity_its_history_and_blame(graph: og.Graph) -> None:
    commit = _set_age(graph, "ada", 2)

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["entity", *words, "--uri", graph.uri])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "age\t2" in run("show", "Person", "ada")
    assert "Knows\tada\tbob" in run("show", "Person", "ada")
    shown = json.loads(run("history", "Person", "ada", "--json", "--limit", "1"))
    assert [(item["op"], item["changed"], item["commit"]["id"]) for item in shown["changes"]] == [
        ("update", ["age"], commit)
    ]
    assert f"{commit}\t" in run("history", "Person", "ada")
    assert f"age\t2\t{commit}" in run("blame", "Person", "ada")
    assert json.loads(run("blame", "Person", "ada", "--json"))["blame"]["age"]["id"] == commit
    assert "commit " in run("reset", "Person", "ada", "HEAD~1", "-m", "back")
    assert graph.entity("Person", "ada").properties["age"] == 1
