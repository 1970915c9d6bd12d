"""Reads on Spark: every conformance case that reads, in one task and in many; data frames; the choice."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.base import clock
from omnigraph.execution.spark import tables
from support.cases import cases, comparable
from support.engine_variants import Stored
from support.generated_graphs import worlds
from support.generated_queries import Asked, queries
from support.seeded_clock import StandingClock

Case = dict[str, Any]

GAPS: dict[str, str] = {}
"""Cases that this engine cannot run, by id, with the reason."""

_AT_ONCE = 4


def _reads(case: Case) -> bool:
    return case.get("op", "query") == "query" and "load2" not in case and case["id"] not in GAPS


def _groups() -> list[Any]:
    """Return the cases by schema and data, since many ask the same graph."""
    found: dict[str, list[Case]] = {}
    for item in cases(_reads):
        (case,) = item.values
        found.setdefault(json.dumps([case["schema"], case.get("data")]), []).append(case)
    return [pytest.param(group, id=f"{len(group)}-with-{group[0]['id']}") for group in found.values()]


@pytest.fixture(scope="module", autouse=True)
def _plain_plans(session: Any) -> Iterator[None]:
    """Compile no Java for queries over a few rows."""
    plain = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: session.conf.get(name) for name in plain}
    for name, value in plain.items():
        session.conf.set(name, value)
    yield
    for name, value in before.items():
        session.conf.set(name, value)


@pytest.mark.long
@pytest.mark.parametrize("group", _groups())
def test_reads_give_what_their_cases_say(group: list[Case], tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", group[0]["schema"])
    if group[0].get("data"):
        graph.load(group[0]["data"], mode=group[0].get("load_mode", "overwrite"))
    assert _wrong(graph, group) == []


@pytest.mark.long
def test_reads_are_the_same_over_many_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_PER_TASK", 1)
    largest = max((item.values[0] for item in _groups()), key=len)
    graph = og.init(tmp_path / "graph", largest[0]["schema"])
    records = largest[0]["data"]
    nodes = [record for record in records if "type" in record]
    edges = [record for record in records if "edge" in record]
    for some in (nodes[::2], nodes[1::2], edges[::2], edges[1::2]):
        graph.load(some, mode="append")
    assert max(len(graph.snapshot().table(item.key).fragments()) for item in graph.snapshot().tables) > 1
    shaped = [case for case in largest if any(word in case["query"] for word in ("order", "count", "maybe"))]
    assert len(shaped) > 5
    assert _wrong(graph, shaped) == []


def _wrong(graph: og.Graph, group: list[Case]) -> list[str]:
    """Return what is wrong with the answers; several are asked for at once."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        said = list(pool.map(lambda case: _said(graph, case), group))
    return [f"{case['id']}: {text}" for case, text in zip(group, said, strict=True) if text]


def _said(graph: og.Graph, case: Case) -> str:
    """Return what is wrong with the answer to a case; nothing when it is right."""
    expect = case["expect"]
    try:
        result = graph.query(case["query"], case.get("params"), name=case.get("query_name"), engine="spark")
        rows = result.rows
    except og.OmniError as error:
        text = f"{error} {error.code}".lower()
        known = "error_contains_any" in expect and any(part in text for part in expect["error_contains_any"])
        return "" if known else text
    if "error_contains_any" in expect:
        return "was not refused"
    wanted = comparable(expect["rows"], case.get("ordered"))
    return (
        "" if comparable(rows, case.get("ordered")) == wanted and result.engine == "spark" else f"gave {rows}"
    )


@pytest.fixture
def one_moment() -> Iterator[None]:
    """Let `now()` be the same for both engines."""
    before = clock.install(StandingClock(1_709_208_000_000_000))
    yield
    clock.install(before)


def _answer(graph: og.Graph, asked: Asked, engine: str) -> list[dict[str, Any]] | str:
    """Return the rows, or what is said of weights that are none."""
    try:
        return graph.query(asked.text, asked.params, engine=engine).rows
    except og.ValidationError as error:
        assert "a path cannot be short by" in error.message, asked
        return error.message


