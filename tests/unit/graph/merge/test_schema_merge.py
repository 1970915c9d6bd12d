"""Merging schemas: one side's change is adopted, and the other side's rows come out right under it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.model.arrow_values import rows_to_plain

OLD = """
node Person { name: String @key  age: I32? }
node City { name: String @key }
edge Knows: Person -> Person { note: String? }
"""
WIDER = """
node Person { name: String @key  age: I64?  level: I32 @default(7)  mail: String? @unique }
node City { name: String @key }
node Club { name: String @key }
edge Knows: Person -> Person { note: String? }
edge In: Person -> Club
"""
SIDES = [("work", "main"), ("main", "work")]
"""Which branch changes the schema, and which one the rows."""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    """Ada and Bob; a branch `work`."""
    graph = og.init(tmp_path / "graph", OLD)
    put(graph, "main", *(person(name, age=30) for name in ("ada", "bob")))
    graph.branches.create("work")
    return graph


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def put(graph: og.Graph, branch: str, *records: dict[str, Any]) -> None:
    graph.load(list(records), mode="merge", branch=branch)


def change(graph: og.Graph, branch: str, schema: str) -> None:
    og.open(graph.uri, branch=branch).schema.apply(schema, allow_data_loss=True)


def said(graph: og.Graph, key: str, branch: str = "main") -> dict[str, dict[str, Any]]:
    snapshot = graph.snapshot(branch)
    table = snapshot.catalog.table(key)
    assert table is not None
    return {row.pop("id"): row for row in rows_to_plain(table, snapshot.table(key).scan())}


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_rows_of_one_side_come_out_under_the_schema_of_the_other(
    g: og.Graph, schema_on: str, rows_on: str
) -> None:
    change(g, schema_on, WIDER)
    put(g, schema_on, person("bob", age=2**40, level=9, mail="b@x"), {"type": "Club", "data": {"name": "c"}})
    put(g, rows_on, person("ada", age=31), person("cy", age=5), {"type": "City", "data": {"name": "oslo"}})
    done = g.branches.merge("work")
    assert done.outcome == "merged"
    assert g.snapshot().schema_source == WIDER
    assert said(g, "node:Person") == {
        "ada": {"name": "ada", "age": 31, "level": 7, "mail": None},
        "bob": {"name": "bob", "age": 2**40, "level": 9, "mail": "b@x"},
        "cy": {"name": "cy", "age": 5, "level": 7, "mail": None},
    }
    assert set(said(g, "node:City")) == {"oslo"}
    assert set(said(g, "node:Club")) == {"c"}
    assert g.branches.merge("work").outcome == "already_up_to_date"
    put(g, "main", person("dee", level=1), {"edge": "In", "from": "ada", "to": "c", "data": {}})
    assert g.branches.merge("main", into="work").outcome == "fast_forward"
    assert said(g, "node:Person", "work") == said(g, "node:Person")


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_entities_that_both_changed_are_compared_under_the_new_schema(
    g: og.Graph, schema_on: str, rows_on: str
) -> None:
    change(g, schema_on, WIDER)
    put(g, schema_on, person("ada", age=1, level=8))
    put(g, rows_on, person("ada", age=2), person("bob", age=9))
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("work")
    (found,) = caught.value.conflicts
    ages = {"work": found.theirs["properties"]["age"], "main": found.ours["properties"]["age"]}
    assert ages == {schema_on: 1, rows_on: 2}
    assert found.base["properties"] == {"name": "ada", "age": 30, "level": 7, "mail": None}
    g.branches.merge("work", strategy="theirs")
    assert said(g, "node:Person")["ada"]["age"] == ages["work"]
    assert said(g, "node:Person")["bob"] == {"name": "bob", "age": 9, "level": 7, "mail": None}


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_renames_follow_identity(g: og.Graph, schema_on: str, rows_on: str) -> None:
    renamed = (
        OLD.replace("node Person {", 'node Human @rename_from("Person") {')
        .replace("age: I32?", 'years: I32? @rename_from("age")')
        .replace("Person -> Person", "Human -> Human")
    )
    change(g, schema_on, renamed)
    put(g, rows_on, person("ada", age=31), person("cy", age=5))
    put(g, rows_on, {"edge": "Knows", "from": "ada", "to": "cy", "data": {"note": "n"}})
    g.branches.merge("work")
    assert said(g, "node:Human") == {
        "ada": {"name": "ada", "years": 31},
        "bob": {"name": "bob", "years": 30},
        "cy": {"name": "cy", "years": 5},
    }
    assert [row["note"] for row in said(g, "edge:Knows").values()] == ["n"]


def test_a_table_that_is_taken_over_has_the_name_of_its_type_in_the_result(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "renamed", "node City { name: String @key }")
    graph.branches.create("work")
    put(graph, "work", {"type": "City", "data": {"name": "Rome"}})
    graph.schema.apply('node Town @rename_from("City") { name: String @key }')
    assert graph.branches.merge("work").outcome == "merged"
    put(graph, "main", {"type": "Town", "data": {"name": "Oslo"}})
    found = graph.query("query q() { match { $t: Town } return { $t.name } order { $t.name } }")
    assert [row["t.name"] for row in found] == ["Oslo", "Rome"]


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_rows_are_checked_against_rules_that_the_other_side_added(
    g: og.Graph, schema_on: str, rows_on: str
) -> None:
    change(g, schema_on, OLD.replace("age: I32?", "age: I32?  @range(age, 0..100)"))
    put(g, rows_on, person("cy", age=101), person("dee", age=100))
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("work")
    assert [(item.kind, item.entity_id) for item in caught.value.conflicts] == [
        ("ValueConstraintViolation", "cy")
    ]
    put(g, rows_on, person("cy", age=99))
    g.branches.merge("work")
    assert said(g, "node:Person")["cy"]["age"] == 99


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_a_dropped_property_is_gone_for_the_rows_of_both_sides(
    g: og.Graph, schema_on: str, rows_on: str
) -> None:
    change(g, schema_on, OLD.replace("age: I32?", ""))
    put(g, rows_on, person("ada", age=31), person("cy", age=5))
    g.branches.merge("work")
    assert said(g, "node:Person") == {name: {"name": name} for name in ("ada", "bob", "cy")}


@pytest.mark.parametrize("also", [False, True])
@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_what_was_written_to_a_dropped_property_alone_changes_and_counts_nothing(
    g: og.Graph, schema_on: str, rows_on: str, also: bool
) -> None:
    change(g, schema_on, OLD.replace("age: I32?", ""))
    put(g, rows_on, person("ada", age=31), *([person("cy", age=5)] if also else []))
    if also:
        put(g, schema_on, person("dee"))
    before = g.snapshot().commit_id
    done = g.branches.merge("work")
    brought = {"cy"} if rows_on == "work" else {"dee"}
    assert {change.id for change in g.diff(before, "main")} == (brought if also else set())
    counted = {key: (found.inserted, found.updated, found.deleted) for key, found in done.counts.items()}
    assert counted == ({"node:Person": (1, 0, 0)} if also else {})


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_a_type_that_one_side_dropped_and_the_other_wrote_to_is_a_conflict(
    g: og.Graph, schema_on: str, rows_on: str
) -> None:
    change(g, schema_on, OLD.replace("node City { name: String @key }", ""))
    put(g, rows_on, {"type": "City", "data": {"name": "oslo"}})
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("work", strategy="theirs")
    assert [(item.kind, item.type_name) for item in caught.value.conflicts] == [("SchemaDiverged", "City")]


@pytest.mark.parametrize(("schema_on", "rows_on"), SIDES)
def test_a_dropped_type_that_nobody_wrote_to_is_dropped(g: og.Graph, schema_on: str, rows_on: str) -> None:
    change(g, schema_on, OLD.replace("node City { name: String @key }", ""))
    put(g, rows_on, person("cy"))
    g.branches.merge("work")
    assert [table.key for table in g.snapshot().tables] == ["edge:Knows", "node:Person"]
    assert set(said(g, "node:Person")) == {"ada", "bob", "cy"}


def test_no_strategy_and_no_rule_for_entities_settles_a_clash_of_schemas(g: og.Graph) -> None:
    change(g, "work", OLD.replace("age: I32?", "age: I32?  shoe: String?"))
    change(g, "main", OLD.replace("age: I32?", "age: I32?  shoe: I32?"))
    for strategy in ("entity", "ours", "theirs"):
        with pytest.raises(og.MergeConflicts) as caught:
            g.branches.merge("work", strategy=strategy, resolutions=[{"take": "ours"}])
        (found,) = caught.value.conflicts
        assert (found.kind, found.entity_kind) == ("SchemaDiverged", "schema")
        assert found.entity_id == "node Person.shoe definition"


def test_a_divergence_ends_when_one_side_takes_its_change_back_and_makes_it_again(g: og.Graph) -> None:
    longer = OLD.replace("age: I32?", "age: I32?  mail: String?")
    other = OLD.replace("age: I32?", "age: I32?  nick: String?  mail: I32?")
    change(g, "main", longer)
    put(g, "main", person("ada", age=30, mail="a@x"))
    change(g, "work", other)
    put(g, "work", person("bob", age=31, nick="b"))
    with pytest.raises(og.MergeConflicts, match="SchemaDiverged"):
        g.branches.merge("work")
    change(g, "work", OLD)
    assert g.branches.merge("main", into="work").outcome == "merged"
    change(g, "work", longer.replace("mail: String?", "mail: String?  nick: String?"))
    put(g, "work", person("bob", age=31, nick="b"))
    put(g, "main", person("cy", age=1))
    assert g.branches.merge("work").outcome == "merged"
    assert said(g, "node:Person") == {
        "ada": {"name": "ada", "age": 30, "mail": "a@x", "nick": None},
        "bob": {"name": "bob", "age": 31, "mail": None, "nick": "b"},
        "cy": {"name": "cy", "age": 1, "mail": None, "nick": None},
    }
    assert g.branches.merge("main", into="work").outcome == "fast_forward"
    assert g.diff("main", "work").total == 0


def test_the_same_schema_change_on_both_sides_is_no_conflict(g: og.Graph) -> None:
    for branch in ("work", "main"):
        change(g, branch, WIDER)
    put(g, "work", {"type": "Club", "data": {"name": "w"}}, person("ada", level=1))
    put(g, "main", {"type": "Club", "data": {"name": "m"}}, person("bob", level=2))
    g.branches.merge("work")
    assert set(said(g, "node:Club")) == {"m", "w"}
    people = said(g, "node:Person")
    assert (people["ada"]["level"], people["bob"]["level"]) == (1, 2)


def test_a_fast_forward_brings_the_schema(g: og.Graph) -> None:
    change(g, "work", WIDER)
    done = g.branches.merge("work")
    assert done.outcome == "fast_forward"
    assert g.snapshot().schema_source == WIDER
    assert said(g, "node:Person")["ada"] == {"name": "ada", "age": 30, "level": 7, "mail": None}


def test_a_reverted_schema_change_does_not_give_out_its_numbers_again(g: og.Graph) -> None:
    change(g, "main", WIDER)
    applied = g.snapshot()
    put(g, "main", person("cy", level=3))
    done = g.commits.revert(applied.commit_id)
    assert g.snapshot().schema_source == OLD
    assert said(g, "node:Person")["cy"] == {"name": "cy", "age": None}
    assert done.outcome == "merged"
    change(g, "main", OLD + "node Team { name: String @key }\n")
    club, team = applied.catalog.node("Club"), g.snapshot().catalog.node("Team")
    assert club is not None
    assert team is not None
    assert team.id > max(club.id, applied.catalog.last_id)
    with pytest.raises(og.NotFound):
        applied.table("node:Team")
