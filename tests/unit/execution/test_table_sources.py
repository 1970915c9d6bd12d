"""Loading columns of one type: Arrow, Parquet, CSV, data frames, generators."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import omnigraph as og
from support.stored_graph import read_back

SCHEMA = """
node Person {
  name: String @key  age: I32?  born: Date?  seen: DateTime?  tags: [String]?  level: I32 @default(1)
}
edge Knows: Person -> Person { weight: F32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def _people(graph: og.Graph) -> dict[str, dict[str, object]]:
    return read_back(graph.snapshot()).nodes["Person"]


def test_columns_become_rows_with_their_types(graph: og.Graph) -> None:
    rows = pa.table(
        {
            "name": ["ada", "bob"],
            "age": pa.array([36, None], pa.int64()),
            "born": pa.array([date(1815, 12, 10), None], pa.date32()),
            "seen": pa.array([datetime(2026, 1, 2, 3, 4, 5), None], pa.timestamp("us")),
            "tags": [["x", "y"], None],
            "level": pa.array([3, 4], pa.int32()),
        }
    )
    assert graph.load(rows, mode="append", type="Person").nodes == {"Person": 2}
    ada, bob = _people(graph)["ada"], _people(graph)["bob"]
    assert ada["seen"] == 1_767_323_045_000
    assert (ada["age"], ada["tags"], ada["level"]) == (36, ("x", "y"), 3)
    assert (bob["age"], bob["seen"], bob["level"]) == (None, None, 4)


def test_an_absent_column_gets_the_default(graph: og.Graph) -> None:
    graph.load(pa.table({"name": ["ada"]}), mode="append", type="Person")
    assert _people(graph)["ada"]["level"] == 1


def test_a_named_type_without_rows_is_emptied_by_an_overwrite_and_left_alone_otherwise(
    graph: og.Graph,
) -> None:
    graph.load(pa.table({"name": ["ada", "bob"]}), mode="append", type="Person")
    none = pa.table({"name": pa.array([], pa.string())})
    version = graph.snapshot().version
    for mode in ("append", "merge"):
        for nothing in (none, none.to_reader()):
            assert graph.load(nothing, mode=mode, type="Person").commit_id is None
    assert graph.snapshot().version == version
    assert graph.load(none, mode="overwrite", type="Person").nodes == {"Person": 0}
    assert (graph.snapshot().version, _people(graph)) == (version + 1, {})
    with pytest.raises(og.BadInput, match="no type 'Nobody'"):
        graph.load(none, mode="append", type="Nobody")


def test_columns_that_cannot_be_meant_are_refused(graph: og.Graph) -> None:
    twice = pa.table([pa.array(["a"]), pa.array(["b"])], names=["name", "name"])
    with pytest.raises(og.BadInput, match=r"two columns are given for Person\.name"):
        graph.load(twice, mode="append", type="Person")
    both = pa.table({"name": ["a"], "who": ["b"]})
    with pytest.raises(og.BadInput, match=r"two columns are given for Person\.name"):
        graph.load(both, mode="append", type="Person", mapping={"who": "name"})
    one = pa.table({"name": ["a"]})
    with pytest.raises(og.BadInput, match="say of which type"):
        graph.load(one, mode="append")
    for wrong in ({"type": 5}, {"type": "Person", "mapping": ["name"]}):
        with pytest.raises(og.BadInput, match="type must be the name of a type"):
            graph.load(one, mode="append", **wrong)
    assert graph.snapshot().version == 1


def test_a_mapping_names_the_columns(graph: og.Graph) -> None:
    graph.load(pa.table({"who": ["ada", "bob"]}), mode="append", type="Person", mapping={"who": "name"})
    edges = pa.table({"a": ["ada"], "b": ["bob"], "weight": [0.5]})
    done = graph.load(edges, mode="append", type="Knows", mapping={"a": "from", "b": "to"})
    assert done.edges == {"Knows": 1}
    (edge,) = read_back(graph.snapshot()).edges["Knows"].values()
    assert (edge.source, edge.target, edge.values["weight"]) == ("ada", "bob", 0.5)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_files_of_columns_are_loaded(graph: og.Graph, tmp_path: Path, format: str) -> None:
    rows = pa.table({"name": [f"p{i}" for i in range(100)], "age": list(range(100))})
    path = tmp_path / f"people.{format}"
    (pa.parquet.write_table if format == "parquet" else pa.csv.write_csv)(rows, path)
    assert graph.load(path, mode="append", type="Person").nodes == {"Person": 100}
    assert _people(graph)["p7"]["age"] == 7


def test_a_reader_and_a_generator_need_not_fit_into_memory_to_be_read(graph: og.Graph) -> None:
    batches = (pa.record_batch({"name": [f"r{i}"]}) for i in range(50))
    reader = pa.RecordBatchReader.from_batches(pa.schema([("name", pa.string())]), batches)
    assert graph.load(reader, mode="append", type="Person").nodes == {"Person": 50}
    records = ({"type": "Person", "data": {"name": f"g{i}"}} for i in range(50))
    assert graph.load(records, mode="append").nodes == {"Person": 50}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"name": ["ada"], "age": [2**40]}, "exceeds the range of I32"),
        ({"name": ["ada"], "age": [1.5]}, "needs an integer"),
        ({"name": ["ada"], "age": ["x"]}, "needs an integer"),
        ({"name": [None]}, "required"),
        ({"name": ["ada"], "colour": ["red"]}, "no property 'colour'"),
        ({"name": ["ada"], "born": ["not a date"]}, "not a Date"),
        ({"age": [1]}, "required"),
    ],
)
def test_a_column_that_does_not_fit_is_refused_with_the_record(
    graph: og.Graph, columns: dict[str, list[object]], said: str
) -> None:
    with pytest.raises(og.ValidationError, match=said) as caught:
        graph.load(pa.table(columns), mode="append", type="Person")
    assert "record 1" in str(caught.value)
    assert graph.snapshot().version == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mode": "replace"}, "append, merge, patch or overwrite"),
        ({"mode": "append", "on_error": "ignore"}, "quarantine"),
        ({"mode": "append", "engine": "warp"}, "engine"),
        ({"mode": "append", "mapping": {"a": "b"}}, "type="),
        ({"mode": "append", "type": "Nobody"}, "no type 'Nobody'"),
    ],
)
def test_a_wrong_argument_is_told(graph: og.Graph, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(og.BadInput, match=said):
        graph.load(pa.table({"name": ["ada"]}), **arguments)  # type: ignore[arg-type]


ALL_TYPES = """
node T {
  name: String @key  i: I32?  n: I64?  ok: Bool?  f: F64?  born: Date?  at: DateTime?  tags: [String]?
  marks: [I64]?  v: Vector(2)?
}
edge Near: T -> T
"""


@pytest.fixture
def typed(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "typed", ALL_TYPES)


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("n", pa.array([True]), "needs an integer, found a boolean"),
        ("ok", pa.array([5]), "needs true or false, found an integer"),
        ("f", pa.array([True]), "needs a number, found a boolean"),
        ("i", pa.array([date(1970, 1, 5)]), "needs an integer"),
        ("n", pa.array([datetime(1970, 1, 2)]), "needs an integer"),
        ("n", pa.array([timedelta(seconds=2)]), "needs an integer"),
        ("n", pa.array([time(1)]), "needs an integer"),
        ("n", pa.array([Decimal("5.01")]), "needs an integer, found a float"),
        ("i", pa.array([Decimal(2**31)]), "exceeds the range of I32"),
        ("marks", pa.array([[Decimal(2**63)]]), "exceeds the range of I64"),
        ("tags", pa.array([[Decimal(1)]]), "needs a string"),
        ("at", pa.array([2**62], pa.timestamp("s")), "exceeds the range of DateTime"),
        ("n", pa.array([2**62], pa.timestamp("s")), "needs an integer, found an object"),
        ("n", pa.array([2**62], pa.duration("s")), "needs an integer, found an object"),
        ("tags", pa.array([["a", None]]), "null inside a list"),
        ("v", pa.array([[1.0, None]], pa.list_(pa.float32(), 2)), "needs a number, found null"),
        ("v", pa.array([[1.0, 2.0, 3.0]]), "needs exactly 2 numbers"),
    ],
)
def test_a_column_is_taken_as_the_strict_reader_takes_its_values(
    typed: og.Graph, column: str, values: pa.Array, said: str
) -> None:
    with pytest.raises(og.ValidationError, match=said) as caught:
        typed.load(pa.table({"name": ["x"], column: values}), mode="append", type="T")
    assert "record 1" in str(caught.value)


