"""Input that no schema wants: each piece of it is refused by name, with a typed error, changing nothing."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og

SCHEMA = """
node P {
  k: String @key  n: I32?  u: U64?  f: F64?  g: F32?  b: Bool?  d: Date?  t: DateTime?  l: [I32]?
  v: Vector(3)?  e: enum(a, b)?  bl: Blob?  @range(n, 0..10)  @unique(d, t)
}
node N { x: String?  y: I64?  @unique(x, y) }
node C { a: String  b: Date  @key(a, b) }
edge E: P -> P @card(1..2) { w: F32?  @unique(src, dst) }
"""
WRONG: dict[str, tuple[Any, str]] = {
    "nan": ({"f": math.nan}, "is not a number"),
    "infinity": ({"f": -math.inf}, "exceeds the range of F64"),
    "too large for F32": ({"g": 1e39}, "exceeds the range of F32"),
    "too large for any float": ({"f": 10**400}, "exceeds the range of F64"),
    "too large for I32": ({"n": 2**31}, "exceeds the range of I32"),
    "negative": ({"u": -1}, "exceeds the range of U64"),
    "boolean for a number": ({"n": True}, "found a boolean"),
    "number for a boolean": ({"b": 1}, "found an integer"),
    "text for a number": ({"n": "5"}, "found a string"),
    "whole fraction": ({"n": 1.0}, "found a float"),
    "decimal": ({"n": decimal.Decimal("1.5")}, "needs an integer, found a float"),
    "large decimal": ({"n": decimal.Decimal(2**31)}, "exceeds the range of I32"),
    "huge decimal": ({"f": decimal.Decimal("1e1000000")}, "exceeds the range of F64"),
    "no decimal": ({"f": decimal.Decimal("sNaN")}, "is not a number"),
    "decimal for a text": ({"k": decimal.Decimal(1)}, "needs a string, found an integer"),
    "numpy": ({"n": np.float32(1.5)}, "needs an integer, found a float"),
    "a day that is none": ({"d": "2024-02-30"}, "is not a Date"),
    "a moment for a day": ({"d": datetime.datetime(2024, 1, 1)}, "found a datetime"),
    "days beyond the range": ({"d": 2**31}, "exceeds the range of Date"),
    "moment beyond the range": ({"t": 2**63}, "exceeds the range of DateTime"),
    "list in a list": ({"l": [[1]]}, "found an array"),
    "null in a list": ({"l": [None]}, "null inside a list"),
    "one for a list": ({"l": 1}, "needs an array"),
    "set for a list": ({"l": {1}}, "found a Python set"),
    "short vector": ({"v": [1, 2]}, "exactly 3 numbers"),
    "vector with nan": ({"v": [1, 2, math.nan]}, "is not a number"),
    "enum": ({"e": "c"}, "invalid enum value 'c'"),
    "range": ({"n": 11}, "@range violation"),
    "address of a blob": ({"bl": "http://host/x"}, "external source"),
    "no base64": ({"bl": "base64:***"}, "not valid base64"),
    "half a character": ({"k": "\ud800"}, "surrogate"),
    "no key": ({"k": None}, "is required"),
    "bytes for a text": ({"k": b"a"}, "found a Python bytes"),
    "another id": ({"id": "b"}, "its key says 'a'"),
    "unknown": ({"zz": 1}, "no property 'zz'"),
    "reserved": ({"_rowid": 1}, "reserved"),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return og.init(tmp_path_factory.mktemp("hostile") / "graph", SCHEMA)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_value_that_does_not_fit_is_named_with_its_record(graph: og.Graph, name: str, mode: str) -> None:
    version = graph.snapshot().version
    values, said = WRONG[name]
    good = {"type": "P", "data": {"k": "good"}}
    with pytest.raises(og.ValidationError, match=said) as caught:
        graph.load([good, {"type": "P", "data": {"k": "a", **values}}], mode=mode)
    (problem, *_) = caught.value.details["problems"]
    assert (problem["place"], problem["type"], problem["property"]) == ("record 2", "P", next(iter(values)))
    assert graph.snapshot().version == version


LINES: dict[str, tuple[bytes, str]] = {
    "two values": (b'{"type":"P","data":{"k":"a"}}{"type":"P","data":{"k":"b"}}', "Extra data"),
    "old line ends": (b'{"type":"P","data":{"k":"a"}}\r{"type":"P","data":{"k":"b"}}', "Extra data"),
    "an array": (b'[{"type":"P","data":{"k":"a"}}]', "found an array"),
    "nan": (b'{"type":"P","data":{"k":"a","f":NaN}}', "NaN is not JSON"),
    "a member twice": (b'{"type":"P","data":{"k":"a","k":"b"}}', "'k' occurs twice"),
    "the type twice": (b'{"type":"P","type":"P","data":{"k":"a"}}', "'type' occurs twice"),
    "beyond any float": (b'{"type":"P","data":{"k":"a","f":1e400}}', "exceeds the range of F64"),
    "5,000 digits": (b'{"type":"P","data":{"k":"a","n":' + b"9" * 5000 + b"}}", "not one JSON value"),
    "an integer as a fraction": (b'{"type":"P","data":{"k":"a","n":5e0}}', "found a float"),
    "depth": (b"[" * 100_000, "nested too deeply"),
    "depth in a value": (
        b'{"type":"P","data":{"k":"a","l":' + b"[" * 50_000 + b"]" * 50_000 + b"}}", "nested too deeply",
    ),
    "latin-1": (b'{"type":"P","data":{"k":"\xe9"}}', "not UTF-8"),
    "utf-16": ('{"type":"P","data":{"k":"a"}}'.encode("utf-16"), "not UTF-8"),
    "zeros": (b"\0" * 100, "not one JSON value"),
    "half a character": (b'{"type":"P","data":{"k":"\\ud83d"}}', "surrogate"),
    "a comma too many": (b'{"type":"P","data":{"k":"a"},}', "not one JSON value"),
    "null": (b"null", "found null"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_no_record_is_named_with_its_number(
    graph: og.Graph, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    line, said = LINES[name]
    file.write_bytes(b'{"type":"P","data":{"k":"good"}}\n\n' + line + b"\n")
    with pytest.raises(og.ValidationError, match=said) as caught:
        graph.load(file, mode="append")
    assert caught.value.details["problems"][0]["place"] == f"{file}:3"


@pytest.mark.parametrize(
    "content",
    [
        b'\xef\xbb\xbf{"type":"P","data":{"k":"a"}}\r\n\r\n{"type":"P","data":{"k":"b"}}\r\n',
        b'  {"type" : "P" , "data" : {"k" : "a"} }  \n\n{"data":{"k":"b"},"type":"P"}',
        b'{"type":"P","data":{"k":"\\u0061"}}\n{"type":"P","data":{"k":"b","n":-0,"f":1}}\n   \n',
    ],
    ids=["mark and line ends", "white space and order", "escapes"],
)
def test_what_is_only_unusual_is_taken(content: bytes, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    (tmp_path / "r.jsonl").write_bytes(content)
    assert graph.load(tmp_path / "r.jsonl", mode="append").nodes == {"P": 2}
    rows = graph.query("query q() { match { $p: P } return { $p.k } order { $p.k } }").rows
    assert [row["p.k"] for row in rows] == ["a", "b"]


def test_tuples_are_told_by_their_members(graph: og.Graph) -> None:
    twice = [{"type": "N", "data": {"x": "1:2", "y": 3}}] * 2
    with pytest.raises(og.ValidationError, match=r"N\.\(x, y\): '1:2, 3' occurs twice, as has record 1"):
        graph.load(twice, mode="append")
    twice = [
        {"type": "C", "data": {"a": "x", "b": "2024-01-01"}},
        {"type": "C", "data": {"a": "x", "b": 19723}},
    ]
    with pytest.raises(og.ValidationError, match="occurs twice, as has record 1"):
        graph.load(twice, mode="append")


def test_a_wrong_blob_names_its_statement(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match=r"statement 2: P\.bl names an external source"):
        graph.mutate('query q() { insert N { y: 1 } insert P { k: "a" bl: "http://host/x" } }')


@pytest.mark.parametrize("wrong", [None, b"text", 5, ["text"]])
def test_what_is_no_text_is_no_query_and_no_schema(graph: og.Graph, wrong: Any) -> None:
    for call in (graph.mutate, graph.query, graph.schema.plan, graph.schema.apply):
        with pytest.raises(
            og.BadInput, match=r"must be a string, found|: give a string or the path of a \.pg file"
        ):
            call(wrong)


def test_a_record_that_is_nested_too_deep_is_refused_and_not_a_recursion_error(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node P { k: String @key  n: I64?  texts: [String]? }")
    deep_list: list[Any] = []
    deep_map: dict[str, Any] = {}
    for _ in range(100_000):
        deep_list, deep_map = [deep_list], {"a": deep_map}
    for deep in (deep_list, deep_map):
        for name in ("n", "k", "texts"):
            record = {"type": "P", "data": {"k": "x", name: deep}}
            with pytest.raises(og.ValidationError):
                graph.load([record], mode="append")
            kept = graph.load(
                [record, {"type": "P", "data": {"k": name}}],
                mode="merge",
                on_error="quarantine",
                rejected_to=tmp_path / f"{name}-{type(deep).__name__}.jsonl",
            )
            assert (kept.nodes, kept.rejected) == ({"P": 1}, 1)
