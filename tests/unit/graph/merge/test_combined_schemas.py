"""Both sides changed the schema: the changes are combined, and the rows of each side come out under both."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.graph.model.arrow_values import rows_to_plain

BASE = """
node Person { name: String @key  age: I32?  kind: enum(a, b)? }
node City { name: String @key }
edge Knows: Person -> Person { note: String? }
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    """Ada and Bob; a branch `work`."""
    graph = og.init(tmp_path / "graph", BASE)
    put(graph, "main", *(person(name, age=30) for name in ("ada", "bob")))
    put(graph, "main", {"edge": "Knows", "from": "ada", "to": "bob", "data": {"note": "n"}})
    graph.branches.create("work")
    return graph


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def node(type_: str, name: str, **data: Any) -> dict[str, Any]:
    return {"type": type_, "data": {"name": name, **data}}


def put(graph: og.Graph, branch: str, *records: dict[str, Any]) -> None:
    graph.load(list(records), mode="merge", branch=branch)


def change(graph: og.Graph, branch: str, schema: str) -> None:
    og.open(graph.uri, branch=branch).schema.apply(schema, allow_drop=True)


def extend(graph: og.Graph, branch: str, text: str) -> None:
    og.open(graph.uri, branch=branch).schema.apply(text, mode="extend")


def said(graph: og.Graph, key: str, branch: str = "main") -> dict[str, dict[str, Any]]:
    snapshot = graph.snapshot(branch)
    table = snapshot.catalog.table(key)
    assert table is not None
    return {row.pop("id"): row for row in rows_to_plain(table, snapshot.table(key).scan())}


def conflicts(graph: og.Graph, source: str = "work", **how: Any) -> list[Any]:
    before = graph.snapshot(how.get("into", "main")).commit_id
    tried = graph.branches.merge(source, dry_run=True, **how)
    with pytest.raises(og.MergeConflicts) as caught:
        graph.branches.merge(source, **how)
    assert [item.to_json() for item in caught.value.conflicts] == [item.to_json() for item in tried.conflicts]
    assert graph.snapshot(how.get("into", "main")).commit_id == before
    return list(caught.value.conflicts)


def test_what_agents_add_in_parallel_just_merges(g: og.Graph) -> None:
    extend(
        g,
        "main",
        "node Club { name: String @key }\nnode Person { nick: String? @index  kind: enum(a, b, c)? }",
    )
    extend(
        g,
        "work",
        "node Team { name: String @key }\nedge Plays: Person -> Team\n"
        "node Person { level: I32 @default(7)  kind: enum(a, b, d)? }",
    )
    put(g, "main", node("Club", "c"), person("ada", age=30, nick="A", kind="c"), person("cy", nick="C"))
    put(g, "work", node("Team", "t"), person("bob", age=30, level=9, kind="d"), person("dee"))
    put(g, "work", {"edge": "Plays", "from": "bob", "to": "t", "data": {}})
    tried = g.branches.merge("work", dry_run=True)
    done = g.branches.merge("work")
    assert (done.outcome, dict(done.counts)) == ("merged", dict(tried.counts))
    assert said(g, "node:Person") == {
        "ada": {"name": "ada", "age": 30, "kind": "c", "nick": "A", "level": 7},
        "bob": {"name": "bob", "age": 30, "kind": "d", "nick": None, "level": 9},
        "cy": {"name": "cy", "age": None, "kind": None, "nick": "C", "level": 7},
        "dee": {"name": "dee", "age": None, "kind": None, "nick": None, "level": 7},
    }
    assert set(said(g, "node:Club")) == {"c"}
    assert set(said(g, "node:Team")) == {"t"}
    (plays,) = said(g, "edge:Plays").values()
    assert (plays["src"], plays["dst"]) == ("bob", "t")
    assert g.branches.merge("work").outcome == "already_up_to_date"
    person_type = g.snapshot().catalog.node("Person")
    assert person_type is not None
    assert person_type.by_name["kind"].type.enum == ("a", "b", "c", "d")
    assert ("nick",) in person_type.indexes
    put(g, "work", node("Team", "u"), person("eve", level=1))
    assert g.branches.merge("work").outcome == "merged"
    assert set(said(g, "node:Team")) == {"t", "u"}
    assert said(g, "node:Person")["eve"] == {
        "name": "eve",
        "age": None,
        "kind": None,
        "nick": None,
        "level": 1,
    }
    assert g.branches.merge("main", into="work").outcome == "fast_forward"
    assert g.diff("main", "work").total == 0
    put(g, "main", person("ada", nick="again", level=3), node("Club", "c2"))


