"""`on_error="quarantine"`: what is right is loaded, what is wrong waits in a file with its reasons."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app
from omnigraph.compiler.frontend import compile_schema
from omnigraph.execution.load.parse.strict_json import RecordReader, parse_line
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique  @range(age, 0..150) }
edge Knows: Person -> Person @card(0..1)
"""
LINES = [
    '{"type":"Person","data":{"name":"ada","age":36,"mail":"a@x"}}',
    '{"type":"Person","data":{"name":"bob","age":300}}',
    "this is not json",
    '{"type":"Person","data":{"name":"ada"}}',
    '{"type":"Person","data":{"name":"cyd","mail":"a@x"}}',
    '{"edge":"Knows","from":"ada","to":"bob"}',
    '{"edge":"Knows","from":"ada","to":"ada"}',
    '{"type":"Person","data":{"name":"dan","aeg":1}}',
    '{"edge":"Knows","from":"eve","to":"eve"}',
    '{"type":"Person","data":{"name":"eve"}}',
]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "people.ndjson"
    path.write_text("\n".join(LINES) + "\n")
    return path


def _names(graph: og.Graph) -> list[str]:
    return sorted(graph.snapshot().table("node:Person").scan(["name"])["name"].to_pylist())


def test_without_quarantine_nothing_is_written_and_problems_of_all_kinds_are_told(
    graph: og.Graph, lines: Path
) -> None:
    before = graph.snapshot().commit_id
    with pytest.raises(og.ValidationError) as caught:
        graph.load(lines, mode="append")
    assert graph.snapshot().commit_id == before
    assert {problem["place"] for problem in caught.value.problems} == {
        f"{lines}:{n}" for n in (2, 3, 4, 5, 8)
    }
    assert caught.value.total == 5


def test_good_records_are_loaded_and_bad_ones_are_put_away_with_reasons(graph: og.Graph, lines: Path) -> None:
    done = graph.load(lines, mode="append", on_error="quarantine")
    assert _names(graph) == ["ada", "eve"]
    assert (done.nodes, done.edges, done.rejected) == ({"Person": 2}, {"Knows": 2}, 6)
    assert done.rejected_path is not None
    kept = [json.loads(line) for line in Path(done.rejected_path).read_text().splitlines()]
    reasons = {json.dumps(item.get("data", item.get("_raw"))): item["_problems"] for item in kept}
    assert "@range" in reasons['{"name": "bob", "age": 300}'][0]
    assert "JSON" in reasons['"this is not json"'][0]
    assert "@unique" in reasons['{"name": "ada"}'][0]
    assert "@unique" in reasons['{"name": "cyd", "mail": "a@x"}'][0]
    assert "did you mean 'age'" in reasons['{"name": "dan", "aeg": 1}'][0]
    edge = next(item for item in kept if "edge" in item)
    assert edge["to"] == "bob"
    assert "not found" in edge["_problems"][0]