def test_a_data_frame_whose_columns_cannot_be_told_apart_or_have_no_type_is_refused(typed: og.Graph) -> None:
    twice = pd.DataFrame([["a", "b"]], columns=["name", "name"])
    for frame, said in (
        (twice, "two columns named 'name'"),
        (pd.DataFrame({"name": [1, "x"]}), "mixes types"),
    ):
        with pytest.raises(og.BadInput, match=said):
            typed.load(frame, mode="append", type="T")


DECIMALS = "node D { name: String @key  u: U64?  i: I32?  us: [U64]?  f: F64?  g: F32?  v: Vector(1)? }"


def test_decimals_are_the_numbers_that_they_stand_for(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "decimals", DECIMALS)
    fine = Decimal("0.1000000000000000055511151231257827")  # nearest to 0.1
    rows = {
        "name": ["a", "b"],
        "u": pa.array([Decimal(2**64 - 1), None], pa.decimal128(20, 0)),
        "i": pa.array([Decimal("-5.00"), None], pa.decimal256(50, 2)),
        "us": pa.array([[Decimal(2**64 - 1), Decimal(0)], None], pa.list_(pa.decimal128(20, 0))),
        "f": pa.array([fine, None], pa.decimal128(38, 34)),
        "g": pa.array([Decimal("0.1"), None]),
        "v": pa.array([[Decimal("0.5")], None], pa.list_(pa.decimal128(5, 2))),
    }
    table = pa.table(rows)
    graph.load(table, mode="append", type="D")
    of_columns = list(graph.export())
    graph.load([{"type": "D", "data": row} for row in table.to_pylist()], mode="overwrite")
    assert list(graph.export()) == of_columns
    data = next(row["data"] for row in graph.export() if row["data"]["name"] == "a")
    assert (data["u"], data["i"], data["us"], data["f"]) == (2**64 - 1, -5, [2**64 - 1, 0], 0.1)
    asked = "query q($i: I32, $f: F64) { match { $d: D $d.i = $i $d.f = $f } return { $d.name as name } }"
    given = {"i": Decimal("-5.0"), "f": Decimal("0.1")}
    assert graph.query(asked, given).rows == [{"name": "a"}]


