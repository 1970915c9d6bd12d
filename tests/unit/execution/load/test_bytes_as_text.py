"""Strings whose bytes are not UTF-8: Arrow, Parquet and Spark let them pass, and no table may hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og

SCHEMA = "node T { k: String @key  s: String?  xs: [String]?  day: Date? }\nedge E: T -> T\n"


def texts(*given: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(given), pa.array(given, pa.binary()).buffers())


GOOD, WRONG = b"\xc3\xbc", b"f\xfcr"
COLUMNS = {
    "k": texts(GOOD, WRONG, b""),
    "s": texts(GOOD, WRONG, b""),
    "xs": pa.ListArray.from_arrays([0, 1, 3, 3], texts(GOOD, b"a", WRONG)),
    "day": texts(b"2024-01-01", WRONG, b"2024-01-02"),
}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "T", "data": {"k": "there"}}], mode="append")
    return graph


def names(graph: og.Graph) -> list[str]:
    return [row["t.k"] for row in graph.query("query q() { match { $t: T } return { $t.k } }").rows]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("as_file", [False, True])
def test_such_a_value_is_refused_by_its_record(
    graph: og.Graph, tmp_path: Path, name: str, as_file: bool
) -> None:
    rows: Any = pa.table({"k": ["a", "b", "c"], **{name: COLUMNS[name]}})
    if as_file:
        pq.write_table(rows, tmp_path / "rows.parquet")
        rows = tmp_path / "rows.parquet"
    with pytest.raises(og.ValidationError, match=rf"(record|row) 2: T\.{name} holds .*not UTF-8"):
        graph.load(rows, mode="append", type="T")
    assert names(graph) == ["there"]


def test_so_is_one_of_a_dictionary(graph: og.Graph) -> None:
    rows = pa.table({"k": ["a", "b"], "s": pa.DictionaryArray.from_arrays([0, 1], texts(GOOD, WRONG))})
    with pytest.raises(og.ValidationError, match=r"record 2: T\.s holds"):
        graph.load(rows, mode="append", type="T")


def test_the_end_of_an_edge_is_refused(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match=r"'to' of E holds .*not UTF-8"):
        graph.load(pa.table({"from": ["there"], "to": texts(WRONG)}), mode="append", type="E")


def test_the_other_rows_are_loaded_when_asked(graph: og.Graph, tmp_path: Path) -> None:
    rows = pa.table({"k": ["a", "b", "c"], "s": COLUMNS["s"]})
    aside = tmp_path / "aside"
    done = graph.load(rows, mode="append", type="T", on_error="quarantine", rejected_to=aside)
    assert (done.nodes, done.rejected) == ({"T": 2}, 1)
    assert json.loads(aside.read_text())["data"] == {"k": "b", "s": "f\udcfcr"}
    assert names(graph) == ["there", "a", "c"]
