"""The cost harness: what each operation asks of storage, at depth 10 and at depth 1,000 (A57–A62, C14, C15).

Every gate is a number that was measured. A change that moves one says so here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base import clock, telemetry
from omnigraph.base.ids import new_commit_id, new_ulid
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.write import base_hold
from support.row_changes import Append, Change, RowChanges, Upsert
from support.s3 import S3, Request

SCHEMA = """
node Person {
    name: String @key
}
node City {
    name: String @key
}
edge LivesIn: Person -> City
"""
DEPTHS = (10, 1_000)
KEYS = ("node:Person", "edge:LivesIn")


def _rows(key: str, name: str) -> pa.Table:
    if key.startswith("edge:"):
        return pa.table({"id": [f"{name}-x"], "src": [name], "dst": ["x"]})
    return pa.table({"id": [name], "name": [name]})


def _write(graph: Any, *changes: Change) -> CommitRecord:
    published = graph.commit_work(RowChanges(changes))
    assert published is not None and published.record is not None
    return published.record


def _two_tables(name: str) -> list[Change]:
    return [Upsert(key, _rows(key, name)) for key in KEYS]


def _deepen(graph: Any, depth: int) -> None:
    """Put records onto main until it has `depth` commits: each pins what the head pins and leaves a hint."""
    truth = graph.internals.core.truth
    head = truth.state("main").head
    while head.seq < depth:
        commit = new_commit_id(head.incarnation)
        record = replace(head, commit=commit, seq=head.seq + 1, parent=head.ref, parent_digest=head.digest)
        stored = truth.chains.put(record)
        assert stored is not None
        head = stored
        truth.chains.leave_hint(head)


def _deepen_by_writing(graph: Any, depth: int) -> None:
    """Commit to main, one row at a time, until it has `depth` commits."""
    number = 0
    while _write(graph, Append("node:City", _rows("node:City", f"c{number}"))).seq < depth:
        number += 1


def _graph_at(uri: str, depth: int, options: dict[str, str] | None = None) -> Any:
    """Make a graph whose main branch has `depth` commits and whose tables have a few rows."""
    graph = og.init(uri, SCHEMA, storage_options=options)
    for number in range(6):
        _write(graph, *_two_tables(f"p{number}"))
    _deepen(graph, depth)
    graph.snapshot()  # the handle has seen the head: what it steps over is not part of what is counted next
    return graph


def _counted_write(graph: Any, *changes: Change, durable: bool = False) -> dict[str, int]:
    return _counted(lambda: graph.commit_work(RowChanges(changes), durable=durable))


def _counted(work: Callable[[], object]) -> dict[str, int]:
    with telemetry.measure() as counts:
        work()
    return counts.as_dict()


# On local disk, counted at our own seams.


@pytest.fixture(scope="module", params=DEPTHS, ids=lambda depth: f"depth-{depth}")
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A graph at each depth, reached by real commits."""
    graph = _graph_at(str(tmp_path_factory.mktemp("costs") / "graph"), 7)
    _deepen_by_writing(graph, request.param)
    return graph


WRITE = {
    "objects.create": 1,
    "objects.get_missing": 4,
    "objects.get": 1,
    "objects.put": 1,
    "objects.list": 1,
}
"""One record put, the head probed at the start and again in turn, one listing for recovery.

After the record: a look for the chain's floor, so that a number that a cleanup had freed is never taken for a
commit; and on a local disk the hint, read and written by every commit, and a look for a record that follows,
so that a lost record is seen.
"""


def test_a_two_table_write_opens_each_table_once_and_lists_once(graph: Any) -> None:
    found = _counted_write(graph, *_two_tables(new_ulid()))
    assert found == {**WRITE, "tables.open": 2}


def test_a_one_table_write_opens_one_table(graph: Any) -> None:
    name = new_ulid()
    found = _counted_write(graph, Append("node:Person", _rows("node:Person", name)))
    assert found == {**WRITE, "tables.open": 1}


def test_several_changes_of_one_table_open_it_once(graph: Any) -> None:
    changes = [Append("node:Person", _rows("node:Person", new_ulid())) for _ in range(3)]
    assert _counted_write(graph, *changes) == {**WRITE, "tables.open": 1}


def test_a_write_costs_the_same_in_every_one_of_forty_commits(graph: Any) -> None:
    seen = [_counted_write(graph, *_two_tables(new_ulid())) for _ in range(40)]
    assert all(counts == {**WRITE, "tables.open": 2} for counts in seen), seen


def test_a_durable_write_adds_the_plan_and_its_removal(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_hold, "_FIRST_SECONDS", 600.0)  # on a busy machine it is one that takes long
    found = _counted_write(graph, *_two_tables(new_ulid()), durable=True)
    assert found == {**WRITE, "tables.open": 2, "objects.put": WRITE["objects.put"] + 1, "objects.delete": 1}