def test_columns_of_the_same_meaning_are_taken_whatever_their_layout(typed: og.Graph) -> None:
    rows = pa.table(
        {
            "name": pa.array(["a", "b"]).dictionary_encode(),
            "i": pa.array([1, None], pa.uint64()),
            "f": pa.array([3, None], pa.int16()),
            "ok": pa.nulls(2),
            "born": pa.array([2**31 - 1, None], pa.int32()).cast(pa.date32()),
            "at": pa.array([-1, None], pa.timestamp("ns")),
            "tags": pa.array([["x"], None], pa.large_list(pa.large_string())),
            "marks": pa.array([None, [1, 2]], pa.list_(pa.int8())),
            "v": pa.array([None, [1, 2]], pa.list_(pa.float64())),
        }
    )
    typed.load(rows.slice(1), mode="append", type="T")
    typed.load(rows.slice(0, 1), mode="append", type="T")
    found = read_back(typed.snapshot()).nodes["T"]
    assert (found["a"]["i"], found["a"]["f"], found["a"]["tags"], found["a"]["v"]) == (1, 3.0, ("x",), None)
    assert (found["a"]["born"], found["a"]["at"]) == (2**31 - 1, -1)
    assert (found["b"]["marks"], found["b"]["v"], found["b"]["at"]) == ((1, 2), (1.0, 2.0), None)


@pytest.mark.parametrize(
    ("unit", "given", "stored"), [("us", -1500, -2), ("us", 1500, 1), ("s", -2, -2000), ("ms", 2**62, 2**62)]
)
@pytest.mark.parametrize("strictly", [False, True])
def test_moments_are_rounded_down_by_both_ways(
    typed: og.Graph, unit: str, given: int, stored: int, strictly: bool
) -> None:
    columns = {"name": pa.array(["a"]), "at": pa.array([given], pa.timestamp(unit))}
    if strictly:
        columns["born"] = pa.array(["2020-01-02"])
    typed.load(pa.table(columns), mode="append", type="T")
    assert read_back(typed.snapshot()).nodes["T"]["a"]["at"] == stored


