"""The change feed: blocks, pages, cursors, gaps, and baselines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.changes import paging
from omnigraph.graph.changes.feed.feed import Feed, FeedPage
from omnigraph.graph.changes.model import ChangeBlock, ChangeFilter
from omnigraph.graph.changes.tokens import MAX_TOKEN_CHARACTERS
from omnigraph.sdk.changes import Baseline
from omnigraph.sdk.graph import Graph
from support.care import at_once, cleaned
from support.compaction import Compaction

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: Date? }
"""
REJECTED = r"^change cursor rejected: "
AGE = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = og.init(tmp_path / "g", SCHEMA, actor="act-ada")
    people = [{"type": "Person", "data": {"name": name}} for name in "abc"]
    knows = {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "k1"}}
    graph.load([*people, knows], mode="append", message="first people")
    return graph


def follow(graph: Graph, start: str = "beginning", **options: Any) -> Iterator[FeedPage]:
    """Poll until the feed is caught up."""
    page = graph.changes.poll(start=start, **options)
    while True:
        yield page
        if page.page_token is not None:
            page = graph.changes.poll(page_token=page.page_token, **options)
        elif page.caught_up:
            return
        else:
            page = graph.changes.poll(cursor=page.cursor, **options)


def shown(blocks: list[ChangeBlock]) -> list[tuple[str, str, str]]:
    return [(change.op, change.type_name, change.id) for block in blocks for change in block.changes]


def test_from_the_beginning_every_commit_is_a_block_with_its_cause(graph: Graph) -> None:
    done = graph.mutate(AGE, {"n": "b", "a": 7})
    page = graph.changes.poll(start="beginning")
    assert page.caught_up and page.page_token is None
    first, load, update = page.blocks
    assert first.cause.operation == "init" and first.schema is not None and not first.changes
    assert first.schema.source == SCHEMA and first.schema.source_before is None
    assert shown([load]) == [("insert", "Person", name) for name in "abc"] + [("insert", "Knows", "k1")]
    assert load.cause.actor == "act-ada" and load.cause.message == "first people"
    assert update.cause.commit_id == done.commit_id
    assert update.cause.parent_commit_id == load.cause.commit_id
    (change,) = update.changes
    assert change.to_json() == {
        "kind": "node",
        "type": {"id": change.type_id, "name": "Person"},
        "id": "b",
        "op": "update",
        "before": {"properties": {"age": None, "name": "b"}},
        "after": {"properties": {"age": 7, "name": "b"}},
    }
    assert load.changes[3].after == {
        "properties": {"since": None}, "endpoints": {"from": "a", "to": "b"},
    }  # fmt: skip
    assert load.changes[3].before is None


def test_now_is_an_empty_page_and_its_cursor_sees_only_what_comes_later(graph: Graph) -> None:
    page = graph.changes.poll()
    assert page.blocks == () and page.caught_up
    assert graph.changes.poll(cursor=page.cursor).blocks == ()
    graph.mutate(AGE, {"n": "a", "a": 1})
    later = graph.changes.poll(cursor=page.cursor)
    assert shown(list(later.blocks)) == [("update", "Person", "a")]
    assert shown(list(graph.changes.poll(cursor=page.cursor).blocks)) == [("update", "Person", "a")]