def test_a_warm_read_is_one_probe_and_opens_nothing(graph: Any) -> None:
    def read() -> None:
        snapshot = graph.snapshot()
        for key in KEYS:
            snapshot.table(key).scan()

    assert _counted(read).get("tables.open", 0) <= 2
    assert _counted(read) == {"objects.get_missing": 1}


def test_a_read_after_a_write_opens_only_what_changed(graph: Any) -> None:
    snapshot = graph.snapshot()
    for key in KEYS:
        snapshot.table(key).scan()
    _write(graph, Append("node:Person", _rows("node:Person", new_ulid())))

    def read() -> None:
        snapshot = graph.snapshot()
        for key in KEYS:
            snapshot.table(key).scan()

    assert _counted(read) == {"objects.get_missing": 1, "tables.open": 1}


def test_a_cold_open_for_reading_finds_the_head_in_a_few_reads_and_one_look_at_what_follows(
    graph: Any,
) -> None:
    def open_and_read() -> None:
        og.open(graph.uri, read_only=True).snapshot()

    found = _counted(open_and_read)
    reads = found.pop("objects.get", 0) + found.pop("objects.get_missing", 0)
    # A hint may be old, so what it leads to is the head only if no later record is listed.
    assert found == {"objects.list": 1}, "and no opened table"
    assert reads <= 2 + 2 + 9 + 1, (
        f"{reads} reads: stamp, hint, at most 9 probes past the hint, one to be sure"
    )


def test_a_branch_is_made_with_one_probe_one_look_two_puts_and_a_look_at_its_origin(graph: Any) -> None:
    found = _counted(lambda: graph.branches.create(f"b-{new_ulid().lower()}"))
    # A name that was used before and has lost its ref is not used again. The origin is looked at when
    # the name stands: its floor, which is missing, and then its record. Then the name is noted and becomes a
    # branch.
    assert found == {"objects.get_missing": 4, "objects.get": 1, "objects.create": 2, "objects.replace": 1}


def test_time_travel_by_version_reads_one_record_and_looks_for_a_floor(graph: Any) -> None:
    fresh = og.open(graph.uri, read_only=True)  # it may have looked for the head at 2, 4, 8 ...
    assert _counted(lambda: fresh.snapshot(version=3)) == {"objects.get": 1, "objects.get_missing": 2}


def test_a_commit_is_found_by_id_in_a_few_reads_and_one_look_at_what_follows(graph: Any) -> None:
    wanted = graph.snapshot(version=3).commit_id
    fresh = og.open(graph.uri, read_only=True)
    found = _counted(lambda: fresh.commits.show(wanted))
    assert found["objects.list"] == 1
    assert found["objects.get"] <= 75, f"{found}: a search by halves and a page of 64"


# A handle that was left behind.


@pytest.mark.parametrize("behind", [1, 10, 1_000])
def test_a_handle_that_is_behind_finds_the_head_in_logarithmically_many_reads(
    tmp_path: Path, behind: int
) -> None:
    graph = _graph_at(str(tmp_path / "graph"), 10)
    left_behind = og.open(graph.uri, read_only=True)
    _deepen(graph, 10 + behind)
    found = _counted(left_behind.snapshot)
    reads = found.pop("objects.get", 0) + found.pop("objects.get_missing", 0)
    assert found == {}
    # Whoever steps to a newer record reads the floor afterwards, once.
    assert reads <= 2 * behind.bit_length() + 1, f"{reads} reads over {behind} commits"


def test_a_handle_left_behind_for_long_asks_the_hint_first(tmp_path: Path) -> None:
    graph = _graph_at(str(tmp_path / "graph"), 10)
    left_behind = og.open(graph.uri, read_only=True)
    _deepen(graph, 1_010)
    later = _Later()
    before = clock.install(later)
    try:
        found = _counted(left_behind.snapshot)
    finally:
        clock.install(before)
    reads = found.pop("objects.get", 0) + found.pop("objects.get_missing", 0)
    assert found == {"objects.list": 1}
    assert reads <= 11, f"{reads} reads: the hint, its record, at most 9 from there"


class _Later(clock.Clock):
    """The system's clock an hour from now."""

    def monotonic(self) -> float:
        return super().monotonic() + 3_600


# Beside other branches, and with many rows.


