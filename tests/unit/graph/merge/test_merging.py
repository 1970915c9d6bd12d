"""Merging through the public surface: who is adopted, what is checked, how conflicts are answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.model.arrow_values import rows_to_plain
from support.compaction import Compaction

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  mail: String? @unique  @range(age, 0..150) }
node City { name: String @key  people: I64? @merge(sum) }
edge Knows: Person -> Person { note: String? }
edge LivesIn: Person -> City @card(0..1) { note: String? }
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    """Ada and Bob know each other; Oslo; a branch `work`."""
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    graph.load(
        [
            person("ada", age=36),
            person("bob", age=40),
            {"type": "City", "data": {"name": "oslo", "people": 100}},
            edge("Knows", "k1", "ada", "bob"),
        ],
        mode="append",
    )
    graph.branches.create("work")
    return graph


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def edge(type_: str, id_: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": type_, "from": source, "to": target, "data": {"id": id_, **data}}


def put(graph: og.Graph, branch: str, *records: dict[str, Any]) -> None:
    graph.load(list(records), mode="merge", branch=branch)


def drop(graph: og.Graph, branch: str, name: str) -> None:
    graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": name}, branch=branch)


def said(graph: og.Graph, key: str, branch: str = "main") -> dict[str, dict[str, Any]]:
    snapshot = graph.snapshot(branch)
    table = snapshot.catalog.table(key)
    assert table is not None
    return {row.pop("id"): row for row in rows_to_plain(table, snapshot.table(key).scan())}


def refused(graph: og.Graph, **how: Any) -> tuple[Any, ...]:
    before = graph.snapshot().commit_id
    with pytest.raises(og.MergeConflicts) as caught:
        graph.branches.merge("work", **how)
    assert graph.snapshot().commit_id == before
    found: tuple[Any, ...] = caught.value.conflicts
    return found


def pins(graph: og.Graph, branch: str = "main") -> dict[str, str]:
    record = graph.internals.core.truth.state(branch).head
    return {entry.key: entry.pin.path for entry in record.tables.values()}


def test_a_table_that_only_the_source_changed_is_adopted_by_pointer(g: og.Graph) -> None:
    put(g, "work", person("cy"))
    put(g, "main", {"type": "City", "data": {"name": "rome"}})
    before = pins(g)
    done = g.branches.merge("work")
    assert done.outcome == "merged"
    assert dict(done.counts) == {"node:Person": done.counts["node:Person"]}
    assert done.counts["node:Person"].inserted == 1
    after = pins(g)
    assert after["node:Person"] == pins(g, "work")["node:Person"]
    assert {key for key in after if after[key] != before[key]} == {"node:Person"}
    assert set(said(g, "node:City")) == {"oslo", "rome"}


def test_what_was_adopted_counts_as_unchanged_later_even_after_compaction(g: og.Graph) -> None:
    put(g, "work", person("cy"))
    g.branches.merge("work")
    put(g, "main", person("dee"))
    g.branches.merge("main", into="work")
    g.commit_work(Compaction(), branch="main")
    put(g, "work", person("eve"))
    before = pins(g, "work")["node:Person"]
    assert g.branches.merge("work").outcome == "fast_forward"
    assert pins(g)["node:Person"] == before
    assert set(said(g, "node:Person")) == {"ada", "bob", "cy", "dee", "eve"}


def test_a_branch_that_only_had_maintenance_is_up_to_date(g: og.Graph) -> None:
    put(g, "work", person("cy"))
    put(g, "work", person("dee"))
    g.branches.merge("work")
    assert g.commit_work(Compaction(), branch="work") is not None
    assert g.branches.merge("work").outcome == "already_up_to_date"


def test_a_target_that_only_had_maintenance_is_fast_forwarded(g: og.Graph) -> None:
    put(g, "main", person("cy"))
    put(g, "main", person("dee"))
    g.branches.merge("main", into="work")
    g.commit_work(Compaction(), branch="main")
    put(g, "work", person("eve"))
    assert g.branches.merge("work").outcome == "fast_forward"
    assert "eve" in said(g, "node:Person")


def test_guards_come_before_anything_else(g: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="itself"):
        g.branches.merge("main", into=" main ")
    with pytest.raises(og.NotFound):
        g.branches.merge("nowhere")
    with pytest.raises(og.NotFound):
        g.branches.merge("work", into="nowhere")
    with pytest.raises(og.BadInput, match="strategy"):
        g.branches.merge("work", strategy="mine")
    reader = og.open(g.uri, read_only=True)
    with pytest.raises(og.ReadOnly):
        reader.branches.merge("work")
    assert reader.branches.merge("work", dry_run=True).outcome == "already_up_to_date"


@pytest.mark.parametrize("adopted", [True, False], ids=["adopted table", "merged table"])
def test_an_edge_whose_node_the_other_side_deleted_is_an_orphan(g: og.Graph, adopted: bool) -> None:
    put(g, "work", edge("LivesIn", "l1", "bob", "oslo"))
    if not adopted:
        put(g, "main", edge("LivesIn", "l2", "ada", "oslo"))
    drop(g, "main", "bob")
    (found,) = refused(g)
    assert (found.kind, found.entity_kind, found.type_name, found.entity_id) == (
        "OrphanEdge",
        "edge",
        "LivesIn",
        "l1",
    )
    assert found.theirs == {"properties": {"note": None}, "endpoints": {"from": "bob", "to": "oslo"}}
    assert (found.base, found.ours) == (None, None)


def test_an_edge_that_the_target_keeps_is_an_orphan_when_the_source_deleted_its_node(g: og.Graph) -> None:
    put(g, "main", edge("Knows", "k2", "bob", "ada"), edge("Knows", "k3", "bob", "bob"))
    drop(g, "work", "bob")
    assert [(item.kind, item.entity_id) for item in refused(g)] == [
        ("OrphanEdge", "k2"),
        ("OrphanEdge", "k3"),
    ]


def test_unique_value_and_cardinality_rules_hold_for_the_merged_graph(g: og.Graph) -> None:
    put(g, "work", person("cy", mail="x@y"), edge("LivesIn", "l1", "ada", "oslo"))
    put(g, "main", person("dee", mail="x@y"), edge("LivesIn", "l2", "ada", "oslo"))
    found = {item.kind: item for item in refused(g)}
    assert set(found) == {"UniqueViolation", "CardinalityViolation"}
    assert found["UniqueViolation"].entity_id == "cy"
    assert found["CardinalityViolation"].entity_id is None
    assert "ada" in found["CardinalityViolation"].message
    assert found["UniqueViolation"].entities == ("cy", "dee")
    assert found["CardinalityViolation"].entities == ("l1", "l2"), "the edge to blame, and what stands there"
    assert found["CardinalityViolation"].to_json()["entities"] == ["l1", "l2"]
    answers = [
        {"type_name": "Person", "entity_id": "cy", "take": "custom", "image": {"properties": {"mail": "z"}}},
        {"entity_kind": "edge", "type_name": "LivesIn", "entity_id": "l1", "take": "ours"},
    ]
    g.branches.create("fork")
    assert g.branches.merge("work", into="fork", resolutions=answers).outcome == "merged"
    answers[1] = {"entity_kind": "edge", "type_name": "LivesIn", "entity_id": "l2", "take": "theirs"}
    assert g.branches.merge("work", resolutions=answers).outcome == "merged"
    lives = [
        g.query("query q() { match { $p $e:livesIn $c } return { $e.id } }", branch=branch).scalar()
        for branch in ("fork", "main")
    ]
    assert lives == ["l2", "l1"]


def test_a_fast_forward_returns_its_counts(g: og.Graph) -> None:
    put(g, "work", person("cy"), person("dee"))
    done = g.branches.merge("work")
    assert (done.outcome, done.counts["node:Person"].inserted) == ("fast_forward", 2)


def test_structural_conflicts_of_all_tables_come_before_any_rule(g: og.Graph) -> None:
    put(
        g, "work", person("ada", age=1), person("cy", mail="x@y"), edge("Knows", "k1", "ada", "bob", note="w")
    )
    put(
        g,
        "main",
        person("ada", age=2),
        person("dee", mail="x@y"),
        edge("Knows", "k1", "ada", "bob", note="m"),
    )
    assert [(item.kind, item.type_name, item.entity_id) for item in refused(g)] == [
        ("DivergentUpdate", "Person", "ada"),
        ("DivergentUpdate", "Knows", "k1"),
    ]


def test_the_error_names_three_conflicts_and_carries_all(g: og.Graph) -> None:
    for branch, age in (("work", 1), ("main", 2)):
        put(g, branch, *(person(f"p{n}", age=age) for n in range(5)))
    with pytest.raises(og.MergeConflicts, match=r"\+2 more") as caught:
        g.branches.merge("work")
    assert len(caught.value.conflicts) == 5
    assert caught.value.code == "merge_conflicts"


def test_a_sum_beyond_the_range_of_a_rule_is_a_value_violation(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node C { name: String @key  n: I32 @merge(sum)  @range(n, 0..10) }")
    graph.load([{"type": "C", "data": {"name": "c", "n": 1}}], mode="append")
    graph.branches.create("work")
    for branch in ("main", "work"):
        graph.load([{"type": "C", "data": {"name": "c", "n": 8}}], mode="merge", branch=branch)
    graph.load([{"type": "C", "data": {"name": "c", "n": 9}}], mode="merge", branch="work")
    (found,) = refused(graph)
    assert (found.kind, found.entity_id) == ("ValueConstraintViolation", "c")
    assert found.ours == {"properties": {"name": "c", "n": 8}}


def test_a_dry_run_shows_outcome_counts_and_conflicts_and_changes_nothing(g: og.Graph) -> None:
    put(g, "work", person("ada", age=37), person("cy"))
    before = g.snapshot().commit_id
    tried = g.branches.merge("work", dry_run=True)
    assert (tried.outcome, tried.commit_id, tried.conflicts) == ("fast_forward", None, ())
    counts = tried.counts["node:Person"]
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 1, 0)
    put(g, "main", person("ada", age=38))
    conflicted = g.branches.merge("work", dry_run=True)
    assert [item.kind for item in conflicted.conflicts] == ["DivergentUpdate"]
    assert g.commits.list(limit=2)[1].id == before


def test_the_source_is_deleted_after_every_success_and_a_refusal_never_fails_the_merge(g: og.Graph) -> None:
    put(g, "work", person("cy"))
    g.branches.create("child", "work")
    first = g.branches.merge("work", delete_branch=True)
    assert (first.outcome, first.branch_deleted) == ("fast_forward", False)
    assert first.branch_delete_error is not None
    assert "child" in first.branch_delete_error
    g.branches.delete("child")
    second = g.branches.merge("work", delete_branch=True)
    assert (second.outcome, second.branch_deleted) == ("already_up_to_date", True)
    assert g.branches.list() == ["main"]


def test_the_message_and_the_actor_are_in_the_commit(g: og.Graph) -> None:
    put(g, "work", person("cy"))
    done = g.branches.merge("work", message="reviewed")
    commit = g.commits.show(str(done.commit_id))
    assert (commit.operation, commit.actor, commit.message) == ("merge", "act-ada", "reviewed")


def _disagree(g: og.Graph) -> None:
    put(g, "work", person("ada", age=1, nick="w"), person("bob", age=50))
    put(g, "main", person("ada", age=2, nick="m"))
    drop(g, "main", "bob")


@pytest.mark.parametrize(("take", "age"), [("base", 36), ("ours", 2), ("theirs", 1)])
def test_conflicts_are_answered_one_by_one(g: og.Graph, take: str, age: int) -> None:
    _disagree(g)
    answers: list[dict[str, Any]] = [{"type_name": "Person", "entity_id": "ada", "take": take}]
    (left,) = refused(g, resolutions=answers)
    assert left.entity_id == "bob"
    answers.append({"type_name": "Person", "entity_id": "bob", "take": "ours"})
    assert g.branches.merge("work", resolutions=answers).outcome == "merged"
    people = said(g, "node:Person")
    assert set(people) == {"ada"}
    assert people["ada"]["age"] == age


def test_conflicts_are_answered_by_rule_and_an_answer_for_one_goes_first(g: og.Graph) -> None:
    _disagree(g)
    answers = [
        {"kind": "DivergentUpdate", "take": "theirs"},
        {"type_name": "*", "take": "ours"},
        {"entity_id": "ada", "take": "custom", "image": {"properties": {"age": 99}}},
    ]
    g.branches.merge("work", resolutions=answers)
    people = said(g, "node:Person")
    assert people == {"ada": {"name": "ada", "age": 99, "nick": "m", "mail": None}}


def test_a_custom_image_can_delete_and_must_fit_the_type(g: og.Graph) -> None:
    _disagree(g)
    gone = {"entity_id": "bob", "take": "custom", "image": None}
    for image, said_ in (({"properties": {"age": "x"}}, "age"), ({"properties": {"agee": 1}}, "agee")):
        with pytest.raises(og.BadInput, match=said_):
            g.branches.merge(
                "work", resolutions=[gone, {"entity_id": "ada", "take": "custom", "image": image}]
            )
    renamed = {"entity_id": "ada", "take": "custom", "image": {"properties": {"name": "eve"}}}
    with pytest.raises(og.BadInput, match="part of its key"):
        g.branches.merge("work", resolutions=[gone, renamed])
    too_old = {"entity_id": "ada", "take": "custom", "image": {"properties": {"name": "ada", "age": 151}}}
    (found,) = refused(g, resolutions=[gone, too_old])
    assert found.kind == "ValueConstraintViolation"


def test_a_saved_list_is_answered_later_and_an_answer_to_other_images_is_not_used(
    g: og.Graph, tmp_path: Path
) -> None:
    _disagree(g)
    file = tmp_path / "conflicts.json"
    listed = [item.to_json() for item in refused(g)]
    for item in listed:
        item["take"] = "theirs"
    file.write_text(json.dumps({"conflicts": listed}))
    put(g, "main", person("ada", age=3))
    again = og.open(g.uri, actor="act-bob")
    (left,) = refused(again, resolutions=file)
    assert left.entity_id == "ada"
    assert "other images" in left.message
    listed[0] = left.to_json() | {"take": "ours"}
    assert again.branches.merge("work", resolutions=listed).outcome == "merged"
    assert said(g, "node:Person")["ada"]["age"] == 3
    assert said(g, "node:Person")["bob"]["age"] == 50


def test_broken_rules_are_answered_like_conflicts(g: og.Graph) -> None:
    put(g, "main", edge("Knows", "k2", "bob", "ada"), person("dee", mail="x@y"))
    drop(g, "work", "bob")
    put(g, "work", person("cy", mail="x@y"))
    kinds = {item.kind for item in refused(g)}
    assert kinds == {"OrphanEdge", "UniqueViolation"}
    answers = [
        {"kind": "OrphanEdge", "take": "theirs"},
        {"kind": "UniqueViolation", "take": "custom", "image": {"properties": {"mail": "z@y"}}},
    ]
    g.branches.merge("work", resolutions=answers)
    assert said(g, "edge:Knows") == {}
    assert said(g, "node:Person")["cy"]["mail"] == "z@y"
    assert said(g, "node:Person")["dee"]["mail"] == "x@y"


def test_a_node_can_be_brought_back_to_save_an_edge(g: og.Graph) -> None:
    put(g, "main", edge("Knows", "k2", "bob", "ada"))
    drop(g, "work", "bob")
    keep = {"entity_kind": "node", "type_name": "Person", "entity_id": "bob", "take": "base"}
    g.branches.merge("work", resolutions=[keep])
    assert set(said(g, "node:Person")) == {"ada", "bob"}
    assert set(said(g, "edge:Knows")) == {"k2"}


@pytest.mark.parametrize(
    "bad",
    [
        "text",
        [1],
        [{"take": "mine"}],
        [{"take": "custom"}],
        [{"take": "ours", "typ": "x"}],
        {"a": 1},
        [{"take": "custom", "image": 5}],
        [{"take": "custom", "image": {"properties": 5}}],
        [{"take": "custom", "image": {"endpoints": 5}}],
        [{"take": "ours", "kind": "Divergent"}],
        [{"take": "ours", "entity_kind": "person"}],
    ],
)
def test_answers_that_cannot_be_understood_are_refused(g: og.Graph, bad: Any) -> None:
    with pytest.raises(og.BadInput):
        g.branches.merge("work", resolutions=bad)


def test_property_strategy_combines_what_does_not_overlap(g: og.Graph) -> None:
    put(g, "work", person("ada", age=36, nick="w"), person("bob", age=41))
    put(g, "main", person("ada", age=37), person("bob", age=42))
    assert len(refused(g)) == 2
    (left,) = refused(g, strategy="property")
    assert (left.entity_id, left.properties) == ("bob", ("age",))
    g.branches.merge("work", strategy="theirs")
    people = said(g, "node:Person")
    assert (people["ada"]["age"], people["ada"]["nick"], people["bob"]["age"]) == (36, "w", 41)


def test_a_property_with_a_merge_rule_is_settled_under_the_default_strategy(g: og.Graph) -> None:
    for branch, people in (("work", 110), ("main", 105)):
        put(g, branch, {"type": "City", "data": {"name": "oslo", "people": people}})
    g.branches.merge("work")
    assert said(g, "node:City") == {"oslo": {"name": "oslo", "people": 115}}


def test_blobs_are_compared_by_content_and_carried_over(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node Doc { name: String @key  body: Blob?  note: String? }")

    def doc(name: str, body: str | None, note: str | None = None) -> dict[str, Any]:
        return {"type": "Doc", "data": {"name": name, "body": body, "note": note}}

    graph.load([doc("a", "base64:AAEC"), doc("b", None)], mode="append")
    graph.branches.create("work")
    graph.load([doc("a", "base64:AAEC", "touched"), doc("c", "base64:BBBB")], mode="merge", branch="work")
    graph.load([doc("b", "base64:", "x"), doc("a", "base64:AAEC")], mode="merge")
    graph.branches.merge("work")
    snapshot = graph.snapshot()
    table = graph.internals.core.tables.get(snapshot.namespace, "node:Doc")
    rows = table.dataset.to_table(blob_handling="all_binary").to_pylist()
    assert {row["name"]: (row["body"], row["note"]) for row in rows} == {
        "a": (b"\x00\x01\x02", "touched"),
        "b": (b"", "x"),
        "c": (b"\x04\x10\x41", None),
    }
    graph.load([doc("a", "base64:AAAA")], mode="merge", branch="work")
    graph.load([doc("a", "base64:CCCC")], mode="merge")
    (found,) = refused(graph)
    assert found.ours["properties"]["body"] == "base64:CCCC"


def test_a_commit_is_reverted_and_the_revert_is_reverted(g: og.Graph) -> None:
    put(g, "main", person("ada", age=50), person("cy"))
    changed = g.snapshot().commit_id
    put(g, "main", person("dee"))
    done = g.commits.revert(changed)
    assert (done.outcome, g.commits.show(str(done.commit_id)).operation) == ("merged", "revert")
    people = said(g, "node:Person")
    assert set(people) == {"ada", "bob", "dee"}
    assert people["ada"]["age"] == 36
    g.commits.revert(str(done.commit_id))
    assert set(said(g, "node:Person")) == {"ada", "bob", "cy", "dee"}
    assert g.commits.show(g.snapshot().commit_id).merged_parent is None


def test_reverting_what_was_changed_again_is_a_conflict(g: og.Graph) -> None:
    put(g, "main", person("ada", age=50))
    changed = g.snapshot().commit_id
    put(g, "main", person("ada", age=51))
    with pytest.raises(og.MergeConflicts) as caught:
        g.commits.revert(changed)
    assert [item.kind for item in caught.value.conflicts] == ["DivergentUpdate"]
    g.commits.revert(changed, strategy="theirs")
    assert said(g, "node:Person")["ada"]["age"] == 36


def test_reverting_a_node_that_has_edges_by_now_is_refused(g: og.Graph) -> None:
    put(g, "main", person("cy"))
    changed = g.snapshot().commit_id
    put(g, "main", edge("Knows", "k9", "cy", "ada"))
    with pytest.raises(og.MergeConflicts) as caught:
        g.commits.revert(changed)
    assert [(item.kind, item.entity_id) for item in caught.value.conflicts] == [("OrphanEdge", "k9")]


def test_the_first_commit_cannot_be_picked_or_reverted(g: og.Graph) -> None:
    first = g.commits.list()[-1].id
    for call in (g.commits.revert, g.commits.cherry_pick):
        with pytest.raises(og.BadInput, match="first commit of the graph"):
            call(first)


def test_one_commit_of_another_branch_is_picked_without_what_came_before_it(g: og.Graph) -> None:
    put(g, "work", person("cy"))
    put(g, "work", person("ada", age=60))
    picked = g.snapshot("work").commit_id
    put(g, "main", person("dee"))
    done = g.commits.cherry_pick(picked)
    people = said(g, "node:Person")
    assert set(people) == {"ada", "bob", "dee"}
    assert people["ada"]["age"] == 60
    again = g.commits.cherry_pick(picked)
    assert (again.outcome, again.commit_id) == ("already_up_to_date", None)
    assert g.commits.show(str(done.commit_id)).operation == "cherry_pick"
    assert g.branches.merge("work").outcome == "merged"
    assert set(said(g, "node:Person")) == {"ada", "bob", "cy", "dee"}


def test_a_node_type_and_an_edge_type_of_one_name_are_told_apart(tmp_path: Path) -> None:
    graph = og.init(
        tmp_path / "g", "node Tag { name: String @key }\nedge Tag: Tag -> Tag { code: String? @unique }"
    )
    tags = [{"type": "Tag", "data": {"name": name}} for name in ("a", "b")]
    graph.load(tags, mode="append")
    graph.branches.create("work")
    for branch, id_ in (("work", "a"), ("main", "e2")):
        graph.load([edge("Tag", id_, "a", "b", code="c")], mode="merge", branch=branch)
    (found,) = refused(graph)
    assert (found.kind, found.entity_kind, found.entity_id) == ("UniqueViolation", "edge", "a")
    assert found.theirs == {"properties": {"code": "c"}, "endpoints": {"from": "a", "to": "b"}}
    graph.branches.merge("work", resolutions=[{"kind": "UniqueViolation", "take": "ours"}])
    assert set(said(graph, "edge:Tag")) == {"e2"}
    assert set(said(graph, "node:Tag")) == {"a", "b"}


def test_the_commit_of_a_merge_notes_what_it_changed(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node Person { name: String @key  age: I32? }")
    graph.load([{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")], mode="append")
    graph.branches.create("review")
    review = og.open(graph.uri, branch="review")
    review.mutate(
        'query q() { insert Person { name: "cyd" }  update Person set { age: 7 } where name = "ada" }'
    )
    review.mutate('query q() { delete Person where name = "bob" }')
    done = graph.branches.merge("review", metadata={"task": "t-1"})
    assert done.commit_id is not None
    assert dict(graph.commits.show(done.commit_id).metadata) == {
        "merge.outcome": "fast_forward",
        "merge.inserted": "1",
        "merge.updated": "1",
        "merge.deleted": "1",
        "task": "t-1",
    }
