"""Ids remembered by data file: fast, and never wrong about what a version holds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.base.lru import Lru
from omnigraph.storage.objects import open_store
from omnigraph.storage.tables import file_ids
from omnigraph.storage.tables.file_ids import Key
from omnigraph.storage.tables.staging import StagedTable
from support.lance_tables import TABLE, PinnedFolder, Recording, append, rows

Memory = Lru[Key, frozenset[str]]


@pytest.fixture
def small(tmp_path: Path) -> PinnedFolder:
    """A table of 3 rows, of which this process remembers nothing."""
    return PinnedFolder.create(open_store(str(tmp_path / "root")), 3)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """An empty memory for this test."""
    fresh: Memory = Lru(1000, len)
    monkeypatch.setattr(file_ids, "known", fresh)
    return fresh


def _stored(table: StagedTable | PinnedFolder, *ids: str) -> set[str]:
    staged = StagedTable(table.attempt(), TABLE) if isinstance(table, PinnedFolder) else table
    return staged.find_stored_ids(pa.chunked_array([list(ids)]))


def test_stored_ids_are_found_whether_or_not_their_file_was_read_before(
    small: PinnedFolder, memory: Memory
) -> None:
    for _ in range(2):
        assert _stored(small, "r1", "r9") == {"r1"}
        assert _stored(small, "r9") == set()


def test_a_fragment_that_this_process_wrote_is_not_read_back(small: PinnedFolder, memory: Memory) -> None:
    attempt = small.attempt()
    staged = StagedTable(attempt, TABLE)
    staged.append(staged.write_rows(rows(10, 11)))
    written = small.at(attempt.pin).open().get_fragments()[-1].metadata
    table_uri = small.snapshot().table_uri(TABLE)
    assert memory.get(file_ids.files_of(table_uri, written)) == frozenset({"r10"})
    assert _stored(staged, "r10", "r2") == {"r10", "r2"}


def test_a_deleted_id_is_not_stored_though_its_file_holds_it(small: PinnedFolder, memory: Memory) -> None:
    assert _stored(small, "r0") == {"r0"}
    attempt = small.attempt()
    attempt.open().delete("n = 0")
    assert _stored(small.at(attempt.pin), "r0", "r1") == {"r1"}


def test_what_one_branch_deleted_is_still_found_on_another(small: PinnedFolder, memory: Memory) -> None:
    attempt = small.attempt()
    attempt.open().delete("n = 0")
    assert _stored(small.at(attempt.pin), "r0") == set(), "read first where it is gone"
    assert _stored(small, "r0") == {"r0"}


def test_ids_are_found_after_compaction_and_after_a_change_of_columns(
    small: PinnedFolder, memory: Memory
) -> None:
    attempt = small.attempt()
    dataset = append(attempt.open(), rows(3, 6))
    assert _stored(small.at(attempt.pin), "r0", "r5") == {"r0", "r5"}
    dataset.optimize.compact_files(num_threads=1)
    dataset.add_columns({"m": "n * 2"})
    dataset.drop_columns(["n"])
    assert _stored(small.at(attempt.pin), "r0", "r5", "r6") == {"r0", "r5"}


def test_large_fragments_are_searched_and_not_remembered(tmp_path: Path, memory: Memory) -> None:
    table = PinnedFolder.create(open_store(str(tmp_path / "root")), file_ids.MAX_KEPT_ROWS + 1)
    assert _stored(table, "r7", "nobody") == {"r7"}
    fragment = table.open().get_fragments()[0].metadata
    assert memory.get(file_ids.files_of(table.snapshot().table_uri(TABLE), fragment)) is None


def test_an_upsert_of_a_stored_id_replaces_the_row(small: PinnedFolder, memory: Memory) -> None:
    attempt: Recording = small.attempt()
    staged = StagedTable(attempt, TABLE)
    new = rows(2, 4, add=100)
    staged.upsert(new, staged.write_rows(new))
    found = small.at(attempt.pin).open().to_table(columns=["id", "n"]).to_pylist()
    assert {row["id"]: row["n"] for row in found} == {"r0": 0, "r1": 1, "r2": 102, "r3": 103}
