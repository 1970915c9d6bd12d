"""Queries that are stored with the graph: declared in files, checked, versioned, merged, kept."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I32? }"
OF_AGE = "query of_age($age: I32) { match { $p: Person { age: $age } } return { $p.name } }"
NAMES = "query names() { match { $p: Person } return { $p.name } order { $p.name } }"
ADD = "query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }"
OTHER_AGE = OF_AGE.replace("$p.name }", "$p.name, $p.age }")
THIRD_AGE = OF_AGE.replace("$p.name }", "$p.age }")


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g", SCHEMA, actor="ada")
    made.queries.apply({"all": f"{OF_AGE}\n{NAMES}\n{ADD}"})
    return made


def names(graph: og.Graph, **where: str) -> list[str]:
    return [query.name for query in graph.queries.list(**where)]


def test_a_folder_of_files_is_stored_with_what_each_query_says_of_itself(tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    (folder / "people").mkdir(parents=True)
    (folder / "people" / "read.gq").write_text(f"// The file.\n\n// Who is\n// so old.\n{OF_AGE}\n{NAMES}")
    (folder / "write.gq").write_text(
        'query add($n: String) @description("adds") @instruction("only once") { insert Person { name: $n } }'
    )
    (folder / "notes.txt").write_text("nothing")
    graph = og.init(tmp_path / "g", SCHEMA)
    assert graph.queries.apply(folder, message="first").added == ["add", "names", "of_age"]
    add, plain, of_age = graph.queries.list()
    assert (add.kind, add.description, add.instruction, add.place) == (
        "mutation",
        "adds",
        "only once",
        "write.gq:1",
    )
    assert (of_age.kind, of_age.description, of_age.place) == (
        "read",
        "Who is\nso old.",
        "people/read.gq:3",
    )
    assert plain.description is None
    assert [item.to_json() for item in of_age.params] == [{"name": "age", "kind": "int", "nullable": False}]
    assert graph.commits.list()[0].message == "first"


def test_the_same_queries_again_are_not_a_commit_wherever_they_stand(graph: og.Graph) -> None:
    head = graph.commits.list()[0].id
    done = graph.queries.apply({"elsewhere": f"// Another file.\n\n{ADD}\n\n{NAMES}\n{OF_AGE}"})
    assert (done.applied, graph.commits.list()[0].id) == (False, head)


def test_replace_removes_what_is_left_out_and_extend_keeps_it(graph: og.Graph) -> None:
    done = graph.queries.apply({"x": OTHER_AGE}, mode="extend")
    assert (done.added, done.changed, done.removed) == ([], ["of_age"], [])
    assert graph.queries.apply({"x": OTHER_AGE}).removed == ["add", "names"]
    assert names(graph) == ["of_age"]


def test_queries_that_do_not_fit_the_schema_are_named_with_their_places(graph: og.Graph) -> None:
    bad = "\n\nquery bad() {\n  match { $p: Persn }\n  return { $p.name }\n}"
    with pytest.raises(
        og.StoredQueryBroken, match=r"more\.gq:4:15: \[T1\] unknown node type 'Persn'"
    ) as told:
        graph.queries.apply({"more.gq": bad}, mode="extend")
    assert [(item["name"], item["place"]) for item in told.value.queries] == [("bad", "more.gq:3")]
    assert "bad" not in names(graph)


def test_a_schema_that_breaks_queries_is_refused_before_anything_is_published(graph: og.Graph) -> None:
    head = graph.commits.list()[0].id
    with pytest.raises(og.StoredQueryBroken) as told:
        graph.schema.apply("node Person { name: String @key }", allow_drop=True)
    assert [item["name"] for item in told.value.queries] == ["add", "of_age"]
    assert (graph.commits.list()[0].id, graph.run("of_age", {"age": 1}).rows) == (head, [])
    graph.schema.apply("node Person { name: String @key }", allow_drop=True, allow_broken_queries=True)
    with pytest.raises(og.TypeCheckError, match="no property 'age'"):
        graph.run("of_age", {"age": 1})
    graph.queries.apply({"x": "query more() { match { $p: Person } return { $p.name } }"}, mode="extend")
    assert graph.schema.apply(SCHEMA).applied, "what was broken before is in nobody's way"


def test_a_snapshot_is_asked_with_the_queries_that_it_has(graph: og.Graph) -> None:
    graph.run("add", {"name": "ada", "age": 3})
    then = graph.snapshot()
    graph.queries.apply({"x": OTHER_AGE})
    assert graph.run("of_age", {"age": 3}).rows == [{"p.name": "ada", "p.age": 3}]
    assert then.run("of_age", {"age": 3}).rows == [{"p.name": "ada"}]
    assert graph.run("names", snapshot=then.commit_id).rows == [{"p.name": "ada"}]
    assert names(graph, snapshot="HEAD~1") == ["add", "names", "of_age"]


def test_branches_merge_their_queries_by_name(graph: og.Graph) -> None:
    graph.branches.create("b")
    graph.queries.apply({"x": OTHER_AGE}, mode="extend", branch="b")
    graph.queries.remove("add", branch="b")
    graph.queries.apply({"y": NAMES.replace("names", "mine")}, mode="extend")
    merged = graph.branches.merge("b")
    assert (merged.outcome, names(graph)) == ("merged", ["mine", "names", "of_age"])
    assert graph.queries.show("of_age").text == OTHER_AGE
    graph.commits.revert(merged.commit_id)
    assert (names(graph), graph.queries.show("of_age").text) == (["add", "mine", "names", "of_age"], OF_AGE)


def test_a_fast_forward_takes_the_queries_along(graph: og.Graph) -> None:
    graph.branches.create("b")
    graph.queries.remove(["add", "names"], branch="b")
    assert graph.branches.merge("b").outcome == "fast_forward"
    assert names(graph) == ["of_age"]


def test_a_query_that_both_sides_changed_is_a_conflict_with_three_texts(graph: og.Graph) -> None:
    graph.branches.create("b")
    graph.queries.apply({"x": OTHER_AGE}, mode="extend", branch="b")
    graph.queries.apply({"x": THIRD_AGE}, mode="extend")
    with pytest.raises(og.MergeConflicts) as told:
        graph.branches.merge("b")
    (conflict,) = told.value.conflicts
    assert (conflict.kind, conflict.entity_kind, conflict.type_name) == ("QueryDiverged", "query", "of_age")
    images = [side["properties"]["text"] for side in (conflict.base, conflict.ours, conflict.theirs)]
    assert images == [OF_AGE, THIRD_AGE, OTHER_AGE]
    with pytest.raises(og.MergeConflicts):
        graph.branches.merge("b", resolutions=[{"take": "theirs"}])  # a rule for entities is none for queries
    own = {"properties": {"text": OF_AGE.replace("$p.name }", "$p.name as who }")}}
    answer = {**conflict.to_json(), "take": "custom", "image": own}
    assert graph.branches.merge("b", resolutions=[answer], dry_run=True).conflicts == ()
    graph.branches.merge("b", resolutions=[{"entity_kind": "query", "take": "theirs"}])
    assert graph.queries.show("of_age").text == OTHER_AGE


def test_a_query_that_the_merged_schema_breaks_is_a_conflict(graph: og.Graph) -> None:
    graph.queries.apply({"x": NAMES})
    graph.branches.create("b")
    graph.queries.apply({"x": OF_AGE}, mode="extend", branch="b")
    graph.schema.apply("node Person { name: String @key }", allow_drop=True)
    with pytest.raises(og.MergeConflicts, match="no property 'age'") as told:
        graph.branches.merge("b")
    assert [(item.kind, item.type_name) for item in told.value.conflicts] == [("QueryBroken", "of_age")]
    graph.branches.merge("b", resolutions=[{"kind": "QueryBroken", "take": "ours"}])
    assert names(graph) == ["names"]


def test_of_a_schema_and_a_query_that_race_the_second_is_checked_anew(graph: og.Graph) -> None:
    """Whichever comes first: never is a query stored that the schema does not fit."""
    for round in range(4):
        without = f"node Person {{ name: String @key  age: I32?  x{round}: I32? }}"
        graph.schema.apply(without)
        query = f"query q{round}() {{ match {{ $p: Person }} return {{ $p.x{round} }} }}"
        told: list[BaseException] = []
        gate = threading.Barrier(2)

        def one(query: str = query, gate: threading.Barrier = gate) -> None:
            gate.wait()
            graph.queries.apply({"x": query}, mode="extend")

        def other(gate: threading.Barrier = gate) -> None:
            gate.wait()
            graph.schema.apply(SCHEMA, allow_drop=True)

        def call(work: object, told: list[BaseException] = told) -> None:
            try:
                work()  # type: ignore[operator]
            except og.OmniError as error:
                told.append(error)

        threads = [threading.Thread(target=call, args=(work,)) for work in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 1, told
        snapshot = graph.snapshot()
        assert snapshot.queries.find_faults(snapshot.catalog) == ()
        graph.schema.apply(SCHEMA, allow_drop=True, allow_broken_queries=True)
        graph.queries.apply({"all": NAMES})


def test_other_writes_do_not_wait_for_other_queries(graph: og.Graph) -> None:
    """What a mutation relies on is its rows: queries that change beside it are nothing to it."""
    seen = graph.internals.read_state()
    graph.queries.remove("names")
    done = graph.run("add", {"name": "bob"}, if_commit=None)
    assert done.commit_id and seen.head.queries
    assert names(graph) == ["add", "of_age"]


def test_a_feed_carries_queries_to_another_graph(graph: og.Graph, tmp_path: Path) -> None:
    graph.run("add", {"name": "ada", "age": 3})
    graph.queries.apply({"x": OTHER_AGE})
    copy = og.init(tmp_path / "copy", SCHEMA)
    for block in graph.changes.poll(start="beginning").blocks[1:]:
        copy.changes.apply(block.to_json())
    assert copy.run("of_age", {"age": 3}).rows == graph.run("of_age", {"age": 3}).rows
    assert names(copy) == ["of_age"]


def test_cleanup_scrub_and_backup_keep_what_commits_name(graph: og.Graph, tmp_path: Path) -> None:
    graph.tags.create("first")
    graph.queries.apply({"x": OTHER_AGE})
    graph.queries.apply({"x": THIRD_AGE})
    graph.backup(tmp_path / "backup")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
        swept = og.open(tmp_path / "g")
        assert swept.cleanup(keep=1).schemas_removed == 1
    fresh = og.open(tmp_path / "g")
    assert fresh.repair(scrub=True).ok
    assert (names(fresh), names(fresh, snapshot="first")) == (["of_age"], ["add", "names", "of_age"])
    og.restore(tmp_path / "backup", tmp_path / "again")
    again = og.open(tmp_path / "again")
    assert [names(again, snapshot=place) for place in ("first", "HEAD~1", "HEAD")] == [
        ["add", "names", "of_age"],
        ["of_age"],
        ["of_age"],
    ]


def test_queries_whose_object_is_lost_are_damage_and_the_rows_are_still_read(
    graph: og.Graph, tmp_path: Path
) -> None:
    address = graph.snapshot().record.queries
    (tmp_path / "g" / "__manifest" / "schemas" / f"{address}.json").unlink()
    fresh = og.open(tmp_path / "g")
    assert fresh.query(NAMES).rows == []
    with pytest.raises(og.CorruptState, match="is missing"):
        fresh.queries.list()
    assert [item.code for item in fresh.repair().findings] == ["queries_unreadable"]


def test_hostile_names_and_sizes_are_refused_in_words(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("", "../x", "a\nb", "\ud800", "x" * 10_000, None, 7):
        with pytest.raises(og.NotFound, match="no stored query") as told:
            graph.run(name)  # type: ignore[arg-type]
        assert len(told.value.message) < 300
    for source in (7, b"x", {"a": 1}, {1: NAMES}, [], ["nowhere.gq"], {"a": "// nothing"}):
        with pytest.raises(og.BadInput):
            graph.queries.apply(source)
    monkeypatch.setenv("OMNIGRAPH_STORED_QUERY_BYTES", "300")
    small = og.open(graph.uri)
    with pytest.raises(og.ResourceLimit, match="OMNIGRAPH_STORED_QUERY_BYTES"):
        small.queries.apply({"x": NAMES.replace("names", "more")}, mode="extend")


POLICY = {
    "version": 1,
    "groups": {"team": ["ada"], "bots": ["bot"]},
    "rules": [
        {"id": "all", "allow": {"actors": {"group": "team"}, "actions": ["read", "change", "invoke_query"]}},
        {"id": "one", "allow": {"actors": {"group": "bots"}, "actions": ["read"]}},
    ],
}


def test_who_may_not_call_a_query_is_told_what_he_is_told_of_none(graph: og.Graph) -> None:
    ada, bot = (og.open(graph.uri, actor=actor, policy=POLICY) for actor in ("ada", "bot"))
    assert ada.run("names").rows == []
    told = []
    for name in ("names", "namez"):
        with pytest.raises(og.NotFound) as caught:
            bot.run(name)
        told.append((caught.value.code, caught.value.message.replace(name, "…")))
        with pytest.raises(og.NotFound):
            bot.queries.show(name)
    assert told[0] == told[1]
    assert (names(bot), len(names(ada))) == ([], 3)
