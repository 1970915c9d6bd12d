"""Indexes of a table version: what they cover, and that they never change an answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.storage.filters import ComparedColumn, NullColumn, Operator
from omnigraph.storage.indexes import indexes
from omnigraph.storage.indexes.analyser import tokens
from omnigraph.storage.indexes.indexes import IndexChanges, IndexKind, TableIndex
from omnigraph.storage.objects import open_store
from omnigraph.storage.rows.search import nearest
from omnigraph.storage.tables.staging import StagedTable
from omnigraph.storage.tables.table import Table
from support.lance_tables import SCHEMA, TABLE, PinnedFolder, has, rows
from support.words import rows_with_words

ALL = (
    ("id", IndexKind.BTREE),
    ("n", IndexKind.BTREE),
    ("text", IndexKind.BTREE),
    ("text", IndexKind.TEXT),
    ("vec", IndexKind.VECTOR),
)


@pytest.fixture
def folder(tmp_path: Path) -> PinnedFolder:
    """A table of 300 rows."""
    return PinnedFolder.create(open_store(str(tmp_path / "root")), 300)


def _build(table: StagedTable) -> IndexChanges:
    changes = IndexChanges()
    for column, kind in ALL:
        changes = changes.then(table.build_index(column, kind))
    return changes


def _by_name(found: tuple[TableIndex, ...]) -> dict[tuple[str, IndexKind], tuple[int, int]]:
    return {(item.column, item.kind): (item.rows_covered, item.rows_uncovered) for item in found}


def test_indexes_say_how_many_rows_they_know(folder: PinnedFolder) -> None:
    attempt = folder.attempt()
    table = StagedTable(attempt, TABLE)
    assert table.indexes() == ()
    _build(table)
    assert _by_name(table.indexes()) == dict.fromkeys(ALL, (300, 0))
    table.append(table.write_rows(rows(300, 310)))
    assert _by_name(table.indexes()) == dict.fromkeys(ALL, (300, 10))
    table.merge(rows(0, 5, add=7))
    table.delete(["r20"])
    assert _by_name(table.indexes()) == dict.fromkeys(ALL, (294, 15))
    table.fold_indexes([item.name for item in table.indexes()])
    assert _by_name(table.indexes()) == dict.fromkeys(ALL, (309, 0))
    assert folder.open().describe_indices() == [], "the version that it started from has changed"


def test_an_index_keeps_its_column_through_renames_and_goes_with_it(folder: PinnedFolder) -> None:
    table = StagedTable(folder.attempt(), TABLE)
    _build(table)
    table.change_columns([{"path": "n", "name": "number"}])
    assert ("number", IndexKind.BTREE) in _by_name(table.indexes())
    table.remove_columns(["number"])
    assert {item.column for item in table.indexes()} == {"id", "text", "vec"}
    table.add_column(pa.field("n", pa.int64()), None)
    assert {item.column for item in table.indexes()} == {"id", "text", "vec"}
    table.build_index("n", IndexKind.BTREE)
    assert table.scan(["id"], NullColumn("n")).num_rows == 300


def test_columns_that_exchange_names_keep_one_index_each(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), ("a", pa.int64()), ("b", pa.int64())])
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")), schema=schema)
    table = StagedTable(folder.attempt(), TABLE)
    table.append(table.write_rows(pa.table({"id": ["x", "y"], "a": [1, 2], "b": [10, 20]}, schema=schema)))
    table.build_index("a", IndexKind.BTREE)
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        table.change_columns([{"path": old, "name": new}])
    table.build_index("a", IndexKind.BTREE)
    assert [item.column for item in table.indexes()] == ["a", "b"]
    assert table.scan(["id"], has("a", 10))["id"].to_pylist() == ["x"]
    assert table.scan(["id"], has("b", 2))["id"].to_pylist() == ["y"]


def test_widening_a_column_drops_its_index_and_no_other(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), ("small", pa.int32())])
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")), schema=schema)
    table = StagedTable(folder.attempt(), TABLE)
    table.append(table.write_rows(pa.table({"id": ["a", "b"], "small": [1, 2]}, schema=schema)))
    table.build_index("id", IndexKind.BTREE)
    table.build_index("small", IndexKind.BTREE)
    table.change_columns([{"path": "small", "data_type": pa.int64()}])
    assert [item.column for item in table.indexes()] == ["id"]
    assert table.scan(["id"], has("small", 2))["id"].to_pylist() == ["b"]


def test_indexes_built_on_one_version_are_put_on_a_later_one(folder: PinnedFolder) -> None:
    changes = _build(StagedTable(folder.attempt(), TABLE))
    newer = folder.attempt()
    table = StagedTable(newer, TABLE)
    table.append(table.write_rows(rows(300, 310)))
    table.merge(rows(0, 5, add=1000))
    table.delete(["r20"])
    later = folder.at(newer.pin).attempt()
    table = StagedTable(later, TABLE)
    later.created.clear()
    assert table.put_indexes(changes)
    assert len(later.created) == 1, "all of them in one version"
    assert _by_name(table.indexes()) == dict.fromkeys(ALL, (294, 15))
    assert table.scan(["id"], has("n", 3)).num_rows == 0
    assert table.scan(["id"], has("n", 1003))["id"].to_pylist() == ["r3"]
    _assert_agrees(folder.at(later.pin), random.Random(0))


def test_folded_indexes_are_put_in_the_place_of_the_old_ones(folder: PinnedFolder) -> None:
    first = folder.attempt()
    table = StagedTable(first, TABLE)
    _build(table)
    table.append(table.write_rows(rows(300, 310)))
    base = folder.at(first.pin)
    table = StagedTable(base.attempt(), TABLE)
    changes = table.fold_indexes([item.name for item in table.indexes()])
    newer = base.attempt()
    StagedTable(newer, TABLE).merge(rows(305, 320, add=5))
    later = base.at(newer.pin).attempt()
    table = StagedTable(later, TABLE)
    assert table.put_indexes(changes)
    assert _by_name(table.indexes()) == dict.fromkeys(ALL, (305, 15))
    _assert_agrees(base.at(later.pin), random.Random(0))


def _compacted(table: StagedTable) -> None:
    table.append(table.write_rows(rows(300, 301)))
    table.compact(1 << 20)


def _replaced(table: StagedTable) -> None:
    table.overwrite(table.write_rows(rows(0, 300)))


@pytest.mark.parametrize(
    "change",
    [
        _compacted,
        _replaced,
        lambda table: table.remove_columns(["n"]),
        lambda table: table.build_index("n", IndexKind.BTREE),
    ],
    ids=["compacted", "replaced", "column dropped", "built by somebody else"],
)
def test_indexes_are_not_put_where_what_they_cover_is_gone(
    folder: PinnedFolder, change: Callable[[StagedTable], object]
) -> None:
    changes = _build(StagedTable(folder.attempt(), TABLE))
    newer = folder.attempt()
    change(StagedTable(newer, TABLE))
    later = folder.at(newer.pin).attempt()
    assert not StagedTable(later, TABLE).put_indexes(changes)
    assert later.created == []


def test_a_vector_index_is_built_anew_with_more_partitions_in_place_of_the_old(
    folder: PinnedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = StagedTable(folder.attempt(), TABLE)
    table.build_index("vec", IndexKind.VECTOR)
    monkeypatch.setattr(indexes, "VECTORS_PER_PARTITION", 100)
    changes = table.build_index("vec", IndexKind.VECTOR)
    assert [(item.partitions, item.rows_covered) for item in table.indexes()] == [(3, 300)]
    assert (len(changes.added), len(changes.replaced)) == (1, 1)


def test_vectors_without_direction_do_not_count_as_training_data(folder: PinnedFolder) -> None:
    table = StagedTable(folder.attempt(), TABLE)
    assert table.count_vectors("vec") == 299, "r0 has the zero vector"


def test_words_are_those_of_the_index(folder: PinnedFolder) -> None:
    odd = ["The naïve cats' under_scored Straße", "x" * 60, "ÉTÉ ﬁne 3.14 don't", "İstanbul", "日本語 числа"]
    attempt = folder.attempt()
    table = StagedTable(attempt, TABLE)
    wanted = rows(300, 300 + len(odd)).set_column(2, "text", pa.array(odd))
    table.append(table.write_rows(wanted))
    table.build_index("text", IndexKind.TEXT)
    opened = Table(folder.at(attempt.pin).snapshot(), TABLE)
    for query in {word for text in odd for word in text.split()}:
        expected = {f"r{at}" for at, text in enumerate(odd, 300) if set(tokens(text)) & set(tokens(query))}
        found = rows_with_words(opened, "text", query)
        assert found is not None
        assert {name for name in _ids(opened, found.addresses) if name >= "r300"} == expected, query


def _ids(table: Table, addresses: Any) -> set[str]:
    found = table.dataset.scanner(columns=["id"], with_row_address=True).to_table()
    wanted = pa.array(addresses, pa.uint64())
    return set(found.filter(pc.is_in(found["_rowaddr"], wanted))["id"].to_pylist())


# An index never changes an answer.


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_to_a_table_its_indexes_never_change_an_answer(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")), 260)
    for _ in range(12):
        attempt = folder.attempt()
        table = StagedTable(attempt, TABLE)
        for _ in range(chance.randint(1, 3)):
            _happen(table, chance)
        folder = folder.at(attempt.pin) if attempt.staged_pins() else folder
        _assert_agrees(folder, chance)


def _happen(table: StagedTable, chance: random.Random) -> None:
    first = chance.randrange(400)
    match chance.choice(["append", "upsert", "upsert", "delete", "compact", "build", "fold", "overwrite"]):
        case "append":
            stored = set(table.scan(["id"])["id"].to_pylist())
            new = [row for row in _random_rows(chance, first).to_pylist() if row["id"] not in stored]
            if new:
                table.append(table.write_rows(pa.Table.from_pylist(new, schema=SCHEMA)))
        case "upsert":
            table.merge(_random_rows(chance, first))
        case "delete":
            table.delete([f"r{number}" for number in range(first, first + chance.randrange(60))])
        case "compact":
            table.compact(chance.choice([64, 1 << 20]))
        case "build":
            column, kind = chance.choice(ALL)
            if kind is not IndexKind.VECTOR or table.count_vectors("vec"):
                table.build_index(column, kind)
        case "fold":
            if found := table.indexes():
                table.fold_indexes([item.name for item in found])
        case "overwrite" if chance.random() < 0.2:
            table.overwrite(table.write_rows(_random_rows(chance, 0, 300)))


_WORDS = ["Zebra", "zebras", "running", "runs", "number", "the", "naïve", "5", None]


def _random_rows(chance: random.Random, first: int, count: int | None = None) -> pa.Table:
    count = chance.randint(1, 40) if count is None else count
    return pa.Table.from_pylist(
        [
            {
                "id": f"r{number}",
                "n": chance.choice([None, number, chance.randrange(20)]),
                "text": " ".join(filter(None, chance.choices(_WORDS, k=3)))
                if chance.random() < 0.9
                else None,
                "vec": [chance.gauss(0, 1) for _ in range(4)] if chance.random() < 0.9 else None,
            }
            for number in range(first, first + count)
        ],
        schema=SCHEMA,
    )


def _assert_agrees(folder: PinnedFolder, chance: random.Random) -> None:
    opened = Table(folder.snapshot(), TABLE)
    stored = opened.dataset.scanner(use_scalar_index=False, with_row_id=True).to_table().to_pylist()
    assert len(stored) == opened.count() == len({row["id"] for row in stored})
    for column, value in (
        ("id", f"r{chance.randrange(400)}"), ("n", chance.randrange(20)), ("text", "Running number 7")
    ):  # fmt: skip
        for name, keep in _COMPARISONS.items():
            expected = {row["id"] for row in stored if row[column] is not None and keep(row[column], value)}
            condition = ComparedColumn(column, name, pa.scalar(value))
            assert set(opened.scan(["id"], condition)["id"].to_pylist()) == expected, (column, name, value)
        nulls = {row["id"] for row in stored if row[column] is None}
        assert set(opened.scan(["id"], NullColumn(column))["id"].to_pylist()) == nulls
    for query in ("zebra runs", "numbers", "the", "naïve"):
        _assert_finds_words(opened, stored, query)
    _assert_finds_nearest(opened, stored, chance)


_COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">=": lambda left, right: left >= right,
}


def _assert_finds_words(opened: Table, stored: list[dict[str, Any]], query: str) -> None:
    found = rows_with_words(opened, "text", query)
    if found is None:
        return
    wanted = set(tokens(query))
    expected = {row["id"] for row in stored if row["text"] and wanted & set(tokens(row["text"]))}
    ids = _ids(opened, found.addresses)
    assert ids <= expected
    unread = [item for item in opened.dataset.get_fragments() if item.fragment_id in found.unread]
    assert expected - ids <= {name for item in unread for name in item.to_table(["id"])["id"].to_pylist()}


def _assert_finds_nearest(opened: Table, stored: list[dict[str, Any]], chance: random.Random) -> None:
    query = np.array([chance.gauss(0, 1) for _ in range(4)], dtype=np.float32)
    present = [row for row in stored if row["vec"] is not None and any(row["vec"])]
    allowed = [row["_rowid"] for row in present if row["_rowid"] % 3 == 0]
    for only in (None, np.array(allowed, dtype=np.uint64)):
        found = nearest(opened, "vec", query, 10, allowed=only)
        if found is None:
            return
        kept = [row for row in present if only is None or row["_rowid"] in allowed]
        distances = sorted(_distance(row["vec"], query) for row in kept)
        distances = [
            item for item in distances if item <= distances[:10][-1] + 1e-6
        ]  # the last one's ties too
        assert len(set(found["id"].to_pylist())) == len(distances)
        assert np.allclose(found["_distance"].to_pylist(), distances, atol=1e-5)
        by_id = {row["id"]: row["vec"] for row in kept}
        assert np.allclose(
            [_distance(by_id[name], query) for name in found["id"].to_pylist()], distances, atol=1e-5
        )


def _distance(vector: list[float], query: Any) -> float:
    stored = np.array(vector, dtype=np.float64)
    return float(1 - stored @ query / (np.linalg.norm(stored) * np.linalg.norm(query)))