@pytest.mark.long
@settings(max_examples=3, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_generated_queries_are_answered_as_in_process(data: st.DataObject, one_moment: None) -> None:
    world = data.draw(worlds(), label="world")
    asked = [data.draw(queries(world.shape), label="query") for _ in range(6)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        graph = Stored(world, Path(folder)).whole
        there = pool.map(lambda query: _answer(graph, query, "spark"), asked)
        for query, rows in zip(asked, there, strict=True):
            here = _answer(graph, query, "local")
            if isinstance(rows, str) or isinstance(here, str):
                assert rows == here, query
                continue
            ordered = "order {" in query.text
            if ordered or not ("limit" in query.text or "skip" in query.text):
                assert comparable(rows, ordered) == comparable(here, ordered), query
            assert len(rows) == len(here), query


SCHEMA = """
node Person { name: String @key  born: Date?  seen: DateTime?  visits: U64?  tags: [String]?  height: F32? }
edge Knows: Person -> Person
"""
PEOPLE = [
    {"type": "Person", "data": {"name": "ann", "born": "1990-05-17", "seen": "2024-02-29T23:59:59.123Z",
                                "visits": 2**64 - 1, "tags": ["b", "a"], "height": 1.5}},
    {"type": "Person", "data": {"name": "bob"}},
    {"edge": "Knows", "from": "ann", "to": "bob"},
]  # fmt: skip
EVERYTHING = """
query q() { match { $p: Person }
  return { $p.name $p.born $p.seen $p.visits $p.tags $p.height } order { $p.name } }
"""


@pytest.fixture
def people(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "people", SCHEMA)
    graph.load(PEOPLE, mode="append")
    return graph


def test_a_result_is_a_data_frame_of_plain_types(people: og.Graph, session: Any) -> None:
    result = people.query(EVERYTHING, engine="spark")
    ann, bob = result.to_spark().collect()
    moment = datetime(2024, 2, 29, 23, 59, 59, 123000, tzinfo=UTC)
    assert (ann[0], ann[1], ann[2].astimezone(UTC)) == ("ann", date(1990, 5, 17), moment)
    assert (int(ann[3]), ann[4], ann[5]) == (2**64 - 1, ["b", "a"], 1.5)
    assert list(bob)[1:] == [None] * 5
    assert result.to_spark().columns == [name.replace(".", "_") for name in result.columns]


def test_both_engines_give_the_same_arrow_table(people: og.Graph, session: Any) -> None:
    here, there = (people.query(EVERYTHING, engine=engine) for engine in ("local", "spark"))
    assert there.to_arrow() == here.to_arrow()
    assert (here.engine, there.engine, len(there)) == ("local", "spark", 2)


def test_a_snapshot_is_read_as_it_was(people: og.Graph, session: Any) -> None:
    before = people.snapshot()
    people.mutate('query m() { delete Person where name = "bob" }')
    counted = "query q() { match { $p: Person } return { count($p) as people } }"
    assert before.query(counted, engine="spark").rows == [{"people": 2}]
    assert people.query(counted, engine="spark").rows == [{"people": 1}]


def test_small_reads_stay_in_process_and_large_ones_go_to_spark(
    people: og.Graph, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert people.query(EVERYTHING).engine == "local"
    monkeypatch.setenv("OMNIGRAPH_SPARK_QUERY_ROWS", "1")
    eager = og.open(people.uri)
    assert eager.query(EVERYTHING).engine == "spark"
    told = eager.explain(EVERYTHING)
    reason = "the largest step is expected to have 2 rows, 1 or more, and a session is running"
    assert f"\nengine: spark  [{reason}]\n" in str(told)
    assert told.to_json()["engine"]["name"] == "spark"
    assert eager.query(EVERYTHING, engine="local").engine == "local"


def test_a_query_that_takes_too_long_is_ended(people: og.Graph, session: Any) -> None:
    with pytest.raises(og.ResourceLimit, match="on Spark for more than"):
        _ = people.query(EVERYTHING, engine="spark", timeout=0.01).rows


@pytest.mark.long
def test_a_limit_of_time_holds_for_one_read_after_another(tmp_path: Path, session: Any) -> None:
    graph = og.init(tmp_path / "many", "node P { k: I64 @key }")
    graph.load([{"type": "P", "data": {"k": k}} for k in range(3000)], mode="append")
    cross = "query q() { match { $a: P $b: P $c: P } return { $a.k $b.k as b } }"
    for _ in range(2):
        result = graph.query(cross, engine="spark", timeout=3)
        began = time.monotonic()
        with pytest.raises(og.ResourceLimit, match="more than 3 seconds"):
            _ = result.rows
        assert time.monotonic() - began < 8
    assert len(graph.query("query q() { match { $a: P } return { $a.k } }", engine="spark").rows) == 3000


COUNTING = [
    "{ $a: Person $a knows $b $b knows $c } return { count($c) as n }",
    "{ $a: Person $a knows $b $b knows $c } return { $a.name as a, count($c) as n, sum($a.visits) as s }",
    "{ $a: Person $a knows $b } return { avg($a.visits) as v, sum($a.height) as h, count($a.visits) as k }",
    "{ $a: Person $a knows{1,2} $b } return { min($a.name) as least, collect($a.name) as all }",
    "{ $a: Person $a knows $b $b knows $c $c.visits > 3 } return { $a.name as a } order { a }",
    "{ $a: Person optional { $a knows $b $b knows $c } } return { $a.name as a, count($a) as n } order { a }",
    "{ $a: Person $a knows $b not { $b knows $c } } return { count($b) as n }",
]


def test_far_ends_are_counted_and_not_visited(tmp_path: Path, session: Any) -> None:
    graph = og.init(tmp_path / "hubs", SCHEMA)
    people = [{"type": "Person", "data": {"name": f"p{i}", "visits": i, "height": i / 8}} for i in range(8)]
    graph.load(people, mode="append")
    knows = [(i, hub) for hub in (0, 1) for i in range(2, 6)] + [
        (hub, i) for hub in (0, 1) for i in range(3, 8)
    ]
    graph.load([{"edge": "Knows", "from": f"p{a}", "to": f"p{b}"} for a, b in knows], mode="append")
    asked = [f"query q() {{ match {pattern} }}" for pattern in COUNTING]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        there = list(pool.map(lambda text: graph.query(text, engine="spark"), asked))
        rows = list(pool.map(lambda result: result.rows, there))
    for text, found in zip(asked, rows, strict=True):
        ordered = "order {" in text
        here = graph.query(text, engine="local").rows
        assert comparable(found, ordered) == comparable(here, ordered), text
    plan = there[0].to_spark()._jdf.queryExecution().optimizedPlan().toString()
    assert "ways" in plan and "weight" in plan


def test_an_unknown_engine_is_refused(people: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="use 'auto', 'local' or 'spark'"):
        people.query(EVERYTHING, engine="duck")


def test_a_read_in_process_has_no_data_frame_of_spark(people: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="engine='spark'"):
        people.query(EVERYTHING).to_spark()