def test_renames_widenings_and_notes_of_both_sides_come_together(g: og.Graph) -> None:
    change(
        g,
        "main",
        BASE.replace("node Person {", 'node Human @rename_from("Person") {')
        .replace("Person -> Person", "Human -> Human")
        .replace("age: I32?", "age: I64?"),
    )
    change(
        g,
        "work",
        BASE.replace("node Person {", 'node Person @description("who") {')
        .replace("age: I32?", 'years: I32? @rename_from("age")')
        .replace("note: String?", "note: String?  since: Date?"),
    )
    put(g, "main", node("Human", "ada", age=2**40), node("Human", "cy", age=1))
    put(g, "work", person("bob", years=31), person("dee", years=2))
    g.branches.merge("work")
    assert said(g, "node:Human") == {
        "ada": {"name": "ada", "years": 2**40, "kind": None},
        "bob": {"name": "bob", "years": 31, "kind": None},
        "cy": {"name": "cy", "years": 1, "kind": None},
        "dee": {"name": "dee", "years": 2, "kind": None},
    }
    human = g.snapshot().catalog.node("Human")
    assert human is not None
    assert human.description == "who"
    put(g, "work", person("bob", years=32))
    g.branches.merge("work")
    assert said(g, "node:Human")["bob"]["years"] == 32


def test_a_renamed_type_is_followed_from_the_ends_of_the_others_edges(g: og.Graph) -> None:
    change(g, "main", BASE.replace("node City", 'node Town @rename_from("City")'))
    renamed = BASE.replace(
        "edge Knows: Person -> Person", 'edge Meets: Person -> Person @rename_from("Knows")'
    )
    change(g, "work", renamed + "edge Lives: Person -> City\n")
    put(g, "work", node("City", "oslo"), {"edge": "Lives", "from": "ada", "to": "oslo", "data": {}})
    put(g, "main", node("Town", "rome"))
    g.branches.merge("work")
    assert set(said(g, "node:Town")) == {"oslo", "rome"}
    assert len(said(g, "edge:Meets")) == 1
    lives = g.snapshot().catalog.edge("Lives")
    assert lives is not None
    assert (lives.source, lives.target) == ("Person", "Town")
    assert [row["dst"] for row in said(g, "edge:Lives").values()] == ["oslo"]


def test_names_that_one_side_exchanged_and_the_other_wrote_to_are_followed(g: og.Graph) -> None:
    put(g, "work", person("cy", age=5), node("City", "oslo"))
    extend(g, "work", "node Person { hat: I32? }\nnode City { size: I32? }")
    names = [("Person", "City"), ("Being", "City"), ("Being", "Person"), ("City", "Person")]
    for before, after in itertools.pairwise(names):
        text = f"edge Knows: {after[0]} -> {after[0]} {{ note: String? }}\n"
        for was, now, body in zip(before, after, ("age: I32?  kind: enum(a, b)?", ""), strict=True):
            hint = "" if was == now else f'@rename_from("{was}")'
            text += f"node {now} {hint} {{ name: String @key  {body} }}\n"
        change(g, "main", text)
    put(g, "main", node("City", "ada", age=31), node("Person", "rome"))
    g.branches.merge("work")
    assert {id_: (row["age"], row["hat"]) for id_, row in said(g, "node:City").items()} == {
        "ada": (31, None),
        "bob": (30, None),
        "cy": (5, None),
    }
    assert said(g, "node:Person") == {name: {"name": name, "size": None} for name in ("oslo", "rome")}


