"""Diffs of branches, commits and snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.sdk.graph import Graph
from support.care import at_once

SCHEMA = """
node Person { name: String @key  age: I32? }
node City { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge LivesIn: Person -> City
"""
AGE = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = og.init(tmp_path / "g", SCHEMA)
    people = [{"type": "Person", "data": {"name": name}} for name in "abc"]
    knows = {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "k1"}}
    graph.load([*people, {"type": "City", "data": {"name": "Rome"}}, knows], mode="append")
    graph.branches.create("side")
    graph.mutate(AGE, {"n": "b", "a": 5}, branch="side")
    graph.mutate('query q() { delete Person where name = "a" }', branch="side")
    graph.load([{"type": "City", "data": {"name": "Oslo"}},
                {"edge": "LivesIn", "from": "b", "to": "Oslo", "data": {"id": "l1"}}],
               mode="append", branch="side")  # fmt: skip
    return graph


def test_edges_come_before_nodes_then_types_by_name_then_ids(graph: Graph) -> None:
    found = [(item.op, item.type_name, item.id) for item in graph.diff("main", "side")]
    assert found == [
        ("delete", "Knows", "k1"),
        ("insert", "LivesIn", "l1"),
        ("insert", "City", "Oslo"),
        ("delete", "Person", "a"),
        ("update", "Person", "b"),
    ]


def test_a_diff_the_other_way_round_is_the_inverse(graph: Graph) -> None:
    there, back = graph.diff("main", "side"), graph.diff("side", "main")
    inverse = {"insert": "delete", "delete": "insert", "update": "update"}
    assert [(item.id, item.before, item.after) for item in there] == [
        (item.id, item.after, item.before) for item in back
    ]
    assert [inverse[item.op] for item in there] == [item.op for item in back]


def test_images_and_ends_are_those_of_each_side(graph: Graph) -> None:
    changes = {item.id: item for item in graph.diff("main", "side")}
    assert changes["b"].before == {"properties": {"age": None, "name": "b"}}
    assert changes["b"].after == {"properties": {"age": 5, "name": "b"}}
    assert changes["k1"].endpoints == {"from": "a", "to": "b"} and changes["k1"].after is None
    assert changes["l1"].endpoints == {"from": "b", "to": "Oslo"}
    assert changes["b"].endpoints is None and changes["b"].version == graph.snapshot("side").version
    bare = graph.diff("main", "side", images=False).changes
    assert all(item.before is None and item.after is None for item in bare) and len(bare) == 5


def test_branches_commits_and_snapshots_can_be_compared(graph: Graph) -> None:
    ids = [item.id for item in graph.diff("main", "side")]
    main, side = graph.snapshot("main"), graph.snapshot("side")
    for from_ in ("main", main, main.commit_id):
        for to in ("side", side, side.commit_id):
            found = graph.diff(from_, to)
            assert [item.id for item in found] == ids
            assert (found.from_commit, found.to_commit) == (main.commit_id, side.commit_id)
    assert not graph.diff("side", "side") and graph.diff(main, "main").total == 0
    for wrong in ("nowhere", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        with pytest.raises(og.NotFound):
            graph.diff("main", wrong)


def test_counts_and_filters(graph: Graph) -> None:
    found = graph.diff("main", "side")
    assert found.total == 5 and found
    assert found.counts == {
        "edge:Knows": {"insert": 0, "update": 0, "delete": 1},
        "edge:LivesIn": {"insert": 1, "update": 0, "delete": 0},
        "node:City": {"insert": 1, "update": 0, "delete": 0},
        "node:Person": {"insert": 0, "update": 1, "delete": 1},
    }
    assert [item.id for item in graph.diff("main", "side", kinds=["node"], ops=["insert"])] == ["Oslo"]
    assert [item.id for item in graph.diff("main", "side", types=["Knows", "City"])] == ["k1", "Oslo"]
    assert graph.diff("main", "side", ops=["update"]).counts == {
        "node:Person": {"insert": 0, "update": 1, "delete": 0}
    }
    with pytest.raises(og.NotFound, match="Person"):
        graph.diff("main", "side", types=["Persn"])
    with pytest.raises(og.BadInput):
        graph.diff("main", "side", ops=["upsert"])


def test_a_filter_may_come_from_any_collection_of_texts_and_nothing_else(graph: Graph) -> None:
    assert [item.id for item in graph.diff("main", "side", kinds=iter(["node"]), ops={"insert"})] == ["Oslo"]
    for name in ("kinds", "types", "ops"):
        for wrong in (5, "node", [5], b"node", object()):
            with pytest.raises(og.BadInput, match=name):
                graph.diff("main", "side", **{name: wrong})


@pytest.mark.parametrize("target", [5, None, ["main"], b"main"])
def test_what_names_no_commit_is_bad_input(graph: Graph, target: Any) -> None:
    with pytest.raises(og.BadInput, match="neither a snapshot"):
        graph.diff(target, "main")


def test_a_commit_that_was_dropped_or_never_was_is_told_as_such(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    dropped = graph.commits.list()[-1].id
    for age in (1, 2):
        graph.mutate(AGE, {"n": "c", "a": age})
    graph.cleanup(keep=1)
    with pytest.raises(og.HistoricalVersionReclaimed, match=dropped):
        graph.diff(dropped, "main")
    with pytest.raises(og.HistoricalVersionReclaimed, match=dropped):
        graph.diff("main", dropped)
    with pytest.raises(og.NotFound, match="there is no commit 7ZZZ"):
        graph.diff("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "main")
    graph.branches.create(dropped)
    assert not graph.diff(dropped, "main")


@pytest.mark.parametrize("limit", range(1, 7))
def test_pages_of_every_size_say_the_same(graph: Graph, limit: int) -> None:
    found = graph.diff("main", "side")
    page, changes = found.page(limit), []
    while True:
        changes += page.changes
        assert len(page.changes) <= limit
        if page.next_page_token is None:
            break
        again = found.page(limit, page.next_page_token)
        page = graph.diff("main", "side").page(limit, page.next_page_token)
        assert page == again
    assert changes == found.changes
    with pytest.raises(og.ChangeCursorRejected):
        graph.diff("side", "main").page(1, found.page(1).next_page_token)


def test_renames_show_as_schema_changes_and_not_as_rows(graph: Graph) -> None:
    before = graph.snapshot()
    graph.schema.apply(
        SCHEMA.replace("node City {", 'node Town @rename_from("City") {').replace("-> City", "-> Town")
        .replace("age: I32?", 'years: I32? @rename_from("age")')
    )  # fmt: skip
    found = graph.diff(before, "main")
    assert found.changes == [] and found.counts == {} and found.schema is not None and found
    assert {step["kind"] for step in found.schema.steps} >= {"rename_type", "rename_property"}
    assert graph.diff(before, before).schema is None
    across = graph.diff("side", "main", types=["Person"])
    (update,) = [item for item in across if item.op == "update"]
    assert update.before == {"properties": {"age": 5, "name": "b"}}
    assert update.after == {"properties": {"name": "b", "years": None}}
    assert [item.id for item in graph.diff("side", "main", types=["City"])] == ["Oslo"]


def test_a_dropped_type_is_gone_with_its_rows_and_its_name_may_come_back(graph: Graph) -> None:
    before = graph.snapshot()
    without = SCHEMA.replace("edge Knows: Person -> Person { since: Date? }\n", "")
    graph.schema.apply(without, allow_drop=True)
    assert [(item.op, item.id) for item in graph.diff(before, "main")] == [("delete", "k1")]
    graph.schema.apply(SCHEMA)
    graph.load([{"edge": "Knows", "from": "b", "to": "c", "data": {"id": "k1"}}], mode="append")
    found = graph.diff(before, "main").changes
    assert sorted((item.op, item.id) for item in found) == [("delete", "k1"), ("insert", "k1")]
    assert len({item.type_id for item in found}) == 2


def test_two_branches_that_gave_one_number_to_two_things_are_told_apart(graph: Graph) -> None:
    side = og.open(graph.uri, branch="side")
    graph.schema.apply(
        SCHEMA.replace("age: I32?", "age: I32?\n  email: String?") + "node Dog { name: String @key }"
    )
    side.schema.apply(
        SCHEMA.replace("age: I32?", "age: I32?\n  phone: String?") + "node Cat { name: String @key }"
    )
    for handle, pet, property_ in ((graph, "Dog", "email"), (side, "Cat", "phone")):
        person = {"type": "Person", "data": {"name": "c", property_: "x"}}
        handle.load([{"type": pet, "data": {"name": "rex"}}, person], mode="merge")
    changes = {(item.op, item.type_name, item.id) for item in graph.diff("main", "side", kinds=["node"])}
    assert {("delete", "Dog", "rex"), ("insert", "Cat", "rex"), ("update", "Person", "c")} <= changes