def test_after_a_commit_means_what_came_after_it_on_the_line_of_the_branch(graph: Graph) -> None:
    base = graph.snapshot().commit_id
    graph.branches.create("side")
    apart = graph.mutate(AGE, {"n": "a", "a": 1}, branch="side").commit_id
    graph.mutate(AGE, {"n": "c", "a": 1})
    assert shown(list(graph.changes.poll(start=f"after:{base}").blocks)) == [("update", "Person", "c")]
    for commit in (apart, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense"):
        with pytest.raises(og.ChangeCursorRejected, match=REJECTED):
            graph.changes.poll(start=f"after:{commit}")


def test_what_stands_for_a_commit_says_where_to_begin(graph: Graph) -> None:
    base = graph.snapshot().commit_id
    graph.tags.create("then")
    graph.branches.create("side")
    graph.mutate(AGE, {"n": "c", "a": 1})
    for revision in (base[:-4], "HEAD~1", "main^", "then", "side"):
        page = graph.changes.poll(start=f"after:{revision}")
        assert shown(list(page.blocks)) == [("update", "Person", "c")], revision
    graph.mutate(AGE, {"n": "a", "a": 1}, branch="side")
    assert shown(list(graph.changes.poll(branch="side", start="after:HEAD^").blocks)) == [
        ("update", "Person", "a")
    ], "HEAD is that of the branch that is polled"
    with pytest.raises(og.ChangeCursorRejected, match="not on the line of branch 'main'"):
        graph.changes.poll(start="after:side")


def test_a_branch_inherits_history_with_its_original_causes(graph: Graph) -> None:
    graph.branches.create("side")
    graph.mutate(AGE, {"n": "a", "a": 1})
    graph.mutate(AGE, {"n": "b", "a": 2}, branch="side")
    graph.branches.create("deeper", from_branch="side")
    graph.mutate(AGE, {"n": "c", "a": 3}, branch="deeper")
    page = graph.changes.poll(branch="deeper", start="beginning")
    assert [block.cause.branch for block in page.blocks] == ["main", "main", "side", "deeper"]
    assert shown(list(page.blocks))[-2:] == [("update", "Person", "b"), ("update", "Person", "c")]


@pytest.mark.parametrize("limit", range(1, 8))
def test_pages_of_every_size_say_the_same(graph: Graph, limit: int) -> None:
    graph.mutate('query q() { delete Person where name = "a" }')
    graph.commit_work(Compaction())
    graph.mutate(AGE, {"n": "b", "a": 2})
    whole = list(graph.changes.poll(start="beginning").blocks)
    pages = list(follow(graph, limit=limit))
    assert all(len(shown(list(page.blocks))) <= limit for page in pages)
    assert all((page.cursor is None) != (page.page_token is None) for page in pages)
    parts = [block for page in pages for block in page.blocks]
    assert shown(parts) == shown(whole)
    assert [block.cause for block in parts if block.complete] == [block.cause for block in whole]
    assert [block.schema for block in parts if block.offset == 0] == [block.schema for block in whole]


def test_a_page_that_is_asked_for_again_is_the_same_page(graph: Graph) -> None:
    first = graph.changes.poll(start="beginning", limit=2)
    again = [graph.changes.poll(page_token=first.page_token, limit=2) for _ in range(3)]
    assert again[0] == again[1] == again[2]
    assert shown(list(again[0].blocks)) == [("insert", "Person", "c"), ("insert", "Knows", "k1")]


def test_the_cut_of_the_first_page_holds_for_the_pages_after_it(graph: Graph) -> None:
    first = graph.changes.poll(start="beginning", limit=2)
    graph.mutate(AGE, {"n": "a", "a": 1})
    second = graph.changes.poll(page_token=first.page_token, limit=100)
    assert second.cursor is not None and not second.caught_up
    assert ("update", "Person", "a") not in shown(list(second.blocks))
    third = graph.changes.poll(cursor=second.cursor)
    assert shown(list(third.blocks)) == [("update", "Person", "a")] and third.caught_up


def test_a_poll_reads_so_many_commits_and_no_more(graph: Graph) -> None:
    for number in range(5):
        graph.mutate(AGE, {"n": "a", "a": number})
    pages = list(follow(graph, commits=2))
    assert [len(page.blocks) for page in pages] == [2, 2, 2, 1]
    assert [page.caught_up for page in pages] == [False, False, False, True]
    with pytest.raises(og.ResourceLimit):
        graph.changes.poll(start="beginning", commits=513)


def test_bytes_are_a_target_and_a_change_that_is_larger_comes_alone(graph: Graph) -> None:
    size = len(json.dumps(graph.changes.poll(start="beginning").blocks[1].changes[0].to_json()))
    pages = list(follow(graph, max_bytes=2 * size + 20))
    assert [len(shown(list(page.blocks))) for page in pages] == [2, 1, 1]
    pages = list(follow(graph, max_bytes=1))
    assert [len(shown(list(page.blocks))) for page in pages if shown(list(page.blocks))] == [1, 1, 1, 1]
    for wrong in ({"limit": paging.MOST_CHANGES + 1}, {"max_bytes": paging.MOST_BYTES + 1}):
        with pytest.raises(og.ResourceLimit) as caught:
            graph.changes.poll(start="beginning", **wrong)
        assert caught.value.details["actual"] == caught.value.details["limit"] + 1
    with pytest.raises(og.BadInput):
        graph.changes.poll(start="beginning", limit=0)


def test_filters_choose_changes_and_keep_every_block(graph: Graph) -> None:
    graph.mutate('query q() { delete Person where name = "a" }')
    poll = graph.changes.poll
    assert shown(list(poll(start="beginning", kinds=["edge"]).blocks)) == [
        ("insert", "Knows", "k1"), ("delete", "Knows", "k1"),
    ]  # fmt: skip
    assert shown(list(poll(start="beginning", types=["node:Person"], ops=["delete"]).blocks)) == [
        ("delete", "Person", "a")
    ]
    assert len(poll(start="beginning", types=["Nobody"]).blocks) == 3
    for wrong in (
        {"kinds": ["nodes"]},
        {"ops": ["upsert"]},
        {"types": "Person"},
        {"kinds": 5},
        {"types": [5]},
    ):
        with pytest.raises(og.BadInput):
            poll(start="beginning", **wrong)
        with pytest.raises(og.BadInput):
            graph.commits.changes(graph.snapshot().commit_id, **wrong)
        with pytest.raises(og.BadInput):
            graph.changes.baseline(**wrong)


@pytest.mark.parametrize("wrong", [5, [], b"x", object()])
def test_arguments_of_another_kind_are_told_and_never_raw(graph: Graph, wrong: Any) -> None:
    changes, commit = graph.changes, graph.snapshot().commit_id
    for call, told in (
        (lambda: changes.baseline(wrong), og.BadInput),
        (lambda: changes.baseline(branch=wrong), og.InvalidName),
        (lambda: changes.poll(branch=wrong), og.InvalidName),
        (lambda: changes.poll(start=wrong), og.BadInput),
        (lambda: changes.poll(cursor=wrong), og.ChangeCursorRejected),
        (lambda: changes.poll(page_token=wrong), og.ChangeCursorRejected),
        (lambda: changes.poll(limit="1"), og.BadInput),
        (lambda: changes.poll(commits=1.5), og.BadInput),
        (lambda: changes.apply(wrong), og.BadInput),
        (lambda: graph.commits.changes(wrong), og.NotFound),
        (lambda: graph.commits.changes(commit, page_token=wrong), og.ChangeCursorRejected),
        (lambda: graph.diff(commit, "main").page(page_token=wrong), og.ChangeCursorRejected),
    ):
        with pytest.raises(told):
            call()


def test_maintenance_is_an_empty_block(graph: Graph) -> None:
    graph.mutate(AGE, {"n": "a", "a": 1})
    cursor = graph.changes.poll().cursor
    graph.commit_work(Compaction())
    (block,) = graph.changes.poll(cursor=cursor).blocks
    assert block.cause.operation == "optimize" and block.changes == () and block.complete


def test_a_schema_change_comes_with_its_steps_and_rows_follow_identity(graph: Graph) -> None:
    cursor = graph.changes.poll().cursor
    graph.schema.apply(
        SCHEMA.replace("node Person { name: String @key  age: I32? }",
                       'node Human @rename_from("Person") { name: String @key\n'
                       '  years: I32? @rename_from("age")\n  level: I32? @default(3) }')
        .replace("Person -> Person", "Human -> Human")
    )  # fmt: skip
    graph.mutate('query q() { update Human set { level: 4 } where name = "b" }')
    schema, update = graph.changes.poll(cursor=cursor).blocks
    assert schema.changes == () and schema.schema is not None
    kinds = [step["kind"] for step in schema.schema.steps]
    assert "rename_type" in kinds and "add_property" in kinds and "rename_property" in kinds
    (change,) = update.changes
    assert change.type_name == "Human" and change.before == {
        "properties": {"level": 3, "name": "b", "years": None}
    }
    found = graph.changes.poll(start="beginning").blocks[1].changes
    assert {change.type_id for change in found if change.kind == "node"} == {change.type_id}


@pytest.mark.parametrize("what", ["damaged", "long", "filter", "branch", "kind", "graph", "recreated"])
def test_a_token_is_refused_wherever_it_does_not_belong(graph: Graph, tmp_path: Path, what: str) -> None:
    graph.branches.create("side")
    cursor = graph.changes.poll(branch="side").cursor
    page = graph.changes.poll(start="beginning", limit=1).page_token
    assert cursor is not None and page is not None and len(cursor) <= MAX_TOKEN_CHARACTERS
    with pytest.raises(og.ChangeCursorRejected, match=REJECTED):
        if what == "damaged":
            graph.changes.poll(branch="side", cursor=cursor[:-3] + ("AAA" if cursor[-3:] != "AAA" else "BBB"))
        elif what == "long":
            graph.changes.poll(branch="side", cursor=cursor * 40)
        elif what == "filter":
            graph.changes.poll(branch="side", cursor=cursor, kinds=["node"])
        elif what == "branch":
            graph.changes.poll(cursor=cursor)
        elif what == "kind":
            graph.changes.poll(cursor=page)
        elif what == "graph":
            og.init(tmp_path / "other", SCHEMA).changes.poll(page_token=page)
        else:
            graph.branches.delete("side")
            graph.branches.create("side")
            graph.changes.poll(branch="side", cursor=cursor)


def test_only_one_way_to_say_where_to_begin(graph: Graph) -> None:
    cursor = graph.changes.poll().cursor
    with pytest.raises(og.BadInput):
        graph.changes.poll(cursor=cursor, start="now")
    with pytest.raises(og.BadInput):
        graph.changes.poll(start="yesterday")


def test_removed_history_is_a_gap_only_where_the_poll_would_begin(graph: Graph) -> None:
    for number in range(4):
        graph.mutate(AGE, {"n": "a", "a": number})
    cursor = graph.changes.poll(start="beginning", commits=2).cursor
    commits = {commit.version: commit.id for commit in graph.commits.list()}
    (entry,) = [
        item for item in graph.snapshot(version=4).record.tables.values() if item.key == "node:Person"
    ]
    graph.internals.core.truth.store.delete(f"{entry.location}/{entry.pin.path}")
    fresh = og.open(graph.uri)
    page = fresh.changes.poll(cursor=cursor)
    assert [block.cause.commit_id for block in page.blocks] == [commits[3]]
    assert page.cursor is not None and not page.caught_up
    with pytest.raises(og.ChangeFeedGap) as caught:
        fresh.changes.poll(cursor=page.cursor)
    assert caught.value.details["first_unreadable_commit_id"] == commits[4]
    assert caught.value.details["cursor"] == page.cursor
    assert shown(list(fresh.changes.poll(start=f"after:{commits[5]}").blocks)) == [("update", "Person", "a")]


def test_a_cleanup_leaves_a_gap_and_a_baseline_leads_on(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    cursor = graph.changes.poll().cursor
    for number in range(8):
        graph.mutate(AGE, {"n": "a", "a": number})
    commits = {commit.version: commit.id for commit in graph.commits.list()}
    cleaned(graph, keep=3)
    fresh = og.open(graph.uri)
    for where in ({"cursor": cursor}, {"start": "beginning"}):
        with pytest.raises(og.ChangeFeedGap):
            fresh.changes.poll(**where)
    kept = [commit for commit in fresh.commits.list() if not commit.maintenance]
    later = fresh.changes.poll(start=f"after:{kept[-1].id}")
    assert [block.cause.commit_id for block in later.blocks][:2] == [commits[9], commits[10]]
    done = fresh.changes.baseline(tmp_path / "all.ndjson")
    assert isinstance(done, Baseline)
    assert fresh.changes.poll(cursor=done.resume_cursor).caught_up


def test_a_baseline_is_an_export_and_the_cursor_that_continues_it(graph: Graph, tmp_path: Path) -> None:
    target, plain = tmp_path / "all.ndjson", tmp_path / "plain.ndjson"
    done = graph.changes.baseline(target)
    graph.export(plain)
    graph.mutate(AGE, {"n": "a", "a": 1})
    assert isinstance(done, Baseline)
    *records, last = target.read_bytes().splitlines(keepends=True)
    assert b"".join(records) == plain.read_bytes()
    assert json.loads(last) == {
        "baseline": {"snapshot_commit_id": done.snapshot_commit_id, "resume_cursor": done.resume_cursor}
    }
    later = graph.changes.poll(cursor=done.resume_cursor)
    assert shown(list(later.blocks)) == [("update", "Person", "a")]


def test_a_baseline_takes_the_filter_of_the_feed(graph: Graph, tmp_path: Path) -> None:
    *records, last = graph.changes.baseline(kinds=["edge"], ops=["delete"])
    assert [record["edge"] for record in records] == ["Knows"]
    graph.mutate('query q() { delete Person where name = "a" }')
    page = graph.changes.poll(cursor=last["baseline"]["resume_cursor"], kinds=["edge"], ops=["delete"])
    assert shown(list(page.blocks)) == [("delete", "Knows", "k1")]
    with pytest.raises(og.NotFound):
        graph.changes.baseline(tmp_path / "no.ndjson", types=["Nobody"])
    assert not (tmp_path / "no.ndjson").exists()


def test_a_commit_shows_what_it_changed_a_page_at_a_time(graph: Graph) -> None:
    load = graph.commits.list()[0].id
    first = graph.commits.changes(load, limit=3)
    assert [change.id for change in first] == ["a", "b", "c"] and first.next_page_token is not None
    second = graph.commits.changes(load, limit=3, page_token=first.next_page_token)
    assert [change.id for change in second] == ["k1"] and second.next_page_token is None
    assert "next_page_token" not in second.to_json()
    assert second.cause == first.cause and second.cause.message == "first people"
    assert [change.id for change in graph.commits.changes(load, kinds=["edge"])] == ["k1"]
    with pytest.raises(og.ChangeCursorRejected):
        graph.commits.changes(load, page_token=first.next_page_token, kinds=["edge"])
    with pytest.raises(og.NotFound):
        graph.commits.changes(load, types=["Persn"])


def test_the_first_commit_of_a_graph_has_no_changes_to_show(graph: Graph) -> None:
    genesis = graph.commits.list()[-1].id
    with pytest.raises(og.ChangeDiffRefusal) as caught:
        graph.commits.changes(genesis)
    assert caught.value.details["reason"] == "parentless_commit"


def test_parts_of_a_block_are_applied_together_or_refused(graph: Graph, tmp_path: Path) -> None:
    copy = og.init(tmp_path / "copy", SCHEMA)
    first = graph.changes.poll(start="beginning", limit=3)
    second = graph.changes.poll(page_token=first.page_token, limit=3)
    part, rest = first.blocks[1], second.blocks[0]
    for wrong in ([part], [rest], [rest, part], [part, part, rest], []):
        with pytest.raises(og.BadInput):
            copy.changes.apply(*wrong)
    assert copy.changes.apply(first.blocks[0]) is None
    assert copy.changes.apply(part, json.loads(json.dumps(rest.to_json()))) is not None
    assert list(copy.export()) == list(graph.export())


def test_a_block_that_breaks_a_rule_of_the_schema_is_not_applied(graph: Graph, tmp_path: Path) -> None:
    copy = og.init(tmp_path / "copy", SCHEMA)
    block = json.loads(json.dumps(graph.changes.poll(start="beginning").blocks[1].to_json()))
    block["changes"] = [change for change in block["changes"] if change["id"] != "a"]
    with pytest.raises(og.ValidationError):
        copy.changes.apply(block)
    assert list(copy.export()) == []


def test_a_way_between_cursors_is_cut_into_stretches_that_polls_can_read(graph: Graph) -> None:
    for number in range(5):
        graph.mutate(AGE, {"n": "a", "a": number})
    feed = Feed(graph.internals.core, graph.internals.read_state(), ChangeFilter())
    start, end = feed.cursor_from("beginning"), feed.cursor_at(feed.state.head)
    cut = feed.stretches(start, end, 3)
    assert [(part.version, part.commits) for part in cut] == [(1, 3), (4, 3), (7, 1)]
    polled = [
        block.cause.commit_id
        for part in cut
        for block in graph.changes.poll(cursor=part.cursor, commits=part.commits)
    ]
    assert polled == [block.cause.commit_id for block in graph.changes.poll(start="beginning")]
    assert feed.stretches(end, end, 3) == []
    assert [feed.cursor_on(start, 3), feed.cursor_on(start, 99)] == [cut[1].cursor, end]
    assert feed.cursor_on(cut[1].cursor, 5, until=cut[2].cursor) == cut[2].cursor
    assert feed.cursor_on(end, 1, until=cut[1].cursor) == end
    with pytest.raises(og.ChangeCursorRejected):
        feed.check_cursor("nonsense")


def _without(member: str) -> Any:
    return lambda block: block.pop(member)


def _change(**members: Any) -> Any:
    return lambda block: block["changes"][0].update(members)


def _property(**members: Any) -> Any:
    return lambda block: block["changes"][0]["after"]["properties"].update(members)


@pytest.mark.parametrize(
    "damage",
    [
        _without("offset"),
        _without("complete"),
        _without("changes"),
        lambda block: block.update(cause={}),
        lambda block: block.update(changes=[5]),
        lambda block: block.update(changes="abc"),
        lambda block: block.update(schema={"source": "node X { }"}),
        _change(op="upsert"),
        _change(id=None),
        _change(id="z"),
        _change(type=None),
        _change(type={"id": 5, "name": "Person"}),
        _change(after=None),
        _change(after={"properties": 5}),
        _change(kind="edge"),
        _property(age="x"),
        _property(agee=1),
        _property(name="z"),
    ],
)
def test_a_block_that_no_poll_gives_is_refused_and_changes_nothing(
    graph: Graph, tmp_path: Path, damage: Any
) -> None:
    blocks = graph.changes.poll(start="beginning").blocks
    assert blocks[0].schema is not None
    copy = og.init(tmp_path / "copy", blocks[0].schema.source)
    before = copy.snapshot().commit_id
    block = json.loads(json.dumps(blocks[1].to_json()))
    damage(block)
    with pytest.raises(og.BadInput):
        copy.changes.apply(block)
    assert copy.snapshot().commit_id == before
