"""What a table version needs: with these files and no others, every version reads back in full."""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.query import MatchQuery

from omnigraph.storage.format import version_files
from omnigraph.storage.namespace import Pin, PinnedTable, SnapshotNamespace, WriteAttempt
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.tables.columns import blob_array, blob_field
from omnigraph.storage.tables.opening import open_dataset
from omnigraph.storage.tables.staging import StagedTable, create_table
from omnigraph.storage.versions.reachable import files_of, is_among

TABLE = "t"
LOCATION = "nodes/table"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 8)),
        blob_field("body", nullable=True),
    ]
)


def _rows(first: int, count: int, large: bool = False) -> pa.Table:
    dice = random.Random(first)
    numbers = range(first, first + count)
    bodies = [dice.randbytes(150_000 if large and number == first else 40) for number in numbers]
    return pa.table(
        [
            pa.array([f"r{number}" for number in numbers]),
            pa.array(list(numbers), pa.int64()),
            pa.array([f"word{number % 7} and more" for number in numbers]),
            pa.array([[dice.random() for _ in range(8)] for _ in numbers], pa.list_(pa.float32(), 8)),
            blob_array([*bodies[:-1], None]),
        ],
        schema=SCHEMA,
    )


def _history(store: ObjectStore) -> list[Pin]:
    """Stage one version after the other, of every kind that we write, and return their pins."""
    attempt = WriteAttempt(store, {TABLE: PinnedTable(LOCATION, None)})
    pins: list[Pin] = []

    def done(act: Callable[[Any], Any], raw: bool = True) -> None:
        act(open_dataset(attempt, TABLE) if raw else StagedTable(attempt, TABLE))
        pins.append(attempt.staged_pins()[TABLE])

    create_table(attempt, TABLE, SCHEMA)
    pins.append(attempt.staged_pins()[TABLE])
    for part in range(3):
        rows = _rows(part * 100, 100, large=True)
        done(lambda table, rows=rows: table.append(table.write_rows(rows)), raw=False)
    done(lambda table: table.delete(["r1", "r2", "r150"]), raw=False)
    done(lambda dataset: dataset.create_scalar_index("id", "BTREE"))
    done(lambda dataset: dataset.create_scalar_index("text", "INVERTED"))
    done(lambda dataset: dataset.create_index("vec", "IVF_FLAT", name="vec_2", num_partitions=2))
    done(lambda table: table.merge(_rows(290, 20)), raw=False)
    done(lambda dataset: dataset.optimize.optimize_indices())
    done(lambda dataset: dataset.delete("n >= 20 and n < 120"))
    done(lambda dataset: dataset.optimize.compact_files(num_threads=1))
    done(lambda table: table.add_column(pa.field("extra", pa.int32()), None), raw=False)
    done(lambda table: table.change_columns([{"path": "n", "name": "m"}]), raw=False)
    done(lambda table: table.remove_columns(["extra"]), raw=False)
    done(lambda dataset: dataset.delete("id = 'r200'"))
    return pins


def _image(namespace: SnapshotNamespace) -> dict[str, Any]:
    """Read a version in full: every row, every blob, and a search through each index that it has."""
    dataset = open_dataset(namespace, TABLE)
    rows = dataset.to_table(blob_handling="all_binary", columns=dataset.schema.names)
    kinds = {item.name for item in dataset.describe_indices()}
    found: dict[str, Any] = {"rows": rows.sort_by("id").to_pylist(), "indexes": kinds}
    if dataset.count_rows():
        found["by id"] = dataset.to_table(columns=["id"], filter="id = 'r5'").to_pylist()
        query = {"column": "vec", "q": [0.5] * 8, "k": 3, "nprobes": 2}
        found["near"] = dataset.to_table(columns=["id"], nearest=query).to_pylist()
    if "text_idx" in kinds:
        words = dataset.to_table(columns=["id"], full_text_query=MatchQuery("word3", "text"))
        found["words"] = sorted(words["id"].to_pylist())
    return found


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Pin]]:
    root = tmp_path_factory.mktemp("reachable") / "root"
    return root, _history(open_store(str(root)))


def test_every_version_reads_back_in_full_from_its_own_files_alone(
    history: tuple[Path, list[Pin]], tmp_path: Path
) -> None:
    root, pins = history
    store = open_store(str(root))
    kinds = set()
    for number, pin in enumerate(pins):
        namespace = SnapshotNamespace(store.root_uri, {}, {TABLE: PinnedTable(LOCATION, pin)})
        kept = set(files_of(store, namespace, TABLE).paths())
        copy = tmp_path / str(number)
        for info in store.list(LOCATION):
            inside = info.path.removeprefix(f"{LOCATION}/")
            if is_among(inside, kept):
                kinds.add(inside.split("/")[0])
                (copy / info.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / info.path, copy / info.path)
        alone = SnapshotNamespace(str(copy), {}, {TABLE: PinnedTable(LOCATION, pin)})
        assert _image(alone) == _image(namespace), f"version {pin.version}"
    assert kinds == {"_pins", "data", "_deletions", "_indices", "_transactions"}


def test_what_is_needed_is_there_with_its_size(history: tuple[Path, list[Pin]]) -> None:
    root, pins = history
    store = open_store(str(root))
    for pin in pins:
        namespace = SnapshotNamespace(store.root_uri, {}, {TABLE: PinnedTable(LOCATION, pin)})
        found = files_of(store, namespace, TABLE)
        for path, size in found.needed.items():
            file = root / LOCATION / path
            assert file.is_file()
            assert size is None or file.stat().st_size == size
        assert found.rows == open_dataset(namespace, TABLE).count_rows()


def test_the_manifest_itself_names_every_index_that_lance_lists(history: tuple[Path, list[Pin]]) -> None:
    root, pins = history
    store = open_store(str(root))
    namespace = SnapshotNamespace(store.root_uri, {}, {TABLE: PinnedTable(LOCATION, pins[-1])})
    listed = {
        f"_indices/{segment.uuid}"
        for index in open_dataset(namespace, TABLE).describe_indices()
        for segment in index.segments
    }
    manifest = store.get(namespace.pin_path(TABLE))
    spelled = {f"_indices/{uuid.UUID(bytes=found)}" for found in version_files._INDEX.findall(manifest)}
    assert listed
    assert listed <= spelled


def test_a_version_that_is_gone_is_said_to_be(history: tuple[Path, list[Pin]]) -> None:
    root, pins = history
    store = open_store(str(root))
    pin = Pin(pins[0].version, "_pins/nowhere/18446744073709551614.manifest")
    namespace = SnapshotNamespace(store.root_uri, {}, {TABLE: PinnedTable(LOCATION, pin)})
    with pytest.raises(Exception, match="no object"):
        files_of(store, namespace, TABLE)


def test_lance_is_the_release_that_this_was_read_from() -> None:
    assert lance.__version__ == "14.0.2", "read again how a manifest names files before changing this"
