"""Folders as sources: what Spark, dbt and others write, with columns in the names of folders."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og

SCHEMA = "node Person { nr: I64 @key  day: Date?  land: String? }"
_ROWS = """
query q() { match { $p: Person } return { $p.nr as nr  $p.day as day  $p.land as land } order { $p.nr } }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def put(path: Path, *numbers: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"nr": list(numbers)}), path)


@pytest.mark.parametrize("spelling", ["{}", "{}/", "file://{}"])
def test_a_folder_of_part_files_is_a_source(graph: og.Graph, tmp_path: Path, spelling: str) -> None:
    folder = tmp_path / "out"
    put(folder / "part-00000-a.snappy.parquet", 1, 2)
    put(folder / "part-00001-a.snappy.parquet", 3)
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-00000.crc").write_bytes(b"crc")
    put(folder / "_temporary" / "0" / "part-9.parquet", 99)
    done = graph.load(spelling.format(folder), type="Person", mode="append")
    assert done.nodes == {"Person": 3}


def test_names_of_folders_are_columns(graph: og.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    put(folder / "day=2026-01-31" / "land=C%C3%B4te d%27Ivoire" / "part-0.parquet", 1)
    put(folder / "day=__HIVE_DEFAULT_PARTITION__" / "land=NL" / "part-0.parquet", 2)
    graph.load(folder, type="Person", mode="append")
    assert graph.query(_ROWS).rows == [
        {"nr": 1, "day": "2026-01-31", "land": "Côte d'Ivoire"},
        {"nr": 2, "day": None, "land": "NL"},
    ]


def test_a_file_that_is_named_itself_gets_no_columns_of_its_folders(graph: og.Graph, tmp_path: Path) -> None:
    put(tmp_path / "land=NL" / "part-0.parquet", 1)
    graph.load(tmp_path / "land=NL" / "part-0.parquet", type="Person", mode="append")
    assert graph.query(_ROWS).rows[0]["land"] is None


def test_our_own_export_is_a_source(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/part-00000.ndjson").write_text('{"type": "Person", "data": {"nr": 7}}\n')
    (tmp_path / "out/_SUCCESS").write_text("")
    assert graph.load(tmp_path / "out", mode="append").nodes == {"Person": 1}


def test_an_empty_folder_is_no_source(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(og.BadInput, match="there is no file"):
        graph.load(tmp_path / "out", type="Person", mode="append")
