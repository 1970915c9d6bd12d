"""The ways to rows: each gives the same rows, and reads no more than it has to."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.execution.plan import access
from omnigraph.storage.filters import OneOf

SCHEMA = """
node Person {
  name: String @key
  age: I32? @index
  size: U64?
  height: F64?
  mass: F32?
  active: Bool?
  born: Date?
  seen: DateTime?
  marks: [U32]?
  bio: String? @index
  face: Vector(2)? @index
}
node Place { code: I64 @key  mayor: String? }
edge Knows: Person -> Person { since: Date? }
"""
PEOPLE = 450
LARGE = 50


def _person(n: int) -> dict[str, Any]:
    whole = {
        "name": f"p{n}",
        "age": n % 90,
        "size": 2**62 + n,
        "height": n / 8 - 3,
        "mass": n / 10,
        "active": n % 3 == 0,
        "born": f"19{n % 90 + 10}-03-0{n % 9 + 1}",
        "seen": f"2024-01-0{n % 9 + 1}T0{n % 10}:30:00Z",
        "marks": [n, 4_000_000_000],
        "bio": f"number {n} likes {'boats' if n % 50 == 0 else 'cars'}",
        "face": [1.0, float(n)],
    }
    return {name: value for name, value in whole.items() if name == "name" or (n + len(name)) % 11}


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph whose persons are partly indexed: some were added, changed and deleted since."""
    graph = og.init(tmp_path_factory.mktemp("paths") / "graph", SCHEMA)
    graph.load([{"type": "Person", "data": _person(n)} for n in range(PEOPLE - 50)], mode="append")
    graph.load(
        [{"type": "Place", "data": {"code": n, "mayor": f"p{n * 3}"}} for n in range(120)], mode="append"
    )
    graph.load(
        [
            {"edge": "Knows", "from": f"p{n}", "to": f"p{(n * k + 1) % 250}"}
            for n in range(250)
            for k in (1, 2)
        ],
        mode="append",
    )
    graph.ensure_indices()
    graph.load([{"type": "Person", "data": _person(n)} for n in range(PEOPLE - 50, PEOPLE)], mode="append")
    graph.mutate('query m() { update Person set { age: 31 } where name = "p7" }')
    graph.mutate('query m() { delete Person where name = "p30" }')
    return graph.uri


@pytest.fixture
def _tables_are_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(access, "LARGE_TABLE_ROWS", LARGE)
    yield


FILTERS = [
    "$p.age = 31",
    "$p.age in [30, 31, 500]",
    "not $p.age in [30, 31, 32]",
    "$p.age >= 88",
    "$p.age > 29.5  $p.age < 30.5",
    "$p.age = 3000000000",
    "$p.age is null  $p.bio is null",
    "not $p.age is null  $p.age < 2",
    "$p.size = $size",
    "$p.size > $size  $p.age < 20",
    "$p.height = 0.0",
    "$p.height <= 0  $p.height > -1",
    "$p.mass = 0.1",
    "$p.mass > 44.75",
    "$p.mass in [0.1, 0.2]",
    '$p.born = date("1940-03-04")',
    '$p.born > date("1998-03-01")',
    '$p.seen < datetime("2024-01-01T01:00:00Z")',
    "$p.active = true  $p.age < 3",
    "($p.age = 1 or $p.age = 2 or $p.age is null)  $p.mass < 2",
    "not ($p.age > 1 or $p.mass > 1)",
    '$p.name in ["p1", "p30", "p449", "nobody", "it\'s"]',
    '$p.id in ["p1", "p30", "p449"]',
    '$p.name = "p7"  $p.age = 31',
    '$p.name >= "p98"',
    'search($p.bio, "boats")',
    'search($p.bio, "boats liking")  $p.age > 40',
    'fuzzy($p.bio, "boots", 1)',
]


@pytest.mark.usefixtures("_tables_are_large")
@pytest.mark.parametrize("said", FILTERS)
def test_storage_finds_the_rows_that_a_look_at_all_of_them_finds(uri: str, said: str) -> None:
    query = f"query q($size: U64) {{ match {{ $p: Person  {said} }} return {{ $p.name, $p.age, $p.marks }} }}"
    size = {"size": 2**62 + 8}
    every = og.open(uri, read_only=True).query(query, size, optimise=False)
    found = og.open(uri, read_only=True).query(query, size)
    assert sorted(map(str, found.rows)) == sorted(map(str, every.rows))
    assert len(every) or said in ("$p.age = 3000000000", "$p.mass = 0.1")


