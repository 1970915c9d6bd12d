"""What differs between two versions of a table, from their manifests; and what of Lance this leans on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.base.errors import NotFound
from omnigraph.storage.indexes.indexes import IndexKind
from omnigraph.storage.namespace import Pin, PinnedTable, SnapshotNamespace
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.tables.staging import StagedTable
from omnigraph.storage.tables.table import Table
from omnigraph.storage.versions.changes import candidates, candidates_through, find_rows, take_rows
from support.lance_tables import TABLE, PinnedFolder, Recording, has, rows

UPDATED = "_row_last_updated_at_version"


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return open_store(str(tmp_path / "root"))


class Line:
    """Versions of one table, each staged on the one before it."""

    def __init__(self, store: ObjectStore, pin: Pin) -> None:
        self.store, self.pin = store, pin

    def then(self, *acts: Any) -> Line:
        """Return the line with one more version for each act on the staged table."""
        pin = self.pin
        for act in acts:
            attempt = Recording(self.store, pin)
            act(StagedTable(attempt, TABLE))
            pin = attempt.pin
        return Line(self.store, pin)

    @property
    def table(self) -> Table:
        """The newest version, opened."""
        view = SnapshotNamespace(
            self.store.root_uri, self.store.lance_options(), {TABLE: PinnedTable(TABLE, self.pin)}
        )
        return Table(view, TABLE)


def grown(first: int, end: int) -> Any:
    return lambda table: table.append(table.write_rows(rows(first, end)))


def merge(first: int, end: int, add: int = 0) -> Any:
    return lambda table: table.merge(rows(first, end, add))


def delete(*numbers: int) -> Any:
    return lambda table: table.delete([f"r{number}" for number in numbers])


def overwrite(first: int, end: int) -> Any:
    return lambda table: table.overwrite(table.write_rows(rows(first, end)))


def compact(table: StagedTable) -> None:
    assert table.compact(1_000)


def ids(table: Table, row_ids: Any) -> list[str]:
    return sorted(take_rows(table, row_ids, ["id"])["id"].to_pylist())


@pytest.fixture
def line(store: ObjectStore) -> Line:
    folder = PinnedFolder.create(store, 10)
    return Line(store, folder.pin).then(grown(10, 20))


def test_shared_files_are_skipped_and_deletions_of_both_sides_are_found(line: Line) -> None:
    ours = line.then(delete(1, 2), merge(5, 6, add=100))
    theirs = line.then(delete(2, 12), grown(20, 22))
    found = candidates(ours.table, theirs.table)
    assert ids(ours.table, found.old) == ["r12", "r5"]
    assert ids(theirs.table, found.new) == ["r1", "r20", "r21", "r5"]


def test_fragment_numbers_that_collide_are_not_taken_for_the_same(line: Line) -> None:
    ours, theirs = line.then(grown(20, 21)), line.then(grown(30, 31))
    numbers = [[part.fragment_id for part in side.table.dataset.get_fragments()] for side in (ours, theirs)]
    assert numbers[0] == numbers[1]
    found = candidates(ours.table, theirs.table)
    assert (ids(ours.table, found.old), ids(theirs.table, found.new)) == (["r20"], ["r30"])


def test_rows_that_compaction_moved_are_recognised_along_one_line(line: Line) -> None:
    later = line.then(merge(3, 4, add=100), delete(7), compact)
    plain = candidates(line.table, later.table)
    assert len(plain.old) == 20 and len(plain.new) == 19
    found = candidates(line.table, later.table, one_lineage=True)
    assert (ids(line.table, found.old), ids(later.table, found.new)) == (["r3", "r7"], ["r3"])


def test_rows_that_an_overwrite_wrote_count_as_new_even_with_the_same_ids(line: Line) -> None:
    later = line.then(overwrite(0, 5), grown(5, 6), compact)
    found = candidates(line.table, later.table, one_lineage=True)
    assert len(found.old) == 20
    assert ids(later.table, found.new) == [f"r{number}" for number in range(6)]


def test_two_lines_are_compared_by_way_of_their_origin_whatever_was_rewritten(line: Line) -> None:
    ours = line.then(merge(1, 3, add=100), delete(9), compact)
    theirs = line.then(merge(2, 4, add=200), delete(9, 10), grown(20, 21), compact)
    found = candidates_through(line.table, ours.table, theirs.table)
    assert ids(ours.table, found.old) == ["r1", "r10", "r2", "r3"]
    assert ids(theirs.table, found.new) == ["r1", "r2", "r20", "r3"]


def test_a_missing_version_has_no_rows(line: Line) -> None:
    assert len(candidates(None, line.table).new) == 20
    assert len(candidates(line.table, None).old) == 20
    assert len(candidates(None, None).old) == 0


def test_rows_are_taken_in_the_order_asked_for(line: Line) -> None:
    table = line.then(merge(4, 5, add=100), compact).table
    found, row_ids = find_rows(table, pa.array(["r4", "r15", "nobody"]))
    by_id = dict(zip(found.to_pylist(), row_ids.tolist(), strict=True))
    assert set(by_id) == {"r4", "r15"}
    taken = take_rows(table, pa.array([by_id["r15"], by_id["r4"]]).to_numpy(), ["id", "n"])
    assert taken.to_pydict() == {"id": ["r15", "r4"], "n": [15, 104]}


def test_lance_keeps_row_ids_and_versions_through_compaction_and_updates(line: Line) -> None:
    """The guard of what `one_lineage` leans on."""
    before = line.table.dataset
    later = line.then(merge(3, 4, add=100), delete(7), compact).table.dataset
    columns = ["id", UPDATED]
    was, now = (
        {
            row["id"]: (row["_rowid"], row[UPDATED])
            for row in side.to_table(columns=columns, with_row_id=True).to_pylist()
        }
        for side in (before, later)
    )
    assert {id_: now[id_] for id_ in now if id_ != "r3"} == {
        id_: was[id_] for id_ in was if id_ not in ("r3", "r7")
    }
    assert now["r3"][0] == was["r3"][0] and now["r3"][1] > before.version


def replace(numbers: range, add: int) -> Any:
    def act(table: StagedTable) -> None:
        found = table._dataset.scanner(columns=["id"], with_row_id=True).to_table()
        wanted = [f"r{number}" for number in numbers]
        held = dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True))
        numbers_held = np.array([held[id_] for id_ in wanted], np.uint64)
        staged = table.write_rows(rows(numbers.start, numbers.stop, add)) if add else None
        assert not table.replace_rows(staged, pa.array(["other"] * len(wanted)), numbers_held)
        assert table.replace_rows(staged, pa.array(wanted), numbers_held)

    return act


@pytest.mark.parametrize("numbers", [range(3, 5), range(8, 12), range(0, 10), range(0, 20)])
@pytest.mark.parametrize("add", [0, 100])
def test_replaced_rows_are_one_version_that_indexes_and_diffs_understand(
    line: Line, numbers: range, add: int
) -> None:
    line = line.then(lambda table: table.build_index("id", IndexKind.BTREE))
    later = line.then(replace(numbers, add))
    assert later.pin.version == line.pin.version + 1
    expected = {row["id"]: row for row in rows(0, 20).to_pylist() if int(row["id"][1:]) not in numbers}
    expected |= {row["id"]: row for row in rows(numbers.start, numbers.stop, add).to_pylist() if add}
    stored = later.table.scan()
    assert {row["id"]: row for row in stored.to_pylist()} == expected
    assert later.table.count() == len(expected)
    for number in range(20):
        assert later.table.scan(["id"], has("id", f"r{number}")).num_rows == (f"r{number}" in expected)
    found = candidates(line.table, later.table, one_lineage=True)
    gone = sorted(f"r{number}" for number in numbers)
    assert ids(line.table, found.old) == gone
    assert ids(later.table, found.new) == (gone if add else [])
    again = later.then(grown(50, 51), grown(51, 52), compact)
    assert again.table.count() == len(expected) + 2


@pytest.mark.parametrize("seed", range(8))
def test_deletion_files_tell_what_a_listing_of_the_rows_does(line: Line, seed: int) -> None:
    chance = random.Random(seed)
    sides = [
        line.then(
            *(
                delete(*chance.sample(range(20), 3))
                if chance.random() < 0.7
                else merge(number := chance.randrange(20), number + 2, add=100)
                for _ in range(3)
            )
        )
        for _ in range(2)
    ]
    old, new = (side.table for side in sides)
    listed = candidates(old, new)
    folder = Path(line.store.root_uri.removeprefix("file://"), TABLE)
    columns = old.schema.names
    told = candidates(old, new, read=lambda path: (folder / path).read_bytes(), columns=(columns, columns))
    for place, (table, one, two) in enumerate([(old, listed.old, told.old), (new, listed.new, told.new)]):
        assert sorted(one.tolist()) == sorted(two.tolist())
        held = told.held[place]
        if len(two):
            assert held is not None
            assert set(held["_rowid"].to_pylist()) == set(two.tolist())
            taken = take_rows(table, held["_rowid"].to_numpy(), columns)
            assert held.drop_columns("_rowid").to_pylist() == taken.to_pylist()


def test_a_deletion_file_that_is_gone_is_no_answer(line: Line) -> None:
    later = line.then(delete(1))

    def gone(path: str) -> bytes:
        raise NotFound("gone", path=path)

    found = candidates(line.table, later.table, read=gone)
    assert ids(line.table, found.old) == ["r1"]