@pytest.mark.parametrize("end", [pa.array([5]), pa.array([5.0]), pa.array([date(1970, 1, 6)])])
def test_the_ends_of_edges_are_texts(typed: og.Graph, end: pa.Array) -> None:
    with pytest.raises(og.ValidationError, match="needs 'to', the id of a node, as a string"):
        typed.load(pa.table({"from": ["a"], "to": end}), mode="append", type="Near")


def _csv(folder: Path, text: str) -> Path:
    path = folder / "rows.csv"
    path.write_text(text)
    return path


def test_cells_of_csv_mean_what_the_property_says_not_what_other_cells_look_like(
    typed: og.Graph, tmp_path: Path
) -> None:
    text = "name,i,ok,f,born,at\n007,3,true,1,2020-01-02,2020-01-02\ntrue,,False, 2.5 ,,\n"
    typed.load(_csv(tmp_path, text), mode="append", type="T")
    typed.load(
        _csv(tmp_path, "name,i,at\nNA,+4,2020-01-02 00:00:01\n1.0,,2020-01-02T00:00:02Z\n"),
        mode="append",
        type="T",
    )
    found = read_back(typed.snapshot()).nodes["T"]
    assert set(found) == {"007", "true", "NA", "1.0"}
    day = 18_263
    first, second = found["007"], found["true"]
    assert (first["i"], first["ok"], first["f"]) == (3, True, 1.0)
    assert (first["born"], first["at"]) == (day, day * 86_400_000)
    assert (second["i"], second["ok"], second["f"], second["born"]) == (None, False, 2.5, None)
    assert (found["NA"]["i"], found["NA"]["at"]) == (4, day * 86_400_000 + 1000)
    assert found["1.0"]["at"] == day * 86_400_000 + 2000


def test_an_empty_cell_of_csv_is_null_and_a_quoted_one_an_empty_text(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "texts", "node T { name: String @key  s: String?  n: I64? }")
    graph.load(_csv(tmp_path, 'name,s,n\na,,\nb,"",""\n'), mode="append", type="T")
    found = read_back(graph.snapshot()).nodes["T"]
    assert (found["a"]["s"], found["b"]["s"], found["b"]["n"]) == (None, "", None)
    with pytest.raises(og.ValidationError, match=r"rows\.csv, line 2: T\.name is required"):
        graph.load(_csv(tmp_path, "name,s\n,x\n"), mode="append", type="T")


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("i", "zz", "needs an integer"),
        ("i", "1.0", "needs an integer"),
        ("i", "0x10", "needs an integer"),
        ("i", "3000000000", "exceeds the range of I32"),
        ("ok", "1", "needs true or false"),
        ("f", "NaN", "needs a number"),
        ("f", "1e999", "only finite numbers are stored"),
        ("born", "2020-02-30", "not a Date"),
        ("tags", "a", "needs an array"),
    ],
)
def test_a_wrong_cell_of_csv_is_the_problem_of_its_own_record(
    typed: og.Graph, tmp_path: Path, column: str, cell: str, said: str
) -> None:
    path = _csv(tmp_path, f"name,{column}\na,\nb,{cell}\nc,\n")
    with pytest.raises(og.ValidationError, match=said) as caught:
        typed.load(path, mode="append", type="T")
    assert [problem["place"] for problem in caught.value.details["problems"]] == [f"{path}, line 3"]
    bad = tmp_path / "bad.ndjson"
    done = typed.load(path, mode="append", type="T", on_error="quarantine", rejected_to=bad)
    assert (done.nodes, done.rejected) == ({"T": 2}, 1)
    assert str(json.loads(bad.read_text(), parse_constant=pytest.fail)["data"][column]) == cell


def test_an_overwrite_whose_rows_are_all_rejected_leaves_the_type_alone(
    typed: og.Graph, tmp_path: Path
) -> None:
    typed.load(pa.table({"name": ["old"]}), mode="append", type="T")
    options = {"mode": "overwrite", "type": "T", "on_error": "quarantine", "rejected_to": tmp_path / "bad"}
    done = typed.load(_csv(tmp_path, "name,i\na,x\nb,y\n"), **options)  # type: ignore[arg-type]
    assert (done.commit_id, done.nodes, done.rejected) == (None, {}, 2)
    assert set(read_back(typed.snapshot()).nodes["T"]) == {"old"}
    (tmp_path / "bad").unlink()
    done = typed.load(_csv(tmp_path, "name,i\na,x\nb,2\n"), **options)  # type: ignore[arg-type]
    assert (done.nodes, done.rejected) == ({"T": 1}, 1)
    assert set(read_back(typed.snapshot()).nodes["T"]) == {"b"}


