"""The rows that differ between two versions of a table: the fast way and the plain way agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.graph.changes import rows as rows_module
from omnigraph.graph.changes.descent import grew
from omnigraph.graph.changes.entities import EntityComparison, Order
from omnigraph.graph.changes.equality import equal_values
from omnigraph.graph.changes.model import ChangeFilter
from omnigraph.graph.changes.rows import ChangedRows, find_changed_pieces, find_changed_rows
from omnigraph.graph.changes.table_version import TableVersion
from omnigraph.graph.model.arrow_values import rows_to_plain
from omnigraph.graph.snapshot import Snapshot
from omnigraph.sdk.graph import Graph
from support.compaction import Compaction
from support.random_history import SCHEMA, RandomHistory

PERSON = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return og.init(tmp_path / "g", SCHEMA)


def _versions(
    graph: Graph, before: Snapshot, after: Snapshot
) -> Iterator[tuple[TableVersion | None, TableVersion | None, bool]]:
    old, new = before.record, after.record
    for identity in sorted(old.tables.keys() | new.tables.keys()):
        core = graph.internals.core
        pair = TableVersion.of(core, old, identity), TableVersion.of(core, new, identity)
        yield *pair, grew(graph.internals.core.truth.chains, old, new, identity)


def _images(version: TableVersion | None) -> dict[str, dict[str, Any]]:
    if version is None:
        return {}
    ids = version.rows.scan(["id"])["id"].combine_chunks()
    return {row["id"]: row for row in rows_to_plain(version.type, version.images_of(ids))}


def _expected(before: TableVersion | None, after: TableVersion | None) -> tuple[set[str], ...]:
    """Compare two versions row by row, in plain Python."""
    old, new = _images(before), _images(after)
    both = old.keys() & new.keys()
    if before is not None and after is not None:
        was = {item.id: item for item in before.type.properties}
        updated = set()
        for id_ in both:
            same = all(old[id_][end] == new[id_][end] for end in ("src", "dst") if end in new[id_])
            for item in after.type.properties:
                default = item.default.value if item.default else None
                value = old[id_][was[item.id].name] if item.id in was else default
                same = same and value == new[id_][item.name]
            if not same:
                updated.add(id_)
        return new.keys() - old.keys(), old.keys() - new.keys(), updated
    return set(new) - set(old), set(old) - set(new), set()


def _found(changes: ChangedRows) -> tuple[set[str], ...]:
    found = [column.to_pylist() for column in (changes.inserted, changes.deleted, changes.updated)]
    assert all(ids == sorted(ids) for ids in found)
    return tuple(set(ids) for ids in found)


def _through_origin(
    graph: Graph, before: Snapshot, after: Snapshot, old: TableVersion | None, new: TableVersion | None
) -> ChangedRows:
    """Compare by way of the commit where two lines parted, which small tables never need."""
    comparison = EntityComparison(
        graph.internals.core, before.record, after.record, ChangeFilter(), Order.DIFF
    )
    identity = (new or old).entry.location.rsplit("/", 1)[1]  # type: ignore[union-attr]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "_MAX_ROWS_TO_LOOK_UP", 0)
        return find_changed_rows(old, new, origin=lambda: comparison._origin(identity))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_any_two_commits_of_a_random_history_differ_as_a_full_comparison_says(
    graph: Graph, seed: int
) -> None:
    history = RandomHistory(graph, seed)
    history.step("main")
    graph.branches.create("side")
    taken = []
    for _ in range(14):
        branch = history.random.choice(["main", "side"])
        history.step(branch)
        taken.append(graph.snapshot(branch))
    for _ in range(12):
        before, after = history.random.sample(taken, 2)
        for old, new, grown in _versions(graph, before, after):
            expected = _expected(old, new)
            assert _found(find_changed_rows(old, new)) == expected
            assert _found(find_changed_rows(old, new, one_lineage=grown)) == expected
            assert _found(_through_origin(graph, before, after, old, new)) == expected


def test_a_branch_that_was_compacted_is_compared_by_way_of_its_fork(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "_MAX_ROWS_TO_LOOK_UP", 10)
    for number in range(6):
        graph.load([{"type": "Person", "data": {"name": f"p{number}-{i}"}} for i in range(50)], mode="append")
    graph.branches.create("side")
    for branch, name in (("main", "p1-1"), ("main", "p2-1"), ("side", "p2-1"), ("side", "p3-1")):
        graph.mutate(
            "query q($n: String) { update Person set { age: 9 } where name = $n }", {"n": name}, branch=branch
        )
    graph.mutate('query q() { delete Person where name = "p4-1" }', branch="side")
    graph.commit_work(Compaction(), branch="side")
    with telemetry.measure() as counts:
        there = [(item.op, item.id) for item in graph.diff("main", "side")]
        back = [(item.op, item.id) for item in graph.diff("side", "main")]
    assert there == [("update", "p1-1"), ("update", "p3-1"), ("delete", "p4-1")]
    assert back == [("update", "p1-1"), ("update", "p3-1"), ("insert", "p4-1")]
    assert counts["changes.candidates_through"] == 2 * 7
    assert counts["changes.rows_read"] < 100


def test_pieces_of_any_size_say_what_one_piece_says_in_the_order_of_ids(graph: Graph) -> None:
    history = RandomHistory(graph, 7, schema_changes=False)
    for _ in range(4):
        history.step("main")
    before = graph.snapshot()
    for _ in range(8):
        history.step("main")
    for old, new, _ in _versions(graph, before, graph.snapshot()):
        whole = find_changed_rows(old, new)
        for size in (1, 2, 5, 17):
            pieces = list(find_changed_pieces(old, new, piece_rows=size))
            for name in ("inserted", "deleted", "updated"):
                joined = [id_ for piece in pieces for id_ in getattr(piece, name).to_pylist()]
                assert joined == getattr(whole, name).to_pylist()


def test_compaction_changes_nothing_and_later_changes_are_found_without_reading_rows(graph: Graph) -> None:
    for number in range(6):
        graph.load([{"type": "Person", "data": {"name": f"p{number}-{i}"}} for i in range(50)], mode="append")
    before = graph.snapshot()
    graph.commit_work(Compaction())
    compacted = graph.snapshot()
    graph.mutate(PERSON, {"n": "p1-1", "a": 5})
    graph.commit_work(Compaction())
    after = graph.snapshot()
    for old, new, grown in _versions(graph, before, compacted):
        assert grown
        assert len(find_changed_rows(old, new)) == 0
    for old, new, grown in _versions(graph, before, after):
        with telemetry.measure() as counts:
            changes = find_changed_rows(old, new, one_lineage=grown)
        if old is not None and old.entry.key == "node:Person":
            assert changes.updated.to_pylist() == ["p1-1"]
            assert counts["changes.rows_read"] <= 4


def test_images_are_whole_rows_of_each_side_with_blobs_as_bytes(graph: Graph) -> None:
    graph.load([{"type": "Person", "data": {"name": "a", "photo": "base64:aGk=", "tags": ["x"]}},
                {"type": "Person", "data": {"name": "b", "photo": "base64:"}}], mode="append")  # fmt: skip
    before = graph.snapshot()
    graph.load([{"type": "Person", "data": {"name": "a", "photo": "base64:aG8=", "tags": ["x"]}},
                {"type": "Person", "data": {"name": "b", "photo": None}},
                {"type": "Person", "data": {"name": "c", "photo": "base64:aGk="}}], mode="merge")  # fmt: skip
    (changes,) = [
        find_changed_rows(old, new)
        for old, new, _ in _versions(graph, before, graph.snapshot())
        if old is not None and old.entry.key == "node:Person"
    ]
    assert changes.updated.to_pylist() == ["a", "b"]
    assert changes.before_images(pa.array(["b", "a"]))["photo"].to_pylist() == [b"", b"hi"]
    assert changes.after_images(pa.array(["c", "a", "b"]))["photo"].to_pylist() == [b"hi", b"ho", None]
    assert changes.before_images(pa.array(["a"]))["tags"].to_pylist() == [["x"]]


def test_blobs_are_compared_in_groups_that_fit_into_memory(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "_BLOB_BYTES", 8)
    people = [{"type": "Person", "data": {"name": f"p{i}", "photo": "base64:aGVsbG8="}} for i in range(9)]
    graph.load(people, mode="append")
    before = graph.snapshot()
    people[4]["data"] = {"name": "p4", "photo": "base64:aGVsbGE="}
    graph.load(people, mode="overwrite")
    found = [
        _found(find_changed_rows(old, new)) for old, new, _ in _versions(graph, before, graph.snapshot())
    ]
    assert {"p4"} in [updated for _, _, updated in found]
    assert all(not inserted and not deleted for inserted, deleted, _ in found)


@pytest.mark.parametrize(
    ("old", "new", "type_", "expected"),
    [
        (["", None, None, "a"], [None, "", None, "a"], pa.string(), [False, False, True, True]),
        (
            [["a, b"], [], None, ["a"], ["a", "b"]],
            [["a", "b"], None, None, ["a"], ["a", "c"]],
            pa.list_(pa.string()),
            [False, False, True, True, False],
        ),
        ([0.0, 1.5, None], [-0.0, 1.5, 0.0], pa.float64(), [False, True, False]),
        ([[1.0, 2.0], None, [3.0, 4.0]], [[1.0, 2.0], None, [3.0, 5.0]], pa.list_(pa.float32(), 2),
         [True, True, False]),
        ([True, False], [True, True], pa.bool_(), [True, False]),
    ],
)  # fmt: skip
def test_equality_is_typed(old: list[Any], new: list[Any], type_: pa.DataType, expected: list[bool]) -> None:
    found = equal_values(pa.array(old, type_), pa.array(new, type_))
    assert found.tolist() == expected
    padded = [
        pa.concat_arrays([pa.array(side[:1], type_), pa.array(side, type_)]).slice(1) for side in (old, new)
    ]
    assert np.array_equal(equal_values(*padded), found)
