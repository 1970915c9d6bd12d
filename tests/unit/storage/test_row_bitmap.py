"""Lance reads the bitmaps that tell it which rows are hidden."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from omnigraph.storage.format.manifests import message_of
from omnigraph.storage.restrictions.hidden_rows import HiddenRows
from omnigraph.storage.restrictions.restricted_version import RestrictedManifest

ROWS = 140_000
CONTAINER = 1 << 16
NONE = np.empty(0, np.uint32)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A table of one fragment with its manifest."""
    path = tmp_path_factory.mktemp("rows") / "t.lance"
    lance.write_dataset(pa.table({"n": np.arange(ROWS)}), path, max_rows_per_group=ROWS)
    (manifest,) = (path / "_versions").glob("*.manifest")
    return path, message_of(manifest.read_bytes())


@pytest.mark.parametrize(
    "hidden",
    [
        np.array([0]),
        np.array([ROWS - 1]),
        np.arange(4_096),
        np.arange(4_097),
        np.arange(0, 2 * 4_096, 2) + CONTAINER,
        np.arange(0, 2 * 4_097, 2) + CONTAINER,
        np.arange(CONTAINER - 1, CONTAINER + 1),
        np.arange(CONTAINER, 2 * CONTAINER),
        np.flatnonzero(np.random.default_rng(8).random(ROWS) < 0.01),
    ],
    ids=lambda rows: f"{len(rows)} from {rows[0]}",
)
def test_exactly_the_rows_of_a_bitmap_are_hidden(
    stored: tuple[Path, bytes], hidden: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    path, message = stored
    rows = HiddenRows(hidden.astype(np.uint32), pa.array([], pa.string()), b"")
    manifest = RestrictedManifest(message, {0: rows}, {}, frozenset())
    seen = lance.LanceDataset(str(path), serialized_manifest=manifest.message)
    expected = np.setdiff1d(np.arange(ROWS), hidden)
    assert seen.count_rows() == len(expected)
    assert np.array_equal(seen.to_table()["n"].to_numpy(), expected)


def test_deleted_rows_stay_deleted_beside_hidden_ones(stored: tuple[Path, bytes]) -> None:
    path, message = stored
    rows = HiddenRows(np.array([1, 5], np.uint32), pa.array([], pa.string()), b"")
    manifest = RestrictedManifest(message, {0: rows}, {0: np.array([3, 5], np.uint32)}, frozenset())
    seen = lance.LanceDataset(str(path), serialized_manifest=manifest.message)
    assert seen.head(4)["n"].to_pylist() == [0, 2, 4, 6]