@pytest.mark.parametrize(
    ("cell", "stored"),
    [
        ("1969-12-31 23:59:59.9995", -1),
        ("1969-12-31T23:59:59.5Z", -500),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-02", 86_400_000),
    ],
)
@pytest.mark.parametrize("other", ["", "1970-01-01T00:00Z", "1970-01-01 00:00:00.25"])
def test_moments_of_csv_are_the_same_whatever_stands_beside_them(
    typed: og.Graph, tmp_path: Path, cell: str, stored: int, other: str
) -> None:
    typed.load(_csv(tmp_path, f"name,at\na,{cell}\nb,{other}\n"), mode="append", type="T")
    assert read_back(typed.snapshot()).nodes["T"]["a"]["at"] == stored


@pytest.mark.parametrize("cell", ["1970-01-01T24:00:00", "1970-01-01T00:00:60Z", "1970-02-30 00:00:00"])
def test_a_moment_of_csv_that_there_is_not_is_refused(typed: og.Graph, tmp_path: Path, cell: str) -> None:
    with pytest.raises(og.ValidationError, match=r"rows\.csv, line 2: .* not a DateTime"):
        typed.load(_csv(tmp_path, f"name,at\na,{cell}\n"), mode="append", type="T")


def _places(graph: og.Graph, source: object) -> list[str]:
    with pytest.raises(og.OmniError) as caught:
        graph.load(source, mode="append", type="T")
    return [problem["place"] for problem in caught.value.details["problems"]]


def test_rows_of_files_are_named_by_their_file_and_row(typed: og.Graph, tmp_path: Path) -> None:
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pa.parquet.write_table(pa.table({"name": ["a", "b"], "i": [1, 2]}), first)
    pa.parquet.write_table(pa.table({"name": ["c", "d"], "i": [3, 2**40]}), second)
    assert _places(typed, [first, second]) == [f"{second}, row 2"]
    pa.parquet.write_table(pa.table({"name": ["c", "a"], "i": [3, 4]}), second)
    assert _places(typed, [first, second]) == [f"{second}, row 2"]


def test_lines_of_csv_are_counted_as_an_editor_counts_them(typed: og.Graph, tmp_path: Path) -> None:
    rows = 'name,s,i\r\na,"two\nlines of ""text""",1\r\n\r\nb,x,2\r\nc,"\n\n",z\r\nd,x,z\r\n'
    path = tmp_path / "rows.csv"
    path.write_bytes(rows.encode())
    graph = og.init(tmp_path / "lines", "node T { name: String @key  s: String?  i: I64? }")
    assert _places(graph, path) == [f"{path}, line 6", f"{path}, line 9"]
    other = tmp_path / "more.csv"
    other.write_text("name,s,i\ne,x,z\n")
    assert _places(graph, [path, other])[2:] == [f"{other}, line 2"]


def test_arrow_files_are_columns_too(typed: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(str(path), pa.schema([("name", pa.string())])) as writer:
        writer.write_table(pa.table({"name": ["a", None]}))
    assert _places(typed, path) == [f"{path}, row 2"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV.gz", "rows.parquet", "rows.arrow", "rows.orc"])
def test_a_file_of_columns_without_a_type_is_refused_with_advice(
    typed: og.Graph, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"name,i\n")
    with pytest.raises(og.BadInput, match=r"has columns .* with type= \(--type"):
        typed.load(tmp_path / name, mode="append")


def test_integers_with_gaps_of_pandas_are_integers(typed: og.Graph) -> None:
    frame = pd.DataFrame({"name": ["a", "b"], "i": [1, None], "f": [2.0, None]})
    assert str(frame["i"].dtype) == "float64"
    typed.load(frame, mode="append", type="T")
    found = read_back(typed.snapshot()).nodes["T"]
    assert (found["a"]["i"], found["b"]["i"], found["a"]["f"]) == (1, None, 2.0)
    with pytest.raises(og.ValidationError, match="needs an integer"):
        typed.load(pd.DataFrame({"name": ["c", "d"], "i": [1.5, None]}), mode="append", type="T")
