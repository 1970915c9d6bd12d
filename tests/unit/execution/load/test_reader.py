"""The readers of NDJSON: what the strict one refuses, and that the quick one never disagrees with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema
from omnigraph.execution.load.parse import fast_json as quick
from omnigraph.execution.load.parse.fast_json import NeedsStrictReader
from omnigraph.execution.load.sources import line_files
from omnigraph.execution.load.sources.line_files import FileSource
from omnigraph.execution.load.stage import read_split
from omnigraph.execution.load.stage.read_split import SplitTask
from omnigraph.graph.model.arrow_values import rows_to_plain
from support.examples import examples

SCHEMA = """
node Person { name: String @key  age: I32?  born: Date?  seen: DateTime?  score: F32?  ratio: F64?
              tags: [String]?  mood: enum(sad, glad)?  spot: Vector(2)?  ok: Bool?
              @range(age, 0..150) }
node Log { n: I64  big: U64?  level: String @default("info")  marks: [I32]?  halves: [F64]?
           days: [DateTime]?  spots: Vector(3)? }
node Pair { a: I64  b: String  @key(a, b) }
node Day { d: Date @key  n: I32?  days: [Date]? }
edge Knows: Person -> Person { since: Date?  weight: F64? }
"""
CATALOG = compile_schema(SCHEMA)

Outcome = tuple[list[Any], list[Any]]


def read(path: Path, quick: bool, expect_quick: bool = False) -> Outcome:
    """Return all rows with their places and all problems; minted ids are written as such."""
    taken: dict[str, list[Any]] = {}

    class Keeping(SplitTask):
        """Takes the rows of every batch that is right, also when others are wrong."""

        def _write(self, table: Any) -> Any:
            return lambda rows: taken.setdefault(table.table_key, []).extend(rows_to_plain(table, rows))

    def doubt(*_: Any) -> Any:
        raise NeedsStrictReader

    def strictly(*_: Any) -> Any:
        raise AssertionError("the strict reader was asked")

    job = Keeping(FileSource([str(path)]), CATALOG, None, None, limit=1000)
    if expect_quick:
        with patch.object(read_split, "parse_line", strictly):
            job.run()
    elif quick:
        job.run()
    else:
        with patch.object(line_files, "read_block", doubt):
            job.run()
    rows = []
    for key, intake in job.intakes.items():
        keys = intake.keys().to_pylist()
        if len(taken.get(key, [])) == len(keys):  # a batch with a problem is not passed on
            for row, at in zip(taken[key], keys, strict=True):
                shown = dict(row) if at["_explicit"] or CATALOG_KEYS[key] else {**row, "id": "minted"}
                rows.append((key, at["_place"], at["_explicit"], repr(shown)))
        else:
            rows += [(key, at["_place"], at["_explicit"], "") for at in keys]
    told = [
        (item.rule, item.type_name, item.property, item.place, item.message)
        for _, item in job.problems.list_first()
    ]
    return sorted(rows), sorted(told, key=repr)


CATALOG_KEYS = {table.table_key: bool(getattr(table, "key", None)) for table in CATALOG.tables}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
edge_numbers = st.sampled_from(
    [0, -0.0, 1, -1, 150, 151, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63,
     -(2**63), 2**64 - 1, 2**64, 1.0, 1.5, -2.5, 1e300, -1e300, 3.4e38, 3.5e38, 1e-320, 0.1]
)  # fmt: skip
dates = st.sampled_from(
    ["2024-02-29", "2023-02-29", "1970-01-01", "0001-01-01", "9999-12-31", "0000-01-01", "10000-01-01",
     "2024-2-9", "2024-02-29T10:11:12Z", "2024-02-29T10:11:12.345+02:00", "2024-02-29 10:11",
     "2024-02-29T24:00", "20240229", "", "now", 0, -1, 19782, 2**40, 2**70, 1.5, True, "2024-13-01",
     "-2024-01-01", " 2024-01-01"]
)  # fmt: skip
anything = st.one_of(
    st.none(), st.booleans(), edge_numbers, texts, dates, st.lists(edge_numbers, max_size=3),
    st.lists(st.one_of(texts, st.none(), dates), max_size=3), st.just({}), st.just({"a": {"b": 1}}),
)  # fmt: skip
right: dict[str, st.SearchStrategy[Any]] = {
    "name": texts, "age": st.integers(0, 150), "born": st.just("2024-02-29"), "seen": st.just("1999-12-31"),
    "score": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "ratio": st.floats(allow_nan=False, allow_infinity=False), "tags": st.lists(texts, max_size=3),
    "days": st.lists(st.just("2024-01-01"), max_size=2), "mood": st.sampled_from(["sad", "glad"]),
    "spot": st.lists(st.integers(-5, 5), min_size=2, max_size=2), "ok": st.booleans(),
    "n": st.integers(-(2**63), 2**63 - 1), "big": st.integers(0, 2**64 - 1), "level": texts,
    "marks": st.lists(st.integers(-9, 9), max_size=3), "halves": st.lists(st.just(0.5), max_size=2),
    "a": st.integers(-9, 9), "b": texts, "d": st.just("2024-02-29"), "since": st.just("2020-01-01"),
    "weight": st.floats(-9, 9), "id": st.sampled_from(["x", "y", ""]),
    "spots": st.lists(st.integers(-5, 5), min_size=3, max_size=3),
}  # fmt: skip
REQUIRED = {"Person": ["name"], "Log": ["n"], "Pair": ["a", "b"], "Day": ["d"], "Knows": []}


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a record that is right, or wrong in a value or a member."""
    name = draw(st.sampled_from(sorted(REQUIRED)))
    table = CATALOG.node(name) or CATALOG.edge(name)
    assert table is not None
    wrong = draw(st.integers(0, 9))
    optional = draw(st.sets(st.sampled_from(sorted({*table.by_name, *(["id"] if name != "Person" else [])}))))
    if name in ("Pair", "Day"):
        optional.discard("id")
    chosen = draw(st.permutations(sorted({*REQUIRED[name], *optional})))
    data = {item: draw(right[item]) for item in chosen}
    if wrong == 0 and data:
        data[draw(st.sampled_from(sorted(data)))] = draw(anything)
    elif wrong == 1:
        data[draw(st.sampled_from(["nope", "_rowid", "src", "from", "id", "_tombstone"]))] = draw(anything)
    if table.kind == "node":
        record: dict[str, Any] = {"type": name, "data": data}
    else:
        spelled = draw(st.sampled_from(["Knows", "Knows", "knows", "KNOWS"]))
        record = {"edge": spelled, "from": draw(texts), "to": draw(texts), "data": data}
    if wrong == 2:
        record[draw(st.sampled_from(["type", "edge", "from", "to", "data", "more", "_problems"]))] = draw(
            anything
        )
    elif wrong == 3:
        record.pop(draw(st.sampled_from(sorted(record))))
    elif wrong == 4:
        record = dict(draw(st.permutations(sorted(record.items(), key=lambda item: item[0]))))
    return record


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Draw a line: mostly a record, sometimes damaged."""
    record = draw(records())
    ascii_ = draw(st.booleans())
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " :  ")]))
    text = json.dumps(record, ensure_ascii=ascii_, separators=separators).encode()
    damage = draw(st.integers(0, 24))
    if damage == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.binary(max_size=2)).replace(b"\n", b"") + text[at:]
    elif damage == 1:
        text = text[: draw(st.integers(0, len(text)))]
    elif damage == 2:
        text += draw(
            st.sampled_from([b" ", b"\t", b"\r", b"\x00", b"\x00}", b"\xc2\xa0", b"\x0c", b"}", b" {}"])
        )
    elif damage == 3:
        text += b" " + text
    elif damage == 4:
        text = draw(st.sampled_from([
            b"", b"  ", b"\r", b"null", b"[]", b"{}", b"1", b'"x"', b"\xef\xbb\xbf" + text, b"\xff",
            b'{"type":"Log","data":{"n":1,"n":1}}', b'{"type":"Log","data":{"n":1},"data":{"n":1}}',
            b'{"type":"Log","type":"Log","data":{"n":1}}', b'{"type":"Log","data":{"n":NaN}}',
            b'{"type":"Log","data":{"n":1,"halves":[1e999]}}', b'{"type":"Log","data":{"n":01}}',
            b'{"type":"Log","data":{"n":-0}}', b'{"type":"Log","data":{"n":1e2}}',
            b'{"type":"Log","data":{"n":+1}}',
            b'{"type":"Log","data":{"n":1,"level":"\\ud800"}}',
            b'{"type":"Log","data":{"n":1,"level":"\\udc00"}}',
            b'{"type":"Log","data":{"n":1,"id":"\\ud800x"}}',
            b'{"type":"Log","data":{"n":1,"level":"\\ud83d\\ude00"}}',
            b'{"edge":"Knows","from":"\\udc00","to":"a"}', b'{"type":"Log","data":{"n":1,"level":"\\u0000"}}',
            b'{"type":"Log","data":{"n":1,"level":"a\tb"}}', b'{"type":"Log","data":{"n":1,"level":"\\x"}}',
            b'{"type":"Log","data":{"n":1,}}', b"{'type':'Log'}", b'{"type":"Log","data":{"n":1}}//x',
            b'{"typ\\u0065":"Log","data":{"n":1}}', b'{"type":"Log","d\\u0061ta":{"n":1}}', b"[" * 3000,
            b'{"type":"Log","data":{"n":' + b"9" * 5000 + b"}}",
            b'{"type":"Person","data":{"name":"x","score":1e39}}',
        ]))  # fmt: skip
    return text


@pytest.mark.long
@settings(
    max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(content=st.lists(lines(), max_size=6), end=st.sampled_from([b"\n", b"\r\n"]), last=st.booleans())
def test_the_quick_reader_and_the_strict_one_say_the_same(
    content: list[bytes], end: bytes, last: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "agree.ndjson"
    path.write_bytes(end.join(content) + (end if last and content else b""))
    assert read(path, quick=True) == read(path, quick=False)


@pytest.mark.long
@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(content=st.lists(lines(), max_size=12), size=st.integers(1, 200))
def test_where_a_block_ends_changes_nothing(
    content: list[bytes], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.ndjson"
    path.write_bytes(b"\n".join(content))
    whole = read(path, quick=False)
    with patch.object(line_files, "_BLOCK_BYTES", size):
        assert read(path, quick=True) == whole
        assert read(path, quick=False) == whole


_SHAPES = [
    '{{"type":"Person","data":{{"name":{},"age":{},"score":{}}}}}',
    '{{"type": "Person", "data": {{"name": {}, "age": {}, "ok": {}, "born": {}}}}}',
    '{{"type":"Log","data":{{"n":{},"level":{},"id":{}}}}}',
    '{{"edge":"Knows","from":{},"to":{},"data":{{"weight":{}}}}}',
    '{{"edge": "Knows", "to": {}, "from": {}}}',
    '{{"edge":"Knows","from":{},"data":{{"since":{}}},"to":{}}}',
]
_SCALARS = st.one_of(
    st.sampled_from(
        [
            "null",
            "true",
            "false",
            "0",
            "-0",
            "01",
            "+1",
            "1.",
            ".5",
            "1e999",
            "-1.5e-3",
            "1E5",
            "NaN",
            "[]",
            "{}",
        ]
    ),
    st.integers(-(2**65), 2**65).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(['""', '"a"', '"a,b"', '"{}:"', '"2020-01-31"', '"ä€"', '"\\u0061"', '"\\""', '"\t"']),
    st.text(st.characters(codec="utf-8", min_codepoint=32, exclude_characters='"\\'), max_size=12).map(
        lambda text: f'"{text}"'
    ),
)


@settings(
    max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(data=st.data(), shape=st.sampled_from(_SHAPES), few=st.sampled_from([1, 16]))
def test_lines_of_one_form_say_what_they_say_to_the_strict_reader(
    data: st.DataObject, shape: str, few: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "alike.ndjson"
    kinds = [_SCALARS if data.draw(st.integers(0, 9)) == 0 else st.just(data.draw(_SCALARS))
             for _ in range(shape.count("{}"))]  # fmt: skip
    drawn = data.draw(st.lists(st.tuples(*kinds), min_size=1, max_size=4))
    content = [shape.format(*values) for values in drawn]
    if data.draw(st.integers(0, 3)) == 0:
        content.append(data.draw(st.sampled_from(_SHAPES)).format('"a"', "1", "1", "1"))
    path.write_text("\n".join(content) + "\n", newline="")
    with patch.object(quick, "_MIN_UNIFORM_LINES", few):
        found = read(path, quick=True)
    assert found == read(path, quick=False)


def test_lines_that_a_program_writes_need_no_parser(tmp_path: Path) -> None:
    path = tmp_path / "alike.ndjson"
    born = "2024-02-29"
    records = [
        {
            "type": "Person",
            "data": {"name": f"a{i}", "age": i % 150 or None, "score": i / 7, "ok": i > 9, "born": born},
        }
        for i in range(500)
    ]
    edges = [{"edge": "Knows", "from": f"ä{i}", "to": "", "data": {"weight": -i}} for i in range(500)]
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in [*records, *edges]))
    with patch.object(quick.pj, "read_json", lambda *_, **__: pytest.fail("a parser was asked")):
        found = read(path, quick=True, expect_quick=True)
    assert found == read(path, quick=False)
    assert (len(found[0]), found[1]) == (1000, [])


def test_a_plain_file_is_read_the_quick_way_and_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "plain.ndjson"
    kinds = [
        {"type": "Person", "data": {"name": "a{}", "age": 3, "born": "2024-02-29", "score": 0.1, "ratio": 2,
                                    "tags": ["x"], "mood": "sad", "spot": [1, 2.5], "ok": True}},
        {"type": "Log", "data": {"n": -5, "big": 2**64 - 1, "level": "ä", "marks": [], "halves": [1, 0.5]}},
        {"edge": "Knows", "from": "a", "to": "b", "data": {"since": "2020-01-01", "weight": 3}},
    ]  # fmt: skip
    content = []
    for number in range(3000):
        record = json.loads(json.dumps(kinds[number % 3]))
        if "name" in record["data"]:
            record["data"]["name"] = f"a{number}"
        content.append(json.dumps(record))
    path.write_text("\n".join(content))
    found = read(path, quick=True, expect_quick=True)
    assert found == read(path, quick=False)
    assert (len(found[0]), found[1]) == (3000, [])
    assert {int(row[1]) for row in found[0]} == set(range(1, 3001))


def test_ids_that_a_load_mints_are_all_different(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    path = tmp_path / "logs.ndjson"
    path.write_text('{"type":"Log","data":{"n":1,"level":"x"}}\n' * 50_000)
    graph.load(path, mode="append")
    graph.load([{"type": "Log", "data": {"n": 1}}] * 500, mode="append")
    ids = graph.snapshot().table("node:Log").scan(columns=["id"])["id"].to_pylist()
    assert len(set(ids)) == len(ids) == 50_500
    assert {len(id_) for id_ in ids} == {26}


REJECTED = {
    "invalid json": (b'{"type":"Log",', "not one JSON value"),
    "two values": (b'{"type":"Log","data":{"n":1}} {"type":"Log","data":{"n":2}}', "not one JSON value"),
    "duplicate member": (b'{"type":"Log","data":{"n":1},"data":{"n":1}}', "occurs twice"),
    "duplicate at depth": (b'{"type":"Log","data":{"n":1,"n":2}}', "occurs twice"),
    "not an object": (b'[{"type":"Log"}]', "a record is a JSON object"),
    "both kinds": (b'{"type":"Log","edge":"Knows","data":{"n":1}}', "either 'type' or 'edge', found both"),
    "no kind": (b'{"data":{"n":1}}', "found neither"),
    "other member": (b'{"type":"Log","data":{"n":1},"x":1}', "unknown member 'x'"),
    "type not a string": (b'{"type":7,"data":{"n":1}}', "'type' must be a string"),
    "edge not a string": (b'{"edge":null,"from":"a","to":"b"}', "'edge' must be a string"),
    "missing from": (b'{"edge":"Knows","to":"b"}', "needs 'from'"),
    "to not a string": (b'{"edge":"Knows","from":"a","to":4}', "needs 'to'"),
    "data not an object": (b'{"type":"Log","data":[1]}', "must be an object"),
    "data null": (b'{"type":"Log","data":null}', "must be an object"),
    "unknown type": (b'{"type":"Lgo","data":{"n":1}}', "unknown node type 'Lgo': did you mean 'Log'?"),
    "node name in another case": (b'{"type":"log","data":{"n":1}}', "unknown node type 'log'"),
    "unknown field": (b'{"type":"Log","data":{"n":1,"levle":"x"}}', "'levle': did you mean 'level'?"),
    "src in data": (b'{"edge":"Knows","from":"a","to":"b","data":{"src":"a"}}', "'src' is reserved"),
    "dst in data": (b'{"edge":"Knows","from":"a","to":"b","data":{"dst":"a"}}', "'dst' is reserved"),
    "_rowid": (b'{"type":"Log","data":{"n":1,"_rowid":1}}', "'_rowid' is reserved"),
    "_rowaddr": (b'{"type":"Log","data":{"n":1,"_rowaddr":1}}', "'_rowaddr' is reserved"),
    "_rowoffset": (b'{"type":"Log","data":{"n":1,"_rowoffset":1}}', "'_rowoffset' is reserved"),
    "_row_created": (b'{"type":"Log","data":{"n":1,"_row_created_at_version":1}}', "is reserved"),
    "_row_updated": (b'{"type":"Log","data":{"n":1,"_row_last_updated_at_version":1}}', "is reserved"),
    "_tombstone": (b'{"type":"Log","data":{"n":1,"_tombstone":true}}', "'_tombstone' is reserved"),
    "id not a string": (b'{"type":"Log","data":{"n":1,"id":7}}', "id of Log must be a string"),
    "id is not the key": (b'{"type":"Person","data":{"name":"a","id":"b"}}', "its key says 'a'"),
    "wrong type": (b'{"type":"Log","data":{"n":"1"}}', "Log.n needs an integer, found a string"),
    "fraction for integer": (b'{"type":"Log","data":{"n":1.0}}', "Log.n needs an integer, found a float"),
    "boolean for integer": (b'{"type":"Log","data":{"n":true}}', "Log.n needs an integer, found a boolean"),
    "out of range": (b'{"type":"Log","data":{"n":9223372036854775808}}', "exceeds the range of I64"),
    "float out of range": (b'{"type":"Person","data":{"name":"a","score":1e39}}', "exceeds the range of F32"),
    "missing required": (b'{"type":"Log","data":{}}', "Log.n is required and has null or invalid values"),
    "null required": (b'{"type":"Log","data":{"n":null}}', "null or invalid values"),
    "null for a required default": (b'{"type":"Log","data":{"n":1,"level":null}}', "null or invalid values"),
    "null in a list": (b'{"type":"Log","data":{"n":1,"marks":[1,null]}}', "null inside a list"),
    "short vector": (b'{"type":"Person","data":{"name":"a","spot":[1]}}', "exactly 2 numbers, found 1"),
    "no date": (b'{"type":"Person","data":{"name":"a","born":"2023-02-29"}}', "which is not a Date"),
    "not utf-8": (b'{"type":"Log","data":{"n":1,"level":"\xff"}}', "not UTF-8"),
    "utf-16": ('{"type":"Log","data":{"n":1}}'.encode("utf-16-le"), "not one JSON value"),
    "NaN": (b'{"type":"Log","data":{"n":1,"halves":[NaN]}}', "NaN is not JSON"),
    "half a pair": (b'{"type":"Log","data":{"n":1,"level":"\\ud800"}}', "half of a surrogate pair"),
    "half a pair as id": (b'{"type":"Log","data":{"n":1,"id":"\\ud800"}}', "half of a surrogate pair"),
    "half a pair as end": (b'{"edge":"Knows","from":"\\ud800","to":"a"}', "half of a surrogate pair"),
    "deep": (b'{"type":"Log","data":' + b"[" * 100_000, "nested too deeply"),
    "much structure": (b'{"type":"Log","data":{"n":1,"marks":[' + b"1," * 131_072 + b"1]}}", "structural"),
}  # fmt: skip


@pytest.mark.parametrize("case", REJECTED)
@pytest.mark.parametrize("before", [0, 2], ids=["alone", "third"])
def test_what_the_strict_reader_refuses_is_named_with_file_and_line(
    case: str, before: int, tmp_path: Path
) -> None:
    line, message = REJECTED[case]
    graph = og.init(tmp_path / "graph", SCHEMA)
    path = tmp_path / "bad.ndjson"
    path.write_bytes(b'{"type":"Log","data":{"n":1}}\r\n' * before + line + b"\n\n")
    versions = graph.snapshot().tables
    with pytest.raises(og.ValidationError) as raised:
        graph.load(path, mode="append")
    (problem,) = raised.value.details["problems"]
    assert message in problem["message"]
    assert problem["place"] == f"{path}:{before + 1}"
    assert graph.snapshot().tables == versions


def test_what_is_allowed_is_taken(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    path = tmp_path / "good.ndjson.gz"
    content = (
        b'\xef\xbb\xbf{"type":"Person","data":{"name":"a","id":"a","born":19782,"seen":"2024-02-29"}}\r\n'
        b"\r\n   \n"
        b'{"data":{"name":"b","seen":"2024-02-29T10:11:12.345+02:00","age":null},"type":"Person"}\n'
        b'{"to":"b","from":"a","edge":"kNoWs"}\n'
        b'{"type":"Pair","data":{"b":"x","a":7,"id":"[\\"7\\",\\"x\\"]"}}'
    )
    path.write_bytes(gzip.compress(content))
    done = graph.load(path, mode="append")
    assert (done.nodes, done.edges) == ({"Person": 2, "Pair": 1}, {"Knows": 1})
    people = graph.snapshot().table("node:Person").scan()
    table = CATALOG.node("Person")
    assert table is not None
    rows = {row["name"]: row for row in rows_to_plain(table, people)}
    assert (rows["a"]["born"], rows["a"]["seen"], rows["b"]["seen"]) == (19782, 1709164800000, 1709194272345)
    assert graph.snapshot().table("node:Pair").scan()["id"].to_pylist() == ['["7","x"]']


@pytest.mark.parametrize("damage", ["cut", "garbled", "not gzip"])
def test_a_damaged_gz_file_is_bad_input(damage: str, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    data = bytearray(gzip.compress(b"".join(b'{"type":"Log","data":{"n":%d}}\n' % n for n in range(2000))))
    if damage == "cut":
        del data[60:]
    elif damage == "garbled":
        data[20:40] = bytes(byte ^ 0xFF for byte in data[20:40])
    else:
        data[:2] = b"xx"
    path = tmp_path / "bad.ndjson.gz"
    path.write_bytes(bytes(data))
    with pytest.raises(og.BadInput, match=r"bad\.ndjson\.gz cannot be read"):
        graph.load(path, mode="append")


def test_the_last_of_equal_ids_wins_however_the_edge_is_spelled(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    path = tmp_path / "edges.ndjson"
    people = [{"type": "Person", "data": {"name": "a"}}]
    edges = [
        {"edge": name, "from": "a", "to": "a", "data": {"id": "e", "weight": number}}
        for number, name in enumerate(["Knows", "KNOWS", "Knows", "knows", "Knows"])
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in people + edges))
    graph.load(path, mode="merge")
    assert graph.snapshot().table("edge:Knows").scan()["weight"].to_pylist() == [4.0]


def test_records_in_memory_with_members_that_are_no_strings_are_refused(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    for record in ({"type": "Log", "data": {1: 2, "n": 1}}, {"type": "Log", 5: 1}, 7, None, b"x"):
        with pytest.raises(og.ValidationError, match="record 1"):
            graph.load([record], mode="append")
