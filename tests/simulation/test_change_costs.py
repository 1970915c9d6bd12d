"""What a diff reads: it follows what changed, not how large the tables are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.sdk.graph import Graph
from omnigraph.storage.tables.table import Table
from support.compaction import Compaction

SCHEMA = """
node Person { name: String @key  age: I64?  note: String? }
node City { name: String @key }
edge Knows: Person -> Person
"""
ROWS = 200_000
CHANGED = 10
MOST_BYTES = 2_000_000
"""Of some 12 MB; a changed row costs a few pages of each column."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = og.init(tmp_path_factory.mktemp("costs") / "g", SCHEMA)
    names = [f"person-{number:07d}" for number in range(ROWS)]
    people = pa.table({
        "name": names, "age": list(range(ROWS)), "note": [f"note of {name}, and more" for name in names],
    })  # fmt: skip
    graph.load(people, mode="append", type="Person")
    return graph


def change(graph: Graph, branch: str) -> None:
    """Change, delete and add a few people on a branch, in as many commits."""
    for number in range(CHANGED - 2):
        graph.mutate(
            "query q($n: String) { update Person set { age: 0 } where name = $n }",
            {"n": f"person-{number * 20_000 + 7:07d}"},
            branch=branch,
        )
    graph.mutate('query q() { delete Person where name = "person-0000100" }', branch=branch)
    graph.mutate('query q() { insert Person { name: "new" } }', branch=branch)


class Reads:
    bytes = 0


@contextmanager
def reads(graph: Graph, *snapshots: og.Snapshot) -> Iterator[Reads]:
    """Count the bytes that are read of the tables of snapshots."""
    tables: list[Table] = [item.table("node:Person") for item in snapshots]
    for table in tables:
        table.dataset.io_stats_incremental()
    found = Reads()
    yield found
    found.bytes = sum(table.dataset.io_stats_incremental().read_bytes for table in tables)


@pytest.mark.parametrize("compacted", [False, True])
def test_a_diff_of_ten_rows_reads_what_ten_rows_need(graph: Graph, compacted: bool) -> None:
    branch = f"branch-{compacted}"
    graph.branches.create(branch)
    change(graph, branch)
    if compacted:
        graph.commit_work(Compaction(), branch=branch)
    # Other handles of the same versions, so that nothing is warm.
    fresh = og.open(graph.uri)
    main, side = fresh.snapshot("main"), fresh.snapshot(branch)
    with reads(fresh, main, side) as read, telemetry.measure() as counts:
        changes = fresh.diff(main, side).changes
    assert len(changes) == CHANGED
    assert counts["changes.candidates"] <= 2 * CHANGED
    assert counts["changes.rows_read"] <= 8 * CHANGED
    assert read.bytes < MOST_BYTES


def test_equal_tables_are_not_opened(graph: Graph) -> None:
    graph.branches.create("quiet")
    graph.mutate('query q() { insert City { name: "Rome" } }', branch="quiet")
    fresh = og.open(graph.uri)
    with telemetry.measure() as counts:
        assert [item.id for item in fresh.diff("main", "quiet")] == ["Rome"]
    assert counts["tables.open"] == 2
    with telemetry.measure() as counts:
        assert fresh.diff("main", "quiet", kinds=["edge"]).changes == []
    assert counts["tables.open"] == 0


def test_the_feed_reads_each_commit_from_its_own_change(graph: Graph) -> None:
    graph.branches.create("fed")
    cursor = graph.changes.poll(branch="fed").cursor
    change(graph, "fed")
    fresh = og.open(graph.uri)
    with telemetry.measure() as counts:
        page = fresh.changes.poll(branch="fed", cursor=cursor)
    assert sum(len(block.changes) for block in page.blocks) == CHANGED
    assert counts["changes.rows_read"] <= 8 * CHANGED