def test_the_same_addition_on_both_sides_is_one(g: og.Graph) -> None:
    extend(
        g,
        "main",
        "node Club { name: String @key  size: I32? }\nnode Person { shoe: I32? }\nnode M { }",
    )
    extend(g, "work", "edge In: Person -> City\nnode Person { hat: I32? }")
    extend(g, "work", "node Club { name: String @key  size: I32? }\nnode Person { shoe: I32? }")
    put(g, "main", node("Club", "m", size=1), node("Club", "same", size=3), person("ada", age=30, shoe=40))
    put(g, "work", node("Club", "w", size=2), node("Club", "same", size=3), person("bob", age=30, shoe=41))
    g.branches.merge("work")
    assert {id_: row["size"] for id_, row in said(g, "node:Club").items()} == {"m": 1, "w": 2, "same": 3}
    people = said(g, "node:Person")
    assert (people["ada"]["shoe"], people["bob"]["shoe"], people["ada"]["hat"]) == (40, 41, None)
    put(g, "work", node("Club", "x", size=5))
    put(g, "main", node("Club", "y", size=6))
    g.branches.merge("work")
    assert set(said(g, "node:Club")) == {"m", "w", "same", "x", "y"}
    put(g, "work", node("Club", "same", size=8))
    put(g, "main", node("Club", "same", size=9))
    (found,) = conflicts(g)
    assert (found.kind, found.entity_id, found.base["properties"]["size"]) == ("DivergentUpdate", "same", 3)


@pytest.mark.parametrize("take", ["base", "ours", "theirs"])
def test_a_rename_that_clashes_is_answered(g: og.Graph, take: str, tmp_path: Path) -> None:
    change(
        g,
        "main",
        BASE.replace("age: I32?", 'years: I32? @rename_from("age")') + "node A { name: String @key }",
    )
    change(
        g, "work", BASE.replace("age: I32?", 'old: I32? @rename_from("age")') + "node B { name: String @key }"
    )
    put(g, "work", person("cy", old=3))
    (found,) = conflicts(g)
    assert (found.kind, found.type_name, found.entity_id) == (
        "SchemaDiverged",
        "Person",
        "node Person.age name",
    )
    assert [found.base, found.ours, found.theirs] == [
        {"properties": {"name": name}} for name in ("age", "years", "old")
    ]
    assert "name" in found.message
    file = tmp_path / "answers.json"
    file.write_text(json.dumps([{**found.to_json(), "take": take}]))
    g.branches.merge("work", resolutions=str(file))
    name = {"base": "age", "ours": "years", "theirs": "old"}[take]
    assert {id_: row[name] for id_, row in said(g, "node:Person").items()} == {"ada": 30, "bob": 30, "cy": 3}


@pytest.mark.parametrize("take", ["ours", "theirs", "base"])
def test_one_name_for_two_kinds_of_values_is_answered(g: og.Graph, take: str) -> None:
    extend(g, "main", "node Person { shoe: I32? }\nnode A { name: String @key }")
    extend(g, "work", "node Person { shoe: String? }\nnode B { name: String @key }")
    put(g, "main", person("ada", shoe=40))
    put(g, "work", person("bob", shoe="41"))
    (found,) = conflicts(g)
    assert found.entity_id == "node Person.shoe definition"
    assert (found.base, found.ours) == (None, {"properties": {"declaration": "shoe: I32?"}})
    g.branches.merge("work", resolutions=[{"entity_kind": "schema", "take": take}])
    people = said(g, "node:Person")
    if take == "base":
        assert "shoe" not in people["ada"]
    else:
        expected = {"ours": (40, None), "theirs": (None, "41")}[take]
        assert (people["ada"]["shoe"], people["bob"]["shoe"]) == expected