@pytest.mark.usefixtures("_tables_are_large")
def test_what_storage_filters_is_not_read_as_a_whole(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    query = "query q() { match { $p: Person  $p.age = 30  $p.active = true } return { $p.name, $p.bio } }"
    assert "[index, reading bio, name" in str(graph.explain(query))
    with telemetry.measure() as counts:
        found = graph.query(query)
    assert len(found) and counts["tables.finds"] == 1
    assert not counts["tables.columns"] and not counts["tables.takes"]


@pytest.mark.usefixtures("_tables_are_large")
def test_several_keys_are_one_look_up(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    query = "query q($some: [String]) { match { $p: Person  $p.name in $some } return { $p.name, $p.age } }"
    with telemetry.measure() as counts:
        found = graph.query(query, {"some": ["p1", "p2", "p2", "nobody"]})
    assert sorted(row["p.name"] for row in found) == ["p1", "p2"]
    assert counts["tables.finds"] == 1 and not counts["tables.columns"]


@pytest.mark.usefixtures("_tables_are_large")
def test_a_table_that_is_looked_up_often_is_read_and_the_plan_says_so(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    query = "query q($n: String) { match { $p: Person { name: $n } } return { $p.age } }"
    assert "[index" in str(graph.explain(query))
    first = [graph.query(query, {"n": f"p{n}"}).rows for n in range(40)]
    assert "[hash table" in str(graph.explain(query))
    assert [graph.query(query, {"n": f"p{n}"}).rows for n in range(40)] == first


@pytest.mark.usefixtures("_tables_are_large")
def test_edges_are_looked_up_while_there_is_no_adjacency(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    one = 'query q() { match { $p: Person { name: "p3" }  $p knows $f } return { $f.name } }'
    every = "query q() { match { $p: Person  $p knows $f } return { count($f) as n } }"
    assert "index look-ups: from about 1 row" in str(graph.explain(one))
    before = sorted(map(str, graph.query(one).rows))
    graph.query(every)
    assert "[adjacency: in memory]" in str(graph.explain(one))
    assert sorted(map(str, graph.query(one).rows)) == before


@pytest.mark.usefixtures("_tables_are_large")
def test_the_first_hops_of_many_edges_without_an_index_read_no_adjacency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MANY_ROWS", LARGE)
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load([{"type": "Person", "data": {"name": f"p{n}"}} for n in range(300)], mode="append")
    graph.load([{"edge": "Knows", "from": f"p{n}", "to": f"p{n // 2}"} for n in range(300)], mode="append")
    cold = og.open(graph.uri, read_only=True)
    one = 'query q() { match { $p: Person { name: "p30" }  $p knows $f } return { $f.name } }'
    assert "[filtered by storage: from about 1 row, 300 edges not in memory, src has no index]" in str(
        cold.explain(one)
    )
    two = 'query q() { match { $p: Person { name: "p30" }  $p knows $f  $f knows $g } return { $g.name } }'
    with telemetry.measure() as counts:
        assert [cold.query(one).rows, cold.query(two).rows] == [[{"f.name": "p15"}], [{"g.name": "p7"}]]
    assert counts["tables.columns"] == 0, "no whole column is read"
    assert counts["tables.finds"] <= 8
    for _ in range(6):
        assert cold.query(one).rows == [{"f.name": "p15"}]
    assert "[adjacency" in str(cold.explain(one)), "asked often enough, all edges are read"


@pytest.mark.usefixtures("_tables_are_large")
def test_who_reads_between_writes_soon_reads_all_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MANY_ROWS", LARGE)
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load([{"type": "Person", "data": {"name": f"p{n}"}} for n in range(300)], mode="append")
    graph.load([{"edge": "Knows", "from": f"p{n}", "to": f"p{n // 2}"} for n in range(300)], mode="append")
    one = 'query q() { match { $p: Person { name: "p30" }  $p knows $f } return { $f.name } }'
    add = "query m($n: String) { insert Knows { from: $n, to: $n } }"
    for number in range(9):
        assert graph.query(one).rows == [{"f.name": "p15"}]
        graph.mutate(add, {"n": f"p{100 + number}"})
    assert "[adjacency: in memory]" in str(graph.explain(one))
    assert graph.query(one).rows == [{"f.name": "p15"}]


@pytest.mark.usefixtures("_tables_are_large")
def test_the_nearest_are_the_same_whatever_is_in_memory(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    query = (
        "query q() { match { $p: Person  $p.age > 5 } return { $p.name } "
        "order { nearest($p.face, [1, 40]) } limit 9 }"
    )
    assert "vector index" in str(graph.explain(query))
    cold = graph.query(query).rows
    graph.query("query q() { match { $p: Person  nearest($p.face, [1, 40]) < 2 } return { count($p) as n } }")
    assert "vector index" in str(graph.explain(query))
    assert graph.query(query).rows == cold


@pytest.mark.usefixtures("_tables_are_large")
def test_an_analysis_tells_what_each_step_read_and_the_ranking_too(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    query = (
        "query q() { match { $p: Person  $p knows $f } return { $p.name, $f.age } "
        "order { nearest($p.face, [1, 40]) } limit 3 }"
    )
    steps = graph.explain(query, analyze=True).to_json()["plan"]
    rank, take, expand = steps[:3]
    assert rank["step"].startswith("rank $p: Person by nearest") and rank["path"] == "vector index"
    assert rank["rows"] == 3 and rank["bytes"] > 0 and rank["requests"] > 0 and rank["milliseconds"] > 0
    assert take["bytes"] == 0 and expand["bytes"] > 0


@pytest.mark.usefixtures("_tables_are_large")
def test_more_rows_than_were_thought_take_another_way_and_an_analysis_says_so(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.open(uri, read_only=True)
    query = "query q($ns: [String]) { match { $p: Person  $p.name in $ns  $p knows $f } return { $f.name } }"
    names = {"ns": [f"p{n}" for n in range(260)]}
    told = graph.explain(query, names, analyze=True)
    assert "[index look-ups" in str(told) and "by adjacency" in str(told)
    assert told.rows == len(graph.query(query, names, optimise=False))


JOINS = [
    "$l: Place  $p: Person  $l.mayor = $p.name",
    "$l: Place  $p: Person  $l.mayor = $p.id  $p.age > 30",
    "$l: Place  $p: Person  $p.name = $l.mayor  $p knows $f",
    "$l: Person  $p: Person  $l.age = $p.age  $l.active = $p.active",
    "$l: Person  $p: Person  $l.born = $p.born",
    "$l: Person  $p: Person  $l.seen = $p.seen  $l.size = $p.size",
]


@pytest.mark.parametrize("pattern", JOINS)
def test_patterns_that_an_equality_links_are_joined(uri: str, pattern: str) -> None:
    graph = og.open(uri, read_only=True)
    query = f"query q() {{ match {{ {pattern} }} return {{ $l.id as l, $p.id as p }} }}"
    assert "├─ join $" in str(graph.explain(query))
    every = graph.query(query, optimise=False)
    assert sorted(map(str, graph.query(query))) == sorted(map(str, every))
    counted = f"query q() {{ match {{ {pattern} }} return {{ count($p) as n }} }}"
    assert graph.query(counted).rows == [{"n": len(every)}] and len(every)


def test_a_column_that_one_version_did_not_need_is_not_read_again_by_the_next(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node Person { name: String @key  age: I32? }")
    graph.load([{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in range(9)], mode="append")
    ages = "query q() { match { $p: Person } return { sum($p.age) as n } }"
    names = "query q() { match { $p: Person } return { max($p.name) as n } }"
    graph.query(ages)
    graph.query(names)
    for n in range(2):
        graph.load([{"type": "Person", "data": {"name": f"new{n}", "age": 1}}], mode="append")
        graph.query(names)
    with telemetry.measure() as counts:
        assert graph.query(ages).rows == [{"n": 38.0}]
    assert counts["tables.columns"] == 0, "of the two new fragments ages were read with the names"


@pytest.mark.usefixtures("_tables_are_large")
@pytest.mark.parametrize("text", ["boats", "cars 7", "", "the of", "nothing like it"])
def test_words_are_found_through_a_partial_index_without_reading_all_texts(uri: str, text: str) -> None:
    graph = og.open(uri, read_only=True)
    query = "query q($t: String) { match { $p: Person  search($p.bio, $t) } return { $p.name, $p.bio } }"
    assert "[text index, reading" in str(graph.explain(query))
    with telemetry.measure() as counts:
        found = graph.query(query, {"t": text})
    assert not counts["tables.columns"]
    every = graph.query(query, {"t": text}, optimise=False)
    assert sorted(map(str, found)) == sorted(map(str, every))


@pytest.fixture
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_threads_take_turns_often")
def test_threads_share_what_storage_has_found(uri: str) -> None:
    graph = og.open(uri, read_only=True)
    stored = graph.reader._views(graph.snapshot()).table("node:Person").stored
    names = [f"p{n}" for n in range(100, 120)]
    failures: list[BaseException] = []
    done = threading.Event()

    def find(first: int) -> None:
        try:
            for name in names[first::2] * 8:
                positions = stored.find(OneOf("name", pa.array([name])), ("name",), True)
                held = stored.find_column("name", positions)
                assert held is None or held[0].take(pa.array(held[1])).to_pylist() == [name]
                read = stored.read("name", positions)
                assert read is not None and read.to_pylist() == [name]
        except BaseException as error:
            failures.append(error)

    def look() -> None:
        try:
            while not done.is_set():
                assert stored.nbytes >= 0
                for _ in range(50):
                    stored.find_column("no such column", pa.array([1]).to_numpy())
        except BaseException as error:
            failures.append(error)

    finders = [threading.Thread(target=find, args=(first,)) for first in range(2)]
    lookers = [threading.Thread(target=look) for _ in range(2)]
    for thread in (*finders, *lookers):
        thread.start()
    for thread in finders:
        thread.join()
    done.set()
    for thread in lookers:
        thread.join()
    assert failures == []
