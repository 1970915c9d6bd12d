"""A stored query as the rule that says what is one thing: it is asked about what a merge would make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens
from support.command_line import run
from support.served_here import serving_here

SCHEMA = """
node Person { name: String @key  mail: String?  other: String?  age: I32? }
edge Knows: Person -> Person
"""
# Nothing that compares one property with itself finds these.
QUERY = """
query same_people() {
  match { $a: Person  $b: Person  $b.mail = $a.other }
  return { $a.id as one, $b.id as two }
}
"""
RULE = {"type": "Person", "query": "same_people"}
SAME = {"kind": "PossibleDuplicate", "take": "same"}


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


@pytest.fixture(params=["here", "served"])
def g(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    graph = og.init(tmp_path / "people", SCHEMA, actor="ada")
    graph.queries.apply({"rules.gq": QUERY})
    load(graph, person("ada", mail="ada@x"), person("bob"), {"edge": "Knows", "from": "bob", "to": "ada"})
    graph.branches.create("work")
    if request.param == "here":
        yield graph
        return
    config = ServerConfig({"people": str(tmp_path / "people")}, Tokens(()), state=tmp_path / "state")
    with serving_here(create_app(config)) as address:
        yield og.open(f"{address}/graphs/people")


def load(graph: Any, *records: dict[str, Any], branch: str = "main") -> None:
    graph.load(list(records), mode="merge", branch=branch)


def names(graph: Any) -> list[str]:
    return sorted(row["data"]["name"] for row in graph.export(types=["Person"]))


def bring_ada_again(g: Any) -> None:
    """Let a branch enter Ada under another id, and main move on."""
    load(
        g,
        person("A. L.", other="ada@x", age=36),
        {"edge": "Knows", "from": "A. L.", "to": "bob"},
        branch="work",
    )
    load(g, person("cyd"))


def test_a_pair_is_a_conflict_whose_answer_makes_one_of_both(g: Any) -> None:
    bring_ada_again(g)
    (found,) = g.branches.merge("work", same_as=RULE, dry_run=True).conflicts
    assert (found.kind, found.entity_id, found.entities) == ("PossibleDuplicate", "A. L.", ("A. L.", "ada"))
    assert (
        "stored query 'same_people' says so" in found.message and found.ours["properties"]["mail"] == "ada@x"
    )
    with pytest.raises(og.MergeConflicts):
        g.branches.merge("work", same_as=RULE)
    assert names(g) == ["ada", "bob", "cyd"]
    g.branches.merge("work", same_as=RULE, resolutions=[{**found.to_json(), "take": "same"}])
    assert names(g) == ["ada", "bob", "cyd"] and g.entity("Person", "ada").properties["age"] == 36
    assert sorted((r["from"], r["to"]) for r in g.export(types=["Knows"])) == [("ada", "bob"), ("bob", "ada")]


def test_a_rule_answers_all_pairs_and_what_is_different_is_not_asked_again(g: Any) -> None:
    bring_ada_again(g)
    load(g, person("ada l.", other="ada@x"), person("B.", other="bob@x"), branch="work")
    load(g, person("bob", mail="bob@x"))
    different = {"type_name": "Person", "entity_id": "B.", "take": "different"}
    done = g.branches.merge("work", same_as=[RULE], resolutions=[SAME, different])
    assert names(g) == ["B.", "ada", "bob", "cyd"] and done.edges
    g.branches.create("later")
    load(g, person("eve"), branch="later")
    load(g, person("fay"))
    assert g.branches.merge("later", same_as=RULE).outcome == "merged", (
        "who was not brought is not asked about"
    )


def test_a_fast_forward_is_looked_at_too(g: Any) -> None:
    load(g, person("A. L.", other="ada@x"), branch="work")
    with pytest.raises(og.MergeConflicts):
        g.branches.merge("work", same_as=RULE)
    g.branches.merge("work", same_as=RULE, resolutions=[SAME])
    assert names(g) == ["ada", "bob"]


def test_a_proposal_asks_its_rule_and_takes_saved_answers(g: Any) -> None:
    bring_ada_again(g)
    proposal = g.proposals.create("work", title="more", same_as=RULE)
    judged = g.proposals.mergeable(proposal.id)
    assert [reason.code for reason in judged.reasons] == ["conflicts"]
    g.proposals.resolve(proposal.id, [{**judged.conflicts[0].to_json(), "take": "same"}])
    assert g.proposals.mergeable(proposal.id).mergeable
    g.proposals.merge(proposal.id)
    assert names(g) == ["ada", "bob", "cyd"]


def test_what_is_no_rule_says_why(g: Any) -> None:
    bring_ada_again(g)
    g.queries.apply(
        {
            "more.gq": """
            query one() { match { $a: Person } return { $a.id } }
            query ages() { match { $a: Person } return { $a.age as x, $a.age as y } }
            query change() { delete Person where name = "nobody" }
            """
        },
        mode="extend",
    )
    for query, why in (
        ("one", "returns 1 columns"),
        ("ages", "a rule returns two ids"),
        ("change", "is a mutation"),
        ("nothing", "nothing"),
    ):
        with pytest.raises(og.OmniError, match=why):
            g.branches.merge("work", same_as={"type": "Person", "query": query})
    for wrong in ({"type": "Person", "query": "one", "on": ["mail"]}, {"type": "Person"}, {"query": "one"}):
        with pytest.raises(og.BadInput):
            g.branches.merge("work", same_as=wrong)


def test_what_is_merged_does_not_say_what_the_rule_is(g: Any) -> None:
    bring_ada_again(g)
    blind = 'query same_people() { match { $a: Person { name: "" } } return { $a.id as one, $a.id as two } }'
    (og.open(g.uri, branch="work")).queries.apply({"rules.gq": blind})
    with pytest.raises(og.MergeConflicts):
        g.branches.merge("work", same_as=RULE)


def test_a_duplicate_that_comes_during_the_merge_is_found(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", SCHEMA, actor="ada")
    graph.queries.apply({"rules.gq": QUERY})
    graph.branches.create("work")
    load(graph, person("A. L.", other="ada@x"), branch="work")
    load(graph, person("bob"))
    looks: list[int] = []
    find = graph.internals.find_pairs
    assert find is not None

    def find_and_write(result: Any, target: Any, name: str) -> Any:
        found = find(result, target, name)
        if not looks:
            load(og.open(graph.uri), person("ada", mail="ada@x"))
        looks.append(len(found))
        return found

    graph.internals.find_pairs = find_and_write
    with pytest.raises(og.MergeConflicts):
        graph.branches.merge("work", same_as=RULE)
    assert looks == [0, 1]


def test_who_only_reads_is_told_and_the_command_line_takes_a_rule(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", SCHEMA, actor="ada")
    graph.queries.apply({"rules.gq": QUERY})
    load(graph, person("ada", mail="ada@x"))
    graph.branches.create("work")
    bring_ada_again_here = [person("A. L.", other="ada@x")]
    load(graph, *bring_ada_again_here, branch="work")
    load(graph, person("cyd"))
    with pytest.raises(og.ReadOnly, match="read_only=False"):
        og.open(graph.uri, read_only=True).branches.merge("work", same_as=RULE, dry_run=True)
    told = run("branch", "merge", "work", "--same-as", "Person:same_people", "--store", graph.uri)
    assert told.exit_code == 1 and "A. L." in told.output