@pytest.mark.parametrize("take", ["ours", "theirs"])
@pytest.mark.parametrize("dropper", ["main", "work"])
@pytest.mark.parametrize("both", [False, True])
def test_a_type_that_one_side_dropped_and_the_other_wrote_to_is_answered(
    g: og.Graph, take: str, dropper: str, both: bool
) -> None:
    other = "work" if dropper == "main" else "main"
    change(g, dropper, BASE.replace("node City { name: String @key }", ""))
    put(g, other, node("City", "oslo"))
    if both:
        extend(g, other, "node Club { name: String @key }")
    (found,) = conflicts(g)
    assert (found.kind, found.entity_id) == ("SchemaDiverged", "node City drop")
    g.branches.merge("work", resolutions=[{**found.to_json(), "take": take}])
    keeps = (take == "ours") == (other == "main")
    if keeps:
        assert set(said(g, "node:City")) == {"oslo"}
    else:
        assert g.snapshot().catalog.node("City") is None
    assert (g.snapshot().catalog.node("Club") is not None) == both
    put(g, "main", person("zoe"))


def test_rules_of_one_side_are_checked_on_the_rows_of_the_other(g: og.Graph) -> None:
    change(g, "main", BASE.replace("age: I32?", "age: I32?  @range(age, 0..100)"))
    change(
        g,
        "work",
        BASE.replace("kind: enum(a, b)?", "kind: enum(a, b)?  code: String? @unique").replace(
            "Person -> Person", "Person -> Person @card(0..1)"
        ),
    )
    put(g, "main", person("cy", age=50), person("dee", age=1))
    put(g, "main", {"edge": "Knows", "from": "ada", "to": "cy", "data": {}})
    put(g, "work", person("eve", age=101, code="x"), person("fay", age=3, code="y"))
    kinds = {(item.kind, item.entity_id) for item in conflicts(g)}
    assert kinds == {("CardinalityViolation", None), ("ValueConstraintViolation", "eve")}
    g.mutate('query q() { delete Knows where note = "n" }', branch="work")
    g.mutate('query q() { delete Knows where note = "n" }')
    put(g, "work", person("eve", age=100, code="x"))
    g.branches.merge("work")
    assert said(g, "node:Person")["eve"]["age"] == 100


def test_a_unique_rule_of_theirs_is_checked_on_rows_that_only_ours_wrote(g: og.Graph) -> None:
    extend(g, "main", "node Person { tag: String? }")
    change(
        g,
        "work",
        BASE.replace("age: I32?", "age: I32?  @unique(kind)").replace(
            "node City", 'node Town @rename_from("City")'
        ),
    )
    put(g, "main", person("cy", kind="a"), person("dee", kind="a"))
    found = conflicts(g)
    assert {item.kind for item in found} == {"UniqueViolation"}
    answer = [
        {
            "type_name": "Person",
            "entity_kind": "node",
            "entity_id": "dee",
            "take": "custom",
            "image": {"properties": {"kind": "b"}},
        }
    ]
    g.branches.merge("work", resolutions=answer)
    assert said(g, "node:Person")["dee"]["kind"] == "b"


def test_an_edge_type_of_theirs_needs_a_node_type_that_ours_dropped(g: og.Graph) -> None:
    change(g, "main", BASE.replace("node City { name: String @key }", ""))
    extend(g, "work", "edge Lives: Person -> City")
    (found,) = conflicts(g)
    assert (found.entity_id, found.ours) == ("node City drop", None)
    g.branches.create("fork", "main")
    g.branches.merge("work", into="fork", resolutions=[{**found.to_json(), "take": "ours"}])
    assert g.snapshot("fork").catalog.edge("Lives") is None
    g.branches.merge("work", resolutions=[{**found.to_json(), "take": "theirs"}])
    assert g.snapshot().catalog.edge("Lives") is not None


def test_interfaces_give_what_one_side_added_to_the_types_that_the_other_added(tmp_path: Path) -> None:
    graph = og.init(
        tmp_path / "i", "interface Named { label: String? }\nnode A implements Named { name: String @key }"
    )
    graph.branches.create("work")
    change(
        graph,
        "main",
        "interface Named { label: String?  rank: I32 @default(4) }\n"
        "node A implements Named { name: String @key }",
    )
    extend(graph, "work", "node B implements Named { name: String @key }")
    put(graph, "work", node("B", "b", label="x"), node("A", "a"))
    graph.branches.merge("work")
    assert said(graph, "node:B") == {"b": {"name": "b", "label": "x", "rank": 4}}
    assert said(graph, "node:A")["a"]["rank"] == 4


