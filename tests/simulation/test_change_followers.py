"""Consumers of the change feed beside writers, and on object storage."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.sdk.graph import Graph
from support.compaction import Compaction
from support.s3 import S3

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }"
WRITERS, COMMITS = 3, 6


def test_a_follower_beside_writers_sees_every_commit_once_and_in_order(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    copy = og.init(tmp_path / "copy", SCHEMA)
    cursor = graph.changes.poll().cursor
    done = threading.Event()

    def write(number: int) -> None:
        own = og.open(graph.uri)
        for place in range(COMMITS):
            people = [{"type": "Person", "data": {"name": f"p{number}", "age": place}},
                      {"type": "Person", "data": {"name": f"p{number}-{place}"}}]  # fmt: skip
            own.load(people, mode="merge")
            if place % 4 == 3:
                own.commit_work(Compaction())

    writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    waiter = threading.Thread(target=lambda: ([writer.join() for writer in writers], done.set()))
    waiter.start()
    seen: list[str] = []
    reader = og.open(graph.uri, read_only=True)
    while True:
        finished = done.is_set()
        page = reader.changes.poll(cursor=cursor, commits=5)
        for block in page.blocks:
            assert block.cause.parent_commit_id == (seen[-1] if seen else block.cause.parent_commit_id)
            seen.append(block.cause.commit_id)
            copy.changes.apply(block)
        cursor = page.cursor
        if finished and page.caught_up and not page.blocks:
            break
    waiter.join()
    assert seen == [commit.id for commit in reversed(graph.commits.list())][1:]
    assert sorted(map(str, copy.export())) == sorted(map(str, graph.export()))


def _walk(graph: Graph) -> None:
    graph.load([{"type": "Person", "data": {"name": name}} for name in "abc"], mode="append")
    graph.branches.create("side")
    graph.mutate('query q() { update Person set { age: 5 } where name = "b" }', branch="side")
    graph.mutate('query q() { delete Person where name = "a" }', branch="side")
    graph.commit_work(Compaction(), branch="side")
    assert [(item.op, item.id) for item in graph.diff("main", "side")] == [("delete", "a"), ("update", "b")]
    ids: list[str] = []
    page = graph.changes.poll(branch="side", start="beginning", limit=2)
    while True:
        ids += [change.id for block in page.blocks for change in block.changes]
        if page.page_token is None and page.caught_up:
            break
        page = graph.changes.poll(branch="side", cursor=page.cursor, page_token=page.page_token, limit=2)
    assert ids == ["a", "b", "c", "b", "a"]
    assert [record["data"]["id"] for record in graph.export(branch="side")] == ["c", "b"]


@pytest.mark.s3
def test_diffs_feed_and_export_work_on_object_storage(s3: S3) -> None:
    _walk(og.init(f"{s3.uri}/g", SCHEMA, storage_options=s3.options))
