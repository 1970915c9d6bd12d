"""Results as rows, Arrow, pandas and polars: every type, nulls, and no rows at all."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import omnigraph as og

SCHEMA = """
node Thing {
  key: String @key
  text: String?  truth: Bool?  i: I32?  big: I64?  u: U32?  huge: U64?  f: F32?  d: F64?
  day: Date?  moment: DateTime?  kind: enum(a, b)?
  texts: [String]?  numbers: [I64]?  days: [Date]?  moments: [DateTime]?  vector: Vector(2)?
}
"""
FULL: dict[str, Any] = {
    "text": "ünï", "truth": True, "i": -3, "big": -(2**63), "u": 2**32 - 1, "huge": 2**64 - 1, "f": 0.5,
    "d": 1e300, "day": "1969-12-31", "moment": "2026-01-31T12:00:00.250Z", "kind": "b",
    "texts": ["x", ""], "numbers": [1, 2**53], "days": ["2026-01-31"],
    "moments": ["2026-01-31T23:59:59.999Z"], "vector": [1.0, -0.5],
}  # fmt: skip
ARROW = {
    "text": pa.string(), "truth": pa.bool_(), "i": pa.int32(), "big": pa.int64(), "u": pa.uint32(),
    "huge": pa.uint64(), "f": pa.float32(), "d": pa.float64(), "day": pa.date32(),
    "moment": pa.timestamp("ms", "UTC"), "kind": pa.string(), "texts": pa.list_(pa.string()),
    "numbers": pa.list_(pa.int64()), "days": pa.list_(pa.date32()),
    "moments": pa.list_(pa.timestamp("ms", "UTC")), "vector": pa.list_(pa.float32(), 2),
}  # fmt: skip
POLARS = {
    "text": pl.String, "truth": pl.Boolean, "i": pl.Int32, "big": pl.Int64, "u": pl.UInt32,
    "huge": pl.UInt64, "f": pl.Float32, "d": pl.Float64, "day": pl.Date,
    "moment": pl.Datetime("ms", "UTC"), "kind": pl.String, "texts": pl.List(pl.String),
    "numbers": pl.List(pl.Int64), "days": pl.List(pl.Date),
    "moments": pl.List(pl.Datetime("ms", "UTC")), "vector": pl.Array(pl.Float32, 2),
}  # fmt: skip
RETURNED = ", ".join(f"$t.{name} as {name}" for name in FULL)
ALL = f"query q() {{ match {{ $t: Thing }} return {{ {RETURNED} }} order {{ $t.key }} }}"
NONE = f'query q() {{ match {{ $t: Thing {{ key: "none" }} }} return {{ {RETURNED} }} }}'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("results") / "graph", SCHEMA)
    rows = [{"key": "1", **FULL}, {"key": "2"}]
    graph.load([{"type": "Thing", "data": row} for row in rows], mode="append")
    return graph


def _with_types(table: pa.Table) -> dict[str, pa.DataType]:
    """Return the types of columns; what the member of a list is called does not matter."""
    return {
        field.name: pa.list_(field.type.value_type, field.type.list_size)
        if pa.types.is_fixed_size_list(field.type)
        else pa.list_(field.type.value_type)
        if pa.types.is_list(field.type)
        else field.type
        for field in table.schema
    }


def test_rows_are_json_values(graph: og.Graph) -> None:
    found = graph.query(ALL)
    assert found.rows == [FULL, dict.fromkeys(FULL)]
    assert found.columns == list(FULL)
    assert len(found) == 2
    assert list(found) == list(found) == found.rows, "a result can be gone through again"
    assert found.commit_id == graph.snapshot().commit_id


def test_arrow_has_the_types_of_the_schema(graph: og.Graph) -> None:
    table = graph.query(ALL).to_arrow()
    assert _with_types(table) == ARROW
    assert table.column("moment")[0].as_py() == datetime.datetime(
        2026, 1, 31, 12, 0, 0, 250_000, datetime.UTC
    )
    assert all(column.null_count == 1 for column in table.columns)


def test_pandas_gets_dates_lists_vectors_and_nulls(graph: og.Graph) -> None:
    frame = graph.query(ALL).to_pandas()
    assert list(frame.columns) == list(FULL)
    full, empty = frame.iloc[0], frame.iloc[1]
    assert (full["text"], full["truth"], full["day"]) == ("ünï", True, datetime.date(1969, 12, 31))
    assert full["moment"] == pd.Timestamp("2026-01-31T12:00:00.250Z")
    assert list(full["texts"]) == ["x", ""]
    assert list(full["vector"]) == [1.0, -0.5]
    assert all(pd.isna(value) for value in empty)


def test_pandas_keeps_integers_and_booleans_beside_null(graph: og.Graph) -> None:
    result = graph.query(ALL)
    wanted = {"truth": "boolean", "i": "Int32", "big": "Int64", "u": "UInt32", "huge": "UInt64"}
    frame = result.to_pandas()
    assert {name: str(frame[name].dtype) for name in wanted} == wanted
    assert (frame["big"][0], frame["huge"][0], frame["i"][0]) == (-(2**63), 2**64 - 1, -3)
    assert frame["big"].isna().tolist() == [False, True]
    empty = graph.query(NONE).to_pandas()
    assert {name: str(empty[name].dtype) for name in wanted} == wanted, "types do not depend on the rows"
    arrow = result.to_pandas(dtypes="arrow")
    assert {name: arrow[name].dtype.pyarrow_dtype for name in ARROW} == dict(
        zip(result.columns, result.to_arrow().schema.types, strict=True)
    )
    assert str(result.to_pandas(dtypes="numpy")["i"].dtype) == "float64"
    assert str(result[:1].to_pandas(dtypes="numpy")["big"].dtype) == "int64"
    with pytest.raises(og.BadInput, match="nullable, arrow, numpy"):
        result.to_pandas(dtypes="object")  # type: ignore[arg-type]


def test_pandas_takes_dates_that_python_has_none_for(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node T { k: I64 @key  day: Date?  days: [Date]? }")
    days = ["-0044-03-15", "0001-01-01", "9999-12-31", "+12026-01-01"]
    rows: list[dict[str, Any]] = [
        {"k": at, "day": day, "days": [day, "2026-01-31"]} for at, day in enumerate(days)
    ]
    rows.append({"k": 4})
    graph.load([{"type": "T", "data": row} for row in rows], mode="append")
    text = "query q() { match { $t: T } return { $t.k as k, $t.day as day, $t.days as days } order { k } }"
    result = graph.query(text)
    assert [row["day"] for row in result] == [*days, None]
    for frame in (result.to_pandas(), result.to_pandas(dtypes="numpy")):
        assert list(frame.columns) == ["k", "day", "days"]
        assert frame["day"][1:3].tolist() == [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]
        far = [np.datetime64("-0044-03-15"), np.datetime64("12026-01-01")]
        assert [frame["day"][0], frame["day"][3]] == far
        assert frame["day"].isna().tolist() == [False] * 4 + [True]
        assert "44-03-15" in repr(frame)
        assert frame["days"][0][0] == far[0]
    assert result[1:3].to_pandas()["day"][0] == datetime.date(1, 1, 1)
    assert result.to_pandas(dtypes="arrow").shape == (5, 3)


def test_pandas_takes_datetimes_that_python_has_none_for(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node T { k: I64 @key  at: DateTime?  ats: [DateTime]? }")
    moments = ["-0044-03-15T01:02:03.004Z", "9999-12-31T23:59:59.999Z", "+12026-01-01T00:00:00.000Z"]
    rows: list[dict[str, Any]] = [
        {"k": at, "at": moment, "ats": [moment]} for at, moment in enumerate(moments)
    ]
    graph.load([{"type": "T", "data": row} for row in [*rows, {"k": 3}]], mode="append")
    text = "query q() { match { $t: T } return { $t.k as k, $t.at as at, $t.ats as ats } order { k } }"
    result = graph.query(text)
    for frame in (result.to_pandas(), result.to_pandas(dtypes="numpy")):
        assert frame["at"][1] == pd.Timestamp("9999-12-31T23:59:59.999Z")
        far = [np.datetime64("-0044-03-15T01:02:03.004"), np.datetime64("12026-01-01")]
        assert [frame["at"][0], frame["at"][2]] == far and frame["at"].isna().tolist() == [False] * 3 + [True]
        assert "9999-12-31" in repr(frame) and frame["ats"][0][0] == far[0]
    assert str(result[1:2].to_pandas()["at"].dtype) == "datetime64[ms, UTC]"


def test_polars_has_the_types_of_the_schema(graph: og.Graph) -> None:
    frame = graph.query(ALL).to_polars()
    assert dict(frame.schema) == POLARS
    assert frame["days"][0].to_list() == [datetime.date(2026, 1, 31)]
    assert frame["vector"][0].to_list() == [1.0, -0.5]
    assert frame["huge"][0] == 2**64 - 1
    assert frame.row(1) == (None,) * len(FULL)


def test_a_result_without_rows_still_has_its_columns_and_types(graph: og.Graph) -> None:
    found = graph.query(NONE)
    assert (len(found), found.rows, found.columns) == (0, [], list(FULL))
    assert _with_types(found.to_arrow()) == ARROW
    assert found.to_pandas().shape == (0, len(FULL))
    assert dict(found.to_polars().schema) == POLARS
    stream = graph.stream(NONE)
    assert stream.columns == list(FULL)
    assert _with_types(stream.to_reader().read_all()) == ARROW


def test_aggregates_scores_and_constants_have_types_too(graph: og.Graph) -> None:
    found = graph.query("""
        query q($v: Vector(2)) {
          match { $t: Thing }
          return { $t.key, 1 as one, null as nothing, now() as moment, nearest($t.vector, $v) as distance }
          order { $t.key desc }
        }
    """, {"v": [1.0, -0.5]}).to_arrow()  # fmt: skip
    assert found.column("distance").to_pylist() == [None, pytest.approx(0, abs=1e-6)]
    assert found.schema.field("moment").type == pa.timestamp("ms", "UTC")
    summed = graph.query("""
        query q() { match { $t: Thing } return { count($t) as n, sum($t.i) as s, collect($t.text) as texts } }
    """)
    assert summed.rows == [{"n": 2, "s": -3.0, "texts": ["ünï"]}]
    assert summed.to_arrow().schema.field("n").type == pa.int64()


def test_of_two_columns_with_one_name_the_later_is_shown(graph: og.Graph) -> None:
    found = graph.query("query q() { match { $t: Thing } return { $t.i as x, $t.key as x } order { x } }")
    assert found.columns == ["x"]
    assert found.rows == [{"x": "1"}, {"x": "2"}]


def test_a_stream_gives_the_same_rows_as_a_query(graph: og.Graph, tmp_path: Path) -> None:
    assert graph.stream(ALL).to_reader().read_all().equals(graph.query(ALL).to_arrow())


def test_a_whole_node_is_a_dictionary_in_rows_and_a_struct_in_arrow(graph: og.Graph) -> None:
    found = graph.query("query q() { match { $t: Thing } return { entity($t) } order { $t } }")
    properties = graph.query("query q() { match { $t: Thing } return { $t.big, $t.moment } order { $t } }")
    assert [row["t"]["id"] for row in found] == [row["t"]["properties"]["key"] for row in found]
    assert [
        {"t.big": row["t"]["properties"]["big"], "t.moment": row["t"]["properties"]["moment"]}
        for row in found
    ] == properties.rows
    struct = found.to_arrow().schema.field("t").type
    assert [struct.field(at).name for at in range(struct.num_fields)] == ["type", "id", "properties"]
    inside = struct.field("properties").type
    assert inside.field("moment").type == pa.timestamp("ms", "UTC")
    assert inside.field("huge").type == pa.uint64()
    assert found.to_pandas()["t"][0]["type"] == "Thing"