def test_cherry_pick_and_revert_and_rebase_combine_schemas(g: og.Graph) -> None:
    extend(g, "work", "node Team { name: String @key }\nnode Person { level: I32 @default(7) }")
    picked = g.snapshot("work").commit_id
    put(g, "work", node("Team", "t"), person("bob", age=30, level=8))
    extend(g, "main", "node Club { name: String @key }\nnode Person { nick: String? }")
    put(g, "main", person("ada", age=30, nick="A"))
    g.commits.cherry_pick(picked, onto="main")
    assert said(g, "node:Person")["ada"] == {"name": "ada", "age": 30, "kind": None, "nick": "A", "level": 7}
    assert said(g, "node:Team") == {}
    put(g, "main", node("Team", "m"))
    g.branches.create("copy", "work")
    g.branches.rebase("copy", onto="main")
    assert set(said(g, "node:Team", "copy")) == {"t", "m"}
    assert said(g, "node:Person", "copy")["bob"]["level"] == 8
    g.branches.merge("work")
    assert set(said(g, "node:Team")) == {"t", "m"}
    before = g.snapshot()
    extend(g, "main", "node Extra { name: String @key }")
    added = g.snapshot().commit_id
    extend(g, "main", "node Person { hat: I32? }")
    g.commits.revert(added)
    assert g.snapshot().catalog.node("Extra") is None
    person_type = g.snapshot().catalog.node("Person")
    assert person_type is not None
    assert "hat" in person_type.by_name
    assert before.catalog.node("Extra") is None


def test_a_property_that_theirs_requires_is_filled_by_an_answer_for_a_row_of_ours(g: og.Graph) -> None:
    change(g, "work", BASE.replace("age: I32?", "age: I32"))
    extend(g, "main", "node Person { hat: I32? }")
    put(g, "main", person("cy", hat=5))
    (found,) = conflicts(g)
    assert (found.kind, found.entity_id) == ("ValueConstraintViolation", "cy")
    image = {"properties": {"age": 9}}
    g.branches.merge(
        "work", resolutions=[{"type_name": "Person", "entity_id": "cy", "take": "custom", "image": image}]
    )
    assert said(g, "node:Person")["cy"] == {"name": "cy", "age": 9, "hat": 5, "kind": None}
    with pytest.raises(og.ValidationError):
        put(g, "main", person("dee"))


@pytest.mark.parametrize("more", ["", "node Extra { name: String @key }"])
def test_a_wider_type_is_not_taken_back_under_values_that_need_it(g: og.Graph, more: str) -> None:
    wider = BASE.replace("age: I32?", "age: I64?")
    change(g, "main", wider)
    widened = g.snapshot().commit_id
    if more:
        extend(g, "main", more)
    put(g, "main", person("cy", age=2**40))
    with pytest.raises(og.SchemaChangeUnsupported, match="cannot go back"):
        g.commits.revert(widened)
    put(g, "main", person("cy", age=2))
    g.commits.revert(widened)
    assert said(g, "node:Person")["cy"]["age"] == 2
    with pytest.raises(og.ValidationError):
        put(g, "main", person("cy", age=2**40))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("@range(age, 6..9)", "@range(age, 0..5)"), ("@default(9)", "@range(age, 0..5)")],
)
def test_rules_that_no_value_satisfies_together_are_answered(g: og.Graph, ours: str, theirs: str) -> None:
    g.branches.create("old", "main")
    g.mutate("query q() { delete Person where age = 30 }")
    g.mutate("query q() { delete Person where age = 30 }", branch="work")
    change(g, "main", BASE.replace("age: I32?", f"age: I32? {ours}"))
    change(g, "work", BASE.replace("age: I32?", f"age: I32? {theirs}"))
    (found,) = conflicts(g)
    assert found.entity_id == "node Person.age rules"
    g.branches.merge("work", resolutions=[{**found.to_json(), "take": "theirs"}])
    kept = g.snapshot().catalog.node("Person")
    assert kept is not None
    assert [(rule.low, rule.high) for rule in kept.ranges] == [(0, 5)]
    assert kept.by_name["age"].default is None