def test_neither_branches_nor_rows_change_what_a_branch_or_a_commit_costs(tmp_path: Path) -> None:
    small = _graph_at(str(tmp_path / "small"), 10)
    large = _graph_at(str(tmp_path / "large"), 10)
    names = [f"q{number}" for number in range(100_000)]
    _write(large, Append("node:Person", pa.table({"id": names, "name": names})))
    for number in range(300):
        large.branches.create(f"old{number}")
    operations: list[Callable[[Any], object]] = [
        lambda graph: graph.branches.create("new"),
        lambda graph: graph.commit_work(RowChanges(_two_tables("z")), branch="new"),
        lambda graph: graph.commit_work(RowChanges(_two_tables("zz")), branch="new"),
        lambda graph: graph.commit_work(RowChanges(_two_tables("z"))),
        lambda graph: graph.snapshot("new"),
    ]
    for operation in operations:
        assert _counted(lambda: operation(small)) == _counted(lambda: operation(large))  # noqa: B023


# Over S3, counted by the server.


def _kinds(seen: list[Request]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for request in seen:
        place = request.key.split("/")[1] if "/" in request.key else ""
        kind = "LIST" if request.is_listing else request.method
        if request.is_listing:
            place = request.query.partition("prefix=")[2].split("/")[1]
        counts[f"{kind} {place}"] = counts.get(f"{kind} {place}", 0) + 1
    return counts


@pytest.fixture(scope="module", params=DEPTHS, ids=lambda depth: f"depth-{depth}")
def bucket(request: pytest.FixtureRequest, s3_server: S3) -> tuple[S3, Any]:
    """A graph in S3 at each depth."""
    server = s3_server.fresh()
    return server, _graph_at(f"{server.uri}/graph", request.param, server.options)


WRITE_OVER_S3 = {
    "LIST __recovery": 1,
    "GET __manifest": 2,  # the probe, and after the record the look for a floor
    "PUT __manifest": 1,
    # Of each table Lance wants: a look at the pin, a data file, a look at `_versions`, transaction, manifest;
    # ours is the move of the manifest (three), whose bytes the next write therefore need not ask for.
    "HEAD nodes": 1,
    "GET nodes": 1,
    "LIST nodes": 1,
    "PUT nodes": 4,
    "DELETE nodes": 1,
    "HEAD edges": 1,
    "GET edges": 1,
    "LIST edges": 1,
    "PUT edges": 4,
    "DELETE edges": 1,
}


@pytest.mark.s3
def test_over_s3_a_publish_is_one_probe_one_put_and_a_look_for_a_floor_without_a_listing(
    bucket: tuple[S3, Any],
) -> None:
    server, graph = bucket
    with server.requests() as seen:
        _write(graph, *_two_tables(new_ulid()))
    publishing = [item for item in seen if "__manifest" in item.key or "__manifest" in item.query]
    assert [item.method for item in publishing] == ["GET", "PUT", "GET"]
    assert not any(item.is_listing for item in publishing)


@pytest.mark.s3
def test_over_s3_a_two_table_write_is_twenty_requests(bucket: tuple[S3, Any]) -> None:
    server, graph = bucket
    with server.requests() as seen:
        _write(graph, *_two_tables(new_ulid()))
    assert _kinds(seen) == WRITE_OVER_S3
    assert len(seen) == 20


@pytest.mark.s3
def test_over_s3_a_warm_read_is_one_request(bucket: tuple[S3, Any]) -> None:
    server, graph = bucket
    for key in KEYS:
        graph.snapshot().table(key).count()
    with server.requests() as seen:
        for key in KEYS:
            graph.snapshot().table(key)
    assert [item.method for item in seen] == ["GET", "GET"], "one probe for each snapshot, nothing for tables"


@pytest.mark.s3
def test_over_s3_a_branch_is_eight_requests(bucket: tuple[S3, Any]) -> None:
    server, graph = bucket
    with server.requests() as seen:
        graph.branches.create(f"b-{new_ulid().lower()}")
    assert _kinds(seen) == {"GET __manifest": 5, "PUT __manifest": 3}, (
        "floor and record of the origin, and a note"
    )


@pytest.mark.s3
def test_over_s3_a_cold_open_is_few_requests_and_a_writers_lists_plans_once(bucket: tuple[S3, Any]) -> None:
    server, graph = bucket
    with server.requests() as reading:
        og.open(graph.uri, read_only=True, storage_options=server.options)
    # Two are there to see what was freed or lost: a look for a floor after the last step, and one listing of
    # what comes after the newest record. The others are the stamp, floor, hint, its record, at most 8 probes.
    assert _kinds(reading) == {"GET __manifest": len(reading) - 1, "LIST __manifest": 1}
    assert len(reading) <= 4 + 8 + 2, f"{len(reading)} requests"
    with server.requests() as writing:
        og.open(graph.uri, storage_options=server.options)
    assert _kinds(writing) == {**_kinds(reading), "LIST __recovery": 1}
