"""Expressions in mapping files: over columns of every format, over JSON, and what is wrong with them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.execution.load.mapping.compute import compute_members

SCHEMA = (
    "node Person { name: String @key  age: I32?  adult: Bool?  born: Date?  at: DateTime?  tags: [String]? }"
)
MAPPING = """
[[node]]
type = "Person"
when = { expression = 'not (n starts_with "#")', columns = { n = "Full Name" } }
[node.properties]
name = { expression = 'lower(trim(n)) + "-" + id', columns = { n = "Full Name" } }
age = { expression = 'to_integer(years) + 1' }
adult = { expression = 'to_integer(years) >= 18' }
at = { expression = 'case when years is null then null else to_datetime("2000-01-01T12:00:00Z") + 5 end' }
born = { expression = 'coalesce(to_date("2000-01-01") + to_integer(years), to_date("1970-01-02"))' }
tags = { expression = 'split(coalesce(tags, "none"), "|")' }
"""
ROWS = [
    {"id": "1", "Full Name": " Ada ", "years": "36", "tags": "a|b"},
    {"id": "2", "Full Name": "BOB", "years": None, "tags": None},
    {"id": "3", "Full Name": "#old", "years": "x", "tags": "x"},
]
ADA = {"name": "ada-1", "age": 37, "adult": True, "born": "2000-02-06", "at": "2000-01-01T12:00:00.005Z"}
BOB = {"name": "bob-2", "age": None, "adult": None, "born": "1970-01-02", "at": None}
READ = "query q() { match { $p: Person } return { $p.name as name, $p.age as age, $p.adult as adult, "
READ += "$p.born as born, $p.at as at, $p.tags as tags } order { $p.name } }"


def _csv(rows: list[dict[str, Any]], path: Path) -> None:
    pa.csv.write_csv(pa.Table.from_pylist(rows), path)


def _parquet(rows: list[dict[str, Any]], path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def _json(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


FORMATS = {"csv": _csv, "parquet": _parquet, "jsonl": _json}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def _load(graph: og.Graph, folder: Path, source: Any, mapping: str = MAPPING, **options: Any) -> og.Load:
    path = folder / "m.toml"
    path.write_text(mapping)
    return graph.load(source, mode="merge", mapping=path, **options)


@pytest.mark.parametrize("format", FORMATS)
def test_rules_compute_from_columns_of_every_format(graph: og.Graph, tmp_path: Path, format: str) -> None:
    source = tmp_path / f"people.{format}"
    FORMATS[format](ROWS, source)
    _load(graph, tmp_path, source)
    assert graph.query(READ).rows == [{**ADA, "tags": ["a", "b"]}, {**BOB, "tags": ["none"]}]


@pytest.mark.parametrize("format", FORMATS)
def test_a_row_without_a_result_is_a_wrong_row(graph: og.Graph, tmp_path: Path, format: str) -> None:
    source = tmp_path / f"people.{format}"
    FORMATS[format]([*ROWS[:2], {"id": "4", "Full Name": "cy", "years": "9y", "tags": "x"}], source)
    with pytest.raises(og.ValidationError, match=r"Person\.age cannot be computed: '9y' is not an integer"):
        _load(graph, tmp_path, source)
    done = _load(graph, tmp_path, source, on_error="quarantine")
    assert (done.nodes, done.rejected) == ({"Person": 2}, 1)


def _one(value: str) -> str:
    return f'[[node]]\ntype = "Person"\n[node.properties]\nname = "n"\nage = {value}\n'


COLUMNS = {
    "n": ["a", "b"],
    "id": [5, None],
    "x": pa.array([1, 2], pa.int16()),
    "d": [Decimal("1.5"), None],
    "z": pa.nulls(2),
    "c": pa.array(["uu", "v"]).dictionary_encode(),
    "st": [{"k": 1}, {"k": 2}],
    "li": [[1, 2], [3]],
    "w": pa.array([2**64 - 1, 1], pa.uint64()),
}


@pytest.mark.parametrize(
    ("expression", "ages"),
    [
        ("id + 1", [6, None]),
        ("x * 2 - 1", [1, 3]),
        ("to_integer(d * 2)", [3, None]),
        ("coalesce(z, 3)", [3, 3]),
        ("coalesce(length(z), x)", [1, 2]),
        ("length(c)", [2, 1]),
        ("li[0] + k", [2, 5]),
        ("case when w > 5 then 1 else 2 end", [1, 2]),
        ("7", [7, 7]),
    ],
)
def test_columns_have_the_types_of_their_source(
    graph: og.Graph, tmp_path: Path, expression: str, ages: list[int]
) -> None:
    columns = "columns = { k = 'st.k' }" if "k" in expression else "columns = {}"
    _load(graph, tmp_path, pa.table(COLUMNS), _one(f"{{ expression = '{expression}', {columns} }}"))
    assert [row["age"] for row in graph.query(READ).rows] == ages


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "{ expression = 'x +' }",
            "m.toml, line 5, node 1, properties.age: the expression is wrong: line 1, column 4",
        ),
        ("{ expression = 'x + n' }", r"line 1, column 1: \[T25\] \+ does not take I32, String"),
        ("{ expression = 'x + y' }", "age: there is no column 'y' here"),
        ("{ expression = 'st + 1' }", "nothing is computed from a column of struct"),
        ("{ expression = '$x + 1' }", r"column 1: \[type_error\] variable \$x is not bound"),
        ("{ expression = 'now()' }", "now\\(\\) has no meaning"),
        ("{ expression = '1) b: (2' }", "one expression is expected"),
        ("{ expression = '1) } delete X where (x = 1' }", "the expression is wrong: line 1"),
        ("{ expression = 'x', columns = { q = 'x' } }", "does not name 'q'"),
        ("{ expression = 'x', columns = { x = 3 } }", "columns must be a table of columns"),
        ("{ expression = 'x', cast = true }", "write { column = … }"),
        ("{ expression = 7 }", "expression must be a string"),
        ("{ expression = 'x / 2' }", "Person.age needs an integer, found a float"),
        ("{ expression = 'w + 1' }", "record 1: Person.age cannot be computed: the result exceeds"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(graph: og.Graph, tmp_path: Path, value: str, said: str) -> None:
    with pytest.raises(og.OmniError, match=said):
        _load(graph, tmp_path, pa.table(COLUMNS), _one(value))


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("{ expression = 'x + 1' }", "not a condition"),
        ("{ value = 1 }", "name of a column"),
        ("3", "must be a string"),
    ],
)
def test_a_rule_applies_by_a_column_or_a_condition(
    graph: og.Graph, tmp_path: Path, when: str, said: str
) -> None:
    with pytest.raises(og.BadInput, match=f"when: .*{said}"):
        _load(graph, tmp_path, pa.table(COLUMNS), _one('"x"').replace("[node.p", f"when = {when}\n[node.p"))


@pytest.mark.parametrize(
    ("text", "members", "found"),
    [
        ("coalesce(a, b)", {"a": None, "b": 3}, 3),
        ("coalesce(lower(a), b)", {"a": None, "b": "x"}, "x"),
        ("a + b", {"a": 2**63, "b": 0.5}, 2.0**63),
        ("size(a)", {"a": []}, 0),
        ("a + 1", {"a": None}, None),
    ],
)
def test_members_of_json_have_the_types_of_their_values(
    text: str, members: dict[str, Any], found: Any
) -> None:
    assert compute_members(text, members) == found