def test_blobs_vectors_and_indexes_of_both_sides_come_together(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "b", "node D { name: String @key  b: Blob?  t: String? }")
    put(graph, "main", *(node("D", name, b="base64:aGk=", t="x") for name in ("x", "y")))
    graph.branches.create("work")
    extend(graph, "work", "node D { v: Vector(2)? @index  w: I32 @default(1) }")
    extend(graph, "main", "node D { m: Blob?  t: String? @index }")
    put(graph, "main", node("D", "x", b="base64:aGg=", m="base64:bQ==", t="x"))
    put(graph, "work", node("D", "y", b="base64:eQ==", t="y", v=[1, 2], w=4), node("D", "n", b="base64:bg=="))
    graph.branches.merge("work")
    rows = {
        row["d.name"]: (row["d.t"], row["d.v"], row["d.w"])
        for row in graph.query("query q() { match { $d: D } return { $d.name, $d.t, $d.v, $d.w } }")
    }
    assert rows == {"x": ("x", None, 1), "y": ("y", [1.0, 2.0], 4), "n": (None, None, 1)}
    blobs = {name: graph.blob("node", "D", name, "b").read() for name in "xyn"}
    assert blobs == {"x": b"hh", "y": b"y", "n": b"n"}
    assert graph.blob("node", "D", "x", "m").read() == b"m"


def test_an_edge_of_a_new_type_whose_node_ours_deleted_is_an_orphan(g: og.Graph) -> None:
    extend(g, "work", "edge Likes: Person -> Person")
    put(g, "work", {"edge": "Likes", "from": "ada", "to": "bob", "data": {"id": "l"}})
    extend(g, "main", "node Person { hat: I32? }")
    g.mutate('query q() { delete Person where name = "bob" }')
    (found,) = conflicts(g)
    assert (found.kind, found.type_name, found.entity_id) == ("OrphanEdge", "Likes", "l")
    keep = {"entity_kind": "node", "type_name": "Person", "entity_id": "bob", "take": "base"}
    g.branches.merge("work", resolutions=[keep])
    assert set(said(g, "node:Person")) == {"ada", "bob"}
    assert set(said(g, "edge:Likes")) == {"l"}


def test_branches_that_are_merged_criss_cross_keep_one_identity(g: og.Graph) -> None:
    extend(g, "work", "node A { name: String @key }\nnode C { name: String @key }")
    extend(g, "main", "node B { name: String @key }\nnode C { name: String @key }")
    put(g, "work", node("C", "w"))
    put(g, "main", node("C", "m"))
    g.branches.create("copy", "main")
    g.branches.merge("work")
    g.branches.merge("copy", into="work")
    put(g, "work", node("C", "w2"), node("A", "a"))
    put(g, "main", node("C", "m2"), node("B", "b"))
    g.branches.merge("work")
    g.branches.merge("main", into="work")
    assert set(said(g, "node:C")) == {"m", "m2", "w", "w2"}
    assert g.diff("main", "work").total == 0


def test_a_target_whose_schema_moves_meanwhile_is_looked_at_again(
    g: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    extend(g, "main", "node Person { hat: I32? }")
    extend(g, "work", "node Person { level: I32 @default(7) }")
    put(g, "work", person("dee", level=8))
    came: list[str] = []

    def overtake(point: failpoints.Failpoint) -> None:
        if point is failpoints.Failpoint.MERGE_AFTER_CHECKS and not came:
            came.append("once")
            extend(
                og.open(g.uri),
                "main",
                "node Person { shoe: I32 @default(40) }\nnode Club { name: String @key }",
            )

    monkeypatch.setattr("omnigraph.graph.merge.work.hit", overtake)
    g.branches.merge("work")
    assert came == ["once"]
    assert said(g, "node:Person")["dee"] == {
        "name": "dee",
        "age": None,
        "kind": None,
        "hat": None,
        "level": 8,
        "shoe": 40,
    }
    assert said(g, "node:Club") == {}
