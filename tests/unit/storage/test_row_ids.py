"""Row ids and versions that a manifest has are those that Lance lists."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

from omnigraph.storage.format.row_ids import read_row_ids, read_versions

ROWS = 1_500


def _merge(dataset: Any, numbers: list[int], step: int) -> None:
    rows = pa.table({"id": [f"p{number}" for number in numbers], "v": [step] * len(numbers)})
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)


def _change(dataset: Any, chance: random.Random, step: int) -> None:
    begin = chance.randrange(ROWS)
    match chance.choice(["few", "few", "most", "half", "delete", "compact", "new", "apart"]):
        case "few":
            _merge(dataset, chance.sample(range(ROWS), chance.choice([1, 2, 50])), step)
        case "apart":  # further apart than two bytes can say
            _merge(dataset, [chance.randrange(ROWS), 10**6 + step], step)
        case "most" | "half" as kind:
            share = 0.9 if kind == "most" else 0.5
            numbers = [number for number in range(begin, begin + 200) if chance.random() < share]
            chance.shuffle(numbers)
            _merge(dataset, numbers, step)
        case "delete":
            dataset.delete(f"v = {chance.randrange(5)} AND id LIKE 'p{chance.randrange(10)}%'")
        case "compact":
            dataset.optimize.compact_files(target_rows_per_fragment=1_000)
        case "new":
            _merge(dataset, list(range(10**5 * step, 10**5 * step + 20)), step)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_manifest_has_is_what_lance_lists(tmp_path: Path, seed: int) -> None:
    chance, compared = random.Random(seed), 0
    rows = pa.table({"id": [f"p{number}" for number in range(ROWS)], "v": [0] * ROWS})
    lance.write_dataset(rows, tmp_path / "t", enable_stable_row_ids=True, max_rows_per_file=400)
    for step in range(1, 16):
        _change(lance.dataset(tmp_path / "t"), chance, step)
        dataset = lance.dataset(tmp_path / "t")
        for fragment in dataset.get_fragments():
            stored, count = fragment.metadata, fragment.physical_rows
            if stored.deletion_file is not None:
                continue
            columns = ["_row_last_updated_at_version"]
            wanted = dataset.scanner(columns=columns, with_row_id=True, fragments=[fragment]).to_table()
            said = stored.to_json()
            numbers = read_row_ids(bytes(said["row_id_meta"]["Inline"]), count)
            versions = read_versions(bytes(said["last_updated_at_version_meta"]["inline"]), count)
            assert numbers is not None and versions is not None
            assert np.array_equal(numbers, wanted["_rowid"].to_numpy())
            assert np.array_equal(versions, wanted[columns[0]].to_numpy())
            compared += 1
    assert compared > 20


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        bytes([10, 4, 10, 2, 16, 49]),  # 49 rows
        bytes([10, 4, 58, 2, 16, 50]),  # a segment of a kind that there is not
        bytes([10, 2, 8, 50]),  # a number for a segment
        bytes([10, 4, 34, 2, 34, 0]),  # a list of a width that there is not
        bytes([10, 9, 10, 2, 16, 50]),  # cut off
        bytes([10, 6, 26, 4, 16, 50, 26, 0]),  # flags for no row
        bytes([10, 10, 10, 8, 16, 255, 255, 255, 255, 255, 255, 15]),  # more rows than memory has room for
        bytes([10, 6, 34, 4, 26, 2, 8, 50]),  # a number for a list
    ],
)
def test_what_is_not_known_is_not_read(stored: bytes) -> None:
    assert read_row_ids(stored, 50) is None
    assert read_versions(stored, 50) is None