def test_a_mended_file_can_be_loaded_as_it_is(graph: og.Graph, lines: Path) -> None:
    done = graph.load(lines, mode="append", on_error="quarantine")
    assert done.rejected_path is not None
    path = Path(done.rejected_path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    bob = next(item for item in records if item.get("data", {}).get("name") == "bob")
    bob["data"]["age"] = 30
    path.write_text(json.dumps(bob) + "\n")
    graph.load(path, mode="append")
    assert _names(graph) == ["ada", "bob", "eve"]


def test_a_load_without_mistakes_leaves_no_file(graph: og.Graph, tmp_path: Path) -> None:
    target = tmp_path / "rejected.ndjson"
    done = graph.load(
        [{"type": "Person", "data": {"name": "ada"}}],
        mode="append",
        on_error="quarantine",
        rejected_to=target,
    )
    assert (done.rejected, done.rejected_path) == (0, None)
    assert not target.exists()


def test_what_is_stored_counts_when_records_are_judged(graph: og.Graph, tmp_path: Path) -> None:
    graph.load([{"type": "Person", "data": {"name": "ada", "mail": "a@x"}}], mode="append")
    records = [
        {"type": "Person", "data": {"name": "ada"}},
        {"type": "Person", "data": {"name": "bob", "mail": "a@x"}},
        {"type": "Person", "data": {"name": "cyd"}},
    ]
    done = graph.load(records, mode="append", on_error="quarantine", rejected_to=tmp_path / "rejected.ndjson")
    assert done.rejected == 2
    assert _names(graph) == ["ada", "cyd"]


def test_only_the_edges_past_the_limit_of_their_source_are_put_away(graph: og.Graph, tmp_path: Path) -> None:
    records = [{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")]
    edges = [{"edge": "Knows", "from": "ada", "to": name} for name in ("ada", "bob", "bob")]
    bad = tmp_path / "rejected.ndjson"
    done = graph.load([*records, *edges], mode="append", on_error="quarantine", rejected_to=bad)
    assert (done.nodes, done.edges, done.rejected) == ({"Person": 2}, {"Knows": 1}, 2)
    kept = graph.snapshot().table("edge:Knows").scan(["dst"])["dst"].to_pylist()
    assert kept == ["ada"]
    assert ["record 5" in json.loads(line)["_problems"][0] for line in bad.read_text().splitlines()] == [
        True
    ] * 2


def test_what_no_record_is_to_blame_for_is_an_error(graph: og.Graph, tmp_path: Path) -> None:
    records = [{"type": "Person", "data": {"name": "ada"}}, {"edge": "Knows", "from": "ada", "to": "ada"}]
    graph.load(records, mode="append")
    with pytest.raises(og.ValidationError, match="stored edge"):
        graph.load(
            [{"type": "Person", "data": {"name": "bob"}}],
            mode="overwrite",
            on_error="quarantine",
            rejected_to=tmp_path / "rejected.ndjson",
        )
    assert _names(graph) == ["ada"]


def test_rejected_records_never_go_where_they_cannot_or_must_not(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    file = tmp_path / "people.jsonl"
    file.write_text("\n".join(LINES))
    (tmp_path / "link.jsonl").symlink_to(file)
    for wrong in (tmp_path / "nowhere" / "f", tmp_path):
        with pytest.raises(og.BadInput, match="rejected records cannot go to"):
            graph.load(file, mode="append", on_error="quarantine", rejected_to=wrong)
    for taken in (file, tmp_path / "link.jsonl"):
        with pytest.raises(og.AlreadyExists, match="already exists and may hold corrected records"):
            graph.load(file, mode="append", on_error="quarantine", rejected_to=taken)
    with pytest.raises(og.BadInput, match="give on_error='quarantine'"):
        graph.load(file, mode="append", rejected_to=tmp_path / "bad")
    assert file.read_text() == "\n".join(LINES)
    assert graph.snapshot().version == 1


def test_a_file_that_was_mended_is_never_written_over(graph: og.Graph, lines: Path) -> None:
    first = graph.load(lines, mode="merge", on_error="quarantine").rejected_path
    assert first == f"{lines}.rejected"
    Path(first).write_text("hours of work\n")
    again = graph.load(lines, mode="merge", on_error="quarantine").rejected_path
    assert again == f"{lines}.rejected.2"
    assert Path(first).read_text() == "hours of work\n"
    assert sorted(path.name for path in lines.parent.glob("people*")) == [
        "people.ndjson",
        "people.ndjson.rejected",
        "people.ndjson.rejected.2",
    ]


def test_no_glob_takes_a_file_of_rejected_records_for_a_source(graph: og.Graph, lines: Path) -> None:
    graph.load(lines, mode="merge", on_error="quarantine")
    for pattern in ("*.ndjson", "people*", "*"):
        done = graph.load(f"{lines.parent}/{pattern}", mode="merge", on_error="quarantine")
        assert done.rejected_path is not None
        kept = [json.loads(line) for line in Path(done.rejected_path).read_text().splitlines()]
        assert {item["_source"]["file"] for item in kept} == {str(lines)}
    with pytest.raises(og.ValidationError, match=r"people\.ndjson\.rejected:1: "):
        graph.load(f"{lines.parent}/*.rejected", mode="append")


def test_every_rejected_record_says_where_it_stood(graph: og.Graph, lines: Path, tmp_path: Path) -> None:
    done = graph.load(lines, mode="merge", on_error="quarantine")
    assert done.rejected_path is not None
    kept = [json.loads(line) for line in Path(done.rejected_path).read_text().splitlines()]
    assert [item["_source"] for item in kept] == [
        {"file": str(lines), "line": number} for number in (2, 3, 4, 5, 6, 8)
    ]
    columns = tmp_path / "people.csv"
    columns.write_text("name,age\nx,1\ny,z\n")
    done = graph.load(columns, type="Person", mode="merge", on_error="quarantine")
    assert done.rejected_path == f"{columns}.rejected"
    (kept,) = [json.loads(line) for line in Path(done.rejected_path).read_text().splitlines()]
    assert kept["_source"] == {"file": str(columns), "line": 3}


def test_a_load_that_is_refused_leaves_no_file(graph: og.Graph, lines: Path) -> None:
    graph.load([{"type": "Person", "data": {"name": "old"}}], mode="append")
    graph.load([{"edge": "Knows", "from": "old", "to": "old"}], mode="append")
    only = lines.with_name("only.ndjson")
    only.write_text('{"type":"Person","data":{"name":"new"}}\n{"type":"Person"}\n')
    with pytest.raises(og.ValidationError, match="stored edge"):
        graph.load(only, mode="overwrite", on_error="quarantine")
    assert not list(lines.parent.glob("*rejected*"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("point", "loaded"), [("publish.before_record", False), ("publish.after_record", True)]
)
def test_a_crash_beside_the_commit_leaves_the_rejected_records_behind(
    graph: og.Graph, lines: Path, point: str, loaded: bool
) -> None:
    load = "og.open(sys.argv[1]).load(sys.argv[2], mode='append', on_error='quarantine')"
    run = [sys.executable, "-c", f"import sys, omnigraph as og; {load}", graph.uri, str(lines)]
    armed = {**os.environ, "OMNIGRAPH_FAILPOINTS": f"{point}=kill"}
    done = subprocess.run(run, env=armed, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    (draft,) = lines.parent.glob("*.rejected.*.part")
    assert len([json.loads(line) for line in draft.read_text().splitlines()]) == 6
    assert not Path(f"{lines}.rejected").exists()
    if loaded:
        assert _names(og.open(graph.uri)) == ["ada", "eve"]


def test_the_command_line_says_by_its_exit_code_that_nothing_was_right(
    graph: og.Graph, tmp_path: Path
) -> None:
    file, bad = tmp_path / "people.jsonl", tmp_path / "bad"
    file.write_text('{"type":"Nobody"}\n{"type":"Person"}\n')
    options = ["--mode", "append", "--on-error", "quarantine", "--rejected-to", str(bad)]
    done = CliRunner().invoke(app, ["load", graph.uri, "--data", str(file), *options])
    assert (done.exit_code, len(bad.read_text().splitlines())) == (3, 2)
    file.write_text('{"type":"Nobody"}\n{"type":"Person","data":{"name":"ada"}}\n')
    bad.unlink()
    done = CliRunner().invoke(app, ["load", graph.uri, "--data", str(file), *options])
    assert done.exit_code == 0, done.output


TYPES = (
    "i: I64?  f: F64?  d: Date?  at: DateTime?  b: Blob?  l: [I64]?  ds: [Date]?  v: Vector(2)?  s: String?"
)
_whole = st.integers(-(2**31), 2**31 - 1)
_days = st.dates()
_moments = st.datetimes(timezones=st.just(UTC) | st.timezones() | st.none())
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": _whole
    | _whole.map(np.int64)
    | _whole.map(
        np.int32,
    ),
    "f": st.floats(allow_nan=False, allow_infinity=False) | _whole.map(np.float32) | _whole.map(np.float64),
    "d": _days | _days.map(np.datetime64) | _days.map(str),
    "at": _moments | st.datetimes(min_value=datetime(1700, 1, 1)).map(lambda at: np.datetime64(at, "us")),
    "b": st.binary(max_size=20) | st.just("base64:AAE="),
    "l": st.lists(_whole, max_size=3)
    | st.lists(_whole, max_size=3).map(np.array).map(lambda a: a.astype(int)),
    "ds": st.lists(_days, max_size=3).map(tuple),
    "v": st.lists(st.floats(width=16, allow_nan=False, allow_infinity=False), min_size=2, max_size=2).map(
        np.array
    ),
    "s": st.text(st.characters(codec="utf-8"), max_size=8),
}


@given(data=st.fixed_dictionaries({}, optional=VALUES))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_load_takes_comes_back_the_same_from_the_file_of_rejected_records(
    data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    reader = RecordReader(compile_schema(f"node T {{ k: String @key  {TYPES} }}"))
    record = {"type": "T", "data": {"k": "x", **data}}
    wrong = {"type": "T", "data": {**record["data"], "unknown": 1}}  # type: ignore[dict-item]
    quarantine = Quarantine(tmp_path_factory.mktemp("bad") / "bad")
    rejected = {1: [Problem("record", "T", "unknown field")]}
    with quarantine.open_draft(lambda at: RecordPlace(at, at), rejected) as put_away:
        put_away(1, wrong)
    quarantine.settle()
    assert quarantine.path is not None
    (line,) = quarantine.path.read_bytes().splitlines()
    again = parse_line(line)
    del again["data"]["unknown"]
    assert reader.read(again).values == reader.read(record).values


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (np.float32("nan"), "NaN"),
        (Decimal("5.50"), 5.5),
        (Decimal("7"), 7),
        (Decimal("0.1000000000000000000001"), "0.1000000000000000000001"),
        ({"deep": [{1: b"\x00"}, {2.5}]}, {"deep": [{"1": "base64:AA=="}, [2.5]]}),
        (lambda: 1, None),
        (10**5000, hex(10**5000)),
    ],
    ids=[
        "nan",
        "infinity",
        "numpy nan",
        "decimal",
        "whole decimal",
        "fine decimal",
        "nested",
        "code",
        "huge",
    ],
)
def test_what_no_property_takes_is_still_json_there_and_in_the_error(
    graph: og.Graph, tmp_path: Path, value: Any, written: Any
) -> None:
    records = [{"type": "Person", "data": {"name": "x", "mail": value}}]
    with pytest.raises(og.ValidationError) as caught:
        graph.load(records, mode="append")
    json.dumps(caught.value.details, allow_nan=False)
    for source in (records, (record for record in records)):
        bad = tmp_path / f"bad-{type(source).__name__}"
        done = graph.load(source, mode="append", on_error="quarantine", rejected_to=bad)
        assert done.rejected == 1
        kept = json.loads(bad.read_text(), parse_constant=pytest.fail)["data"]["mail"]
        assert kept == written if written is not None else "lambda" in kept


def test_a_number_beyond_all_floats_in_a_file_is_put_away_like_any_other(
    graph: og.Graph, tmp_path: Path
) -> None:
    (tmp_path / "big.jsonl").write_text(
        '{"type": "Person", "data": {"name": "x", "age": 1e999}}\n{"type": "Person", "data": {"name": "y"}}\n'
    )
    bad = tmp_path / "bad"
    done = graph.load(tmp_path / "big.jsonl", mode="append", on_error="quarantine", rejected_to=bad)
    assert (done.rejected, _names(graph)) == (1, ["y"])
    kept = json.loads(bad.read_text(), parse_constant=pytest.fail)
    assert kept["data"] == {"name": "x", "age": "Infinity"}
