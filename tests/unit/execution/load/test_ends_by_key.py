"""Edges take the keys of their nodes, and a column of the wrong type is told once."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og

SCHEMA = """
node Person { nr: I64 @key  name: String? }
node Day { day: Date @key }
node Tag { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge Born: Person -> Day
edge Has: Person -> Tag
"""
_ENDS = "query q() { match { $a: Person  $a knows $b } return { $a.nr as a  $b.nr as b } order { $a.nr } }"
_BORN = "query q() { match { $a: Person  $a born $d } return { $a.nr as a  $d.day as d } order { $a.nr } }"
BORN = date(1990, 5, 17)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    people = [{"type": "Person", "data": {"nr": number}} for number in (1, 2, 3)]
    days = [{"type": "Day", "data": {"day": BORN.isoformat()}}, {"type": "Tag", "data": {"name": "7"}}]
    made.load([*people, *days], mode="append")
    return made


def ends(graph: og.Graph) -> list[tuple[int, int]]:
    return [(row["a"], row["b"]) for row in graph.query(_ENDS).rows]


@pytest.mark.parametrize(
    "type_", [pa.int64(), pa.int32(), pa.uint16(), pa.decimal128(9, 0), pa.string()], ids=str
)
def test_a_table_of_edges_may_have_integers_as_ends(graph: og.Graph, type_: pa.DataType) -> None:
    rows = pa.table({"from": pa.array(["1", "2"]).cast(type_), "to": pa.array(["2", "3"]).cast(type_)})
    assert graph.load(rows, type="Knows", mode="append").edges == {"Knows": 2}
    assert ends(graph) == [(1, 2), (2, 3)]


def test_files_of_edges_may_have_integers_as_ends(graph: og.Graph, tmp_path: Path) -> None:
    pq.write_table(pa.table({"from": [1], "to": [2]}), tmp_path / "edges.parquet")
    (tmp_path / "edges.csv").write_text("from,to\n02,3\n")
    (tmp_path / "edges.json").write_text('{"from": 3, "to": 1}\n')
    (tmp_path / "records.jsonl").write_text(json.dumps({"edge": "Knows", "from": 3, "to": "3"}) + "\n")
    for name in ("edges.parquet", "edges.csv", "edges.json"):
        graph.load(tmp_path / name, type="Knows", mode="append")
    graph.load(tmp_path / "records.jsonl", mode="append")
    assert sorted(ends(graph)) == [(1, 2), (2, 3), (3, 1), (3, 3)]


@pytest.mark.parametrize("given", [BORN, BORN.isoformat(), "7441"], ids=["date", "text", "id"])
def test_ends_may_be_dates(graph: og.Graph, given: Any) -> None:
    assert (BORN - date(1970, 1, 1)).days == 7441
    graph.load([{"edge": "Born", "from": 1, "to": given}], mode="append")
    graph.load(pa.table({"from": [2], "to": [given]}), type="Born", mode="append")
    assert [(row["a"], row["d"]) for row in graph.query(_BORN).rows] == [(1, str(BORN)), (2, str(BORN))]


def test_mutations_take_keys_as_ends(graph: og.Graph) -> None:
    graph.mutate("query q() { insert Knows { from: 1 to: 2 } }")
    graph.mutate("query q($a: I64, $b: String) { insert Knows { from: $a to: $b } }", {"a": 2, "b": "3"})
    graph.mutate("query q($d: Date) { insert Born { from: 3 to: $d } }", {"d": BORN})
    assert ends(graph) == [(1, 2), (2, 3)]
    assert [row["a"] for row in graph.query(_BORN).rows] == [3]
    graph.mutate("query q() { match { $p: Person { nr: 3 } } insert Knows { from: $p to: 1 } }")
    assert ends(graph) == [(1, 2), (2, 3), (3, 1)]


def test_an_integer_is_no_key_of_a_node_with_a_string_as_its_key(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match="as a string: found an integer"):
        graph.load(pa.table({"from": [1], "to": [7]}), type="Has", mode="append")
    with pytest.raises(og.ValidationError, match="as a string: found an integer"):
        graph.load([{"edge": "Has", "from": 1, "to": 7}], mode="append")
    with pytest.raises(og.OmniError):
        graph.mutate("query q() { insert Has { from: 1 to: 7 } }")


def test_wrong_columns_are_told_once_and_all_together(graph: og.Graph) -> None:
    rows = pa.table({"nr": ["x"] * 1000, "name": [1.5] * 1000, "nam": ["y"] * 1000})
    with pytest.raises(og.ValidationError) as caught:
        graph.load(rows, type="Person", mode="append")
    told = str(caught.value)
    assert "Person.nr needs an integer, found a string (no value of a column of string is one)" in told
    assert "Person.name needs a string, found a" in told
    assert "has no property 'nam'" in told
    assert told.count("needs an integer") == told.count("'nam'") == 1


def test_a_column_without_values_fits_everything(graph: og.Graph) -> None:
    rows = pa.table({"nr": [9], "name": pa.nulls(1, pa.int64())})
    assert graph.load(rows, type="Person", mode="append").nodes == {"Person": 1}
