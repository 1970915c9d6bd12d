"""Files of rows: each is read by its own format and columns, and JSON rows by the rules of graph records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.execution.load.parse.fast_json import NeedsStrictReader, read_rows
from omnigraph.execution.load.sources import json_rows
from support.stored_graph import read_back

SCHEMA = """
node N { x: I32?  y: I32? }
node P { name: String @key  d: Date?  s: String?  u: U64?  at: DateTime?  tags: [String]?
         level: I32 @default(1) }
edge E: P -> P { w: F64? }
node Photo { name: String @key  data: Blob? }
"""
FORMATS = ["parquet", "orc", "csv", "json", "arrow"]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def _write(path: Path, **columns: list[Any]) -> Path:
    rows, format = pa.table(columns), path.suffix[1:]
    if format == "parquet":
        pq.write_table(rows, path)
    elif format == "orc":
        pyarrow.orc.write_table(rows, path)
    elif format == "arrow":
        with pa.ipc.new_file(str(path), rows.schema) as writer:
            writer.write_table(rows)
    elif format == "csv":
        cells = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(cells))
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows.to_pylist()))
    return path


def _rows(graph: og.Graph, *names: str, type: str = "N") -> list[tuple[Any, ...]]:
    found = read_back(graph.snapshot()).nodes[type].values()
    return sorted((tuple(row[name] for name in names) for row in found), key=repr)


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_that_the_first_file_lacks_is_read_from_the_others(
    graph: og.Graph, tmp_path: Path, format: str
) -> None:
    first, second = _write(tmp_path / f"a.{format}", x=[1]), _write(tmp_path / f"b.{format}", x=[2], y=[7])
    for source in ([first, second], str(tmp_path / f"?.{format}"), [second, first]):
        graph.load(source, mode="overwrite", type="N", engine="local")
        assert _rows(graph, "x", "y") == [(1, None), (2, 7)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_of_a_later_file_that_no_property_has_is_refused(
    graph: og.Graph, tmp_path: Path, format: str
) -> None:
    source = [_write(tmp_path / f"a.{format}", x=[1]), _write(tmp_path / f"b.{format}", x=[2], z=[7])]
    with pytest.raises(og.ValidationError, match=rf"b\.{format}.*N has no property 'z'"):
        graph.load(source, mode="append", type="N", engine="local")
    assert graph.snapshot().version == 1


def test_files_of_several_formats_are_one_load(graph: og.Graph, tmp_path: Path) -> None:
    source = [_write(tmp_path / f"rows.{format}", x=[at]) for at, format in enumerate(FORMATS)]
    assert graph.load(source, mode="append", type="N", engine="local").nodes == {"N": 5}
    assert _rows(graph, "x") == [(at,) for at in range(5)]


def test_a_boolean_of_a_later_file_is_no_number_either(graph: og.Graph, tmp_path: Path) -> None:
    source = [_write(tmp_path / "a.parquet", x=[1]), _write(tmp_path / "h.parquet", x=[True])]
    with pytest.raises(
        og.ValidationError, match=r"h\.parquet, row 1: N\.x needs an integer, found a boolean"
    ):
        graph.load(source, mode="append", type="N", engine="local")


def test_a_property_that_comes_late_in_a_file_of_json_is_read(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    many = '{"x":1}\n' * 300_000  # more than a block
    path.write_text(many + '{"x":1,"y":2}\n')
    graph.load(path, mode="append", type="N", engine="local")
    assert graph.snapshot().table("node:N").scan(["y"])["y"].null_count == 300_000
    path.write_text(many + '{"x":1,"z":2}\n')
    with pytest.raises(og.ValidationError, match=r"rows\.json:300001: N has no property 'z'"):
        graph.load(path, mode="append", type="N", engine="local")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_one_line_of_json_is_a_row_whatever_its_end(graph: og.Graph, tmp_path: Path, end: str) -> None:
    path = tmp_path / "row.json"
    path.write_bytes(b'{"x": 1, "y": 2}' + end.encode())
    graph.load(path, mode="append", type="N", engine="local")
    assert _rows(graph, "x", "y") == [(1, 2)]


JSON_VALUES: list[tuple[str, Any, Any]] = [
    ("d", "2026-01-01", 20_454),
    ("s", "2026-01-01", "2026-01-01"),
    ("s", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ("u", 2**64 - 1, 2**64 - 1),
    ("at", "2026-01-01T00:00:00Z", 1_767_225_600_000),
    ("tags", ["2026-01-01"], ("2026-01-01",)),
]


@pytest.mark.parametrize("beside", ["", "\n"], ids=["quick", "strict"])
@pytest.mark.parametrize(("name", "value", "stored"), JSON_VALUES)
def test_values_of_json_mean_what_the_property_says(
    graph: og.Graph, tmp_path: Path, name: str, value: Any, stored: Any, beside: str
) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f"{beside}{json.dumps({'name': 'a', 'level': 2, name: value})}\n")
    graph.load(path, mode="append", type="P", engine="local")
    assert read_back(graph.snapshot()).nodes["P"]["a"][name] == stored
    assert (stored, 2) in _rows(graph, name, "level", type="P")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"name": "a", "level": 1.5}', r"rows\.json:3: P\.level needs an integer, found a float"),
        ('{"name": "a", "level": true}', r"rows\.json:3: P\.level needs an integer, found a boolean"),
        ('{"name": "a", "name": "b"}', r"rows\.json:3: .*member 'name' occurs twice"),
        ('{"name": 1}', r"rows\.json:3: P\.name needs a string"),
        ("[1]", r"rows\.json:3: a row is a JSON object, found an array"),
        ('{"name": "a"} {"name": "b"}', r"rows\.json:3: the line is not one JSON value"),
        ('{"name": "a", "who": "b"}', r"rows\.json:3: two columns are given for P\.name"),
    ],
)
def test_a_wrong_line_of_json_is_told_as_a_wrong_record_is(
    graph: og.Graph, tmp_path: Path, line: str, told: str
) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f'{{"who": "x"}}\n\n{line}\n{{"who": "y"}}')
    with pytest.raises(og.ValidationError, match=told):
        graph.load(path, mode="append", type="P", mapping={"who": "name"}, engine="local")
    options: dict[str, Any] = {"mapping": {"who": "name"}, "on_error": "quarantine", "engine": "local"}
    done = graph.load(path, mode="append", type="P", **options)
    assert (done.nodes, done.rejected) == ({"P": 2}, 1)
    assert '"line": 3' in Path(done.rejected_path or "").read_text()


HARD = [
    '{"name": "b", "level": 1}',
    ' {"level": -0, "name": "é", "u": 0} ',
    '{"name": "b", "level": null}',
    '{"name": "b", "level": 1e0}',
    '{"name": "b", "level": 2147483648}',
    '{"name": "b", "u": -1}',
    '{"name": "b", "d": "2026-02-30"}',
    '{"name": "b", "d": 7}',
    '{"name": "b", "at": "2026-01-01 00:00:00.5+01:00"}',
    '{"name": "b", "tags": ["x", null]}',
    '{"name": "b", "tags": []}',
    '{"name": "b", "id": "b"}',
    '{"name": "b", "id": "c"}',
    '{"na\\u006de": "b"}',
    '{"name": "b", "level": 1, "level": 1}',
    '{"name": "b", "type": "P"}',
    '{"name": null}',
    '{"name": "\\ud800"}',
    '{"name": "b",}',
    '{"name": "b"}}',
    "{}",
]


def _doubt(*_: Any) -> Any:
    raise NeedsStrictReader


@pytest.mark.parametrize("line", HARD)
def test_the_quick_way_through_rows_of_json_never_disagrees_with_the_strict_one(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f'{{"name": "a", "level": 1}}\n{line}\n')
    found = []
    for at, given in enumerate((read_rows, _doubt)):
        graph = og.init(tmp_path / str(at), SCHEMA)
        with patch.object(json_rows, "read_rows", given):
            try:
                graph.load(path, mode="append", type="P", engine="local")
                found.append(str(read_back(graph.snapshot()).nodes["P"]))
            except og.OmniError as error:
                found.append(str(error))
    assert found[0] == found[1]


def test_blobs_come_from_json_too(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "photos.json"
    path.write_text('{"name": "a", "data": "base64:AAE="}\n{"name": "b"}\n')
    assert graph.load(path, mode="append", type="Photo", engine="local").nodes == {"Photo": 2}


def test_edges_and_defaults_come_from_json_too(graph: og.Graph, tmp_path: Path) -> None:
    people, edges = tmp_path / "people.json", tmp_path / "edges.ndjson"
    people.write_text('{"name": "a"}\n{"name": "b", "level": 3}\n')
    edges.write_text('{"from": "a", "to": "b", "w": 0.5}\n{"from": "b", "to": "a"}')
    graph.load(people, mode="append", type="P", engine="local")
    assert graph.load(edges, mode="append", type="E", engine="local").edges == {"E": 2}
    assert _rows(graph, "name", "level", type="P") == [("a", 1), ("b", 3)]
    edges.write_text('{"from": "a", "w": 0.5}\n')
    with pytest.raises(og.ValidationError, match=r"edges\.ndjson:1: edge E needs 'to'"):
        graph.load(edges, mode="append", type="E", engine="local")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_mapping_that_names_an_absent_column_is_refused(
    graph: og.Graph, tmp_path: Path, format: str, mode: str
) -> None:
    whole, lacking = _write(tmp_path / f"a.{format}", x=[1], b=[2]), _write(tmp_path / f"b.{format}", x=[1])
    assert graph.load(whole, mode=mode, type="N", mapping={"b": "y"}, engine="local").nodes == {"N": 1}
    version = graph.snapshot().version
    for source in (lacking, [whole, lacking]):
        with pytest.raises(og.BadInput, match=rf"names the column 'b', which .*b\.{format} does not have"):
            graph.load(source, mode=mode, type="N", mapping={"b": "y"}, engine="local")
    assert graph.snapshot().version == version


def test_a_table_that_lacks_a_column_of_the_mapping_is_refused_also_without_rows(graph: og.Graph) -> None:
    for rows in (pa.table({"x": [1]}), pa.table({"x": pa.array([], pa.int32())})):
        for source in (rows, rows.to_reader()):
            with pytest.raises(og.BadInput, match="'years', which the table does not have"):
                graph.load(source, mode="append", type="N", mapping={"years": "y"}, engine="local")


def test_a_column_of_json_that_is_null_in_every_line_is_there(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"x": 1, "b": null}\n{"x": 2}\n')
    graph.load(path, mode="append", type="N", mapping={"b": "y"}, engine="local")
    assert _rows(graph, "x", "y") == [(1, None), (2, None)]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("x,y\n1,2\n".encode("utf-16"), r"rows\.csv is not UTF-8.*iconv -f UTF-16"),
        ("x,y\n1,2\n".encode("utf-16-le"), r"rows\.csv is not UTF-8.*iconv -f UTF-16"),
        ("x,y\n1,ä\n".encode("latin-1"), r"rows\.csv, line 2: this is not UTF-8: .*iconv -f LATIN1"),
        ("ä,y\n1,2\n".encode("latin-1"), r"rows\.csv, line 1: this is not UTF-8: .*iconv -f LATIN1"),
        (b'x,y\n1,"\n"\n\n1,2,3\n', r"rows\.csv, line 5: the row has 3 cells, the header 2"),
        (b"x,y\n1\n", r"rows\.csv, line 2: the row has 1 cells, the header 2"),
        (b"", r"rows\.csv cannot be read as csv"),
    ],
)
@pytest.mark.parametrize("on_error", ["fail", "quarantine"])
def test_a_file_of_csv_that_cannot_be_read_is_named_with_line_and_remedy(
    graph: og.Graph, tmp_path: Path, data: bytes, told: str, on_error: str
) -> None:
    (tmp_path / "rows.csv").write_bytes(data)
    with pytest.raises(og.BadInput, match=told):
        graph.load(tmp_path / "rows.csv", mode="append", type="N", on_error=on_error, engine="local")
    assert graph.snapshot().version == 1


def test_a_cell_of_csv_may_have_line_ends_wherever_it_stands(graph: og.Graph, tmp_path: Path) -> None:
    path, text = tmp_path / "rows.csv", "line\n" * 200
    path.write_text("name,s\n" + "".join(f'{at},"{text}"\n' for at in range(20_000)))  # more than a block
    graph.load(path, mode="append", type="P", engine="local")
    assert set(graph.snapshot().table("node:P").scan(["s"])["s"].unique().to_pylist()) == {text}


def test_a_format_that_there_is_not_is_refused_for_records_too(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text('{"type": "N", "data": {"x": 1}}\n')
    with pytest.raises(og.BadInput, match="graph records come from 'json' files"):
        graph.load(path, mode="append", format="xml", engine="local")
    with pytest.raises(og.BadInput, match="has columns"):
        graph.load(path, mode="append", format="csv", engine="local")
    with pytest.raises(og.BadInput, match="rows of one type come from"):
        graph.load(pa.table({"x": [1]}), mode="append", type="N", format="xml", engine="local")
    assert graph.load(path, mode="append", format="json", engine="local").nodes == {"N": 1}


MAPPED = """
[[node]]
type = "P"
properties = { name = "who.name", d = "born", s = { text = "{n}-{ok}" }, u = { column = "n", cast = true } }
[[edge]]
type = "E"
when = "friend"
from = "who.name"
to = "friend"
"""


def test_rules_read_json_by_the_types_of_the_properties(graph: og.Graph, tmp_path: Path) -> None:
    path, mapping = tmp_path / "rows.json", tmp_path / "m.toml"
    mapping.write_text(MAPPED)
    first = {"who": {"name": "2026-01-01"}, "n": 1, "ok": True}
    last = {"who": {"name": "b"}, "n": "7", "ok": 0.5, "born": "2026-01-01", "friend": "b"}
    path.write_text(f"{json.dumps(first)}\n{json.dumps(last)}")
    done = graph.load(path, mode="append", mapping=mapping, engine="local")
    assert (done.nodes, done.edges) == ({"P": 2}, {"E": 1})
    found = _rows(graph, "name", "d", "s", "u", type="P")
    assert found == [("2026-01-01", None, "1-true", 1), ("b", 20_454, "7-0.5", 7)]
    path.write_text(json.dumps({**first, "n": [1]}) + "\n" + json.dumps(last))
    with pytest.raises(
        og.ValidationError, match=r"rows\.json:1: .*m\.toml.*an array cannot be cast to a string"
    ):
        graph.load(path, mode="merge", mapping=mapping, engine="local")
    path.write_text(json.dumps(first))
    with pytest.raises(og.BadInput, match=r"d: there is no column 'born' in .*rows\.json"):
        graph.load(path, mode="merge", mapping=mapping, engine="local")
