"""A handle that reads between writes sees what a new handle sees, though it makes little of it anew."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.execution.local.cache import fragment_cache as parts
from omnigraph.execution.plan import access
from support.another_process import as_another_process

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String?  vec: Vector(2)? }
edge Knows: Person -> Person { since: I32? }
"""
QUERIES = [
    "query q() { match { $a: Person  $a knows $b } return { $a.name, $b.name } }",
    "query q() { match { $a: Person  $b knows $a } return { $a.name, $b.name } }",
    "query q() { match { $a: Person  $a <knows> $b } return { $a.name, $b.name } }",
    "query q() { match { $a: Person  $a $k:knows $b } return { $a.name, $b.name, $k.since } }",
    "query q() { match { $a: Person  $a <knows>{1,2} $b } return { $a.name, count($b) as n } }",
    "query q() { match { $a: Person  $a $k:<knows> $b } return { $a.name, $b.name, $k.since } }",
    'query q() { match { $a: Person { name: "p3" }  $a knows{1,3} $b } return { $b.name, $b.age } }',
    "query q() { match { $a: Person  $a knows $b  $b knows $c  $a knows $c } return { count($a) as n } }",
    "query q() { match { $a: Person  $a.age > 20 } return { $a.name, $a.age } }",
    'query q() { match { $a: Person  search($a.bio, "red") } return { $a } order { bm25($a.bio, "red") } }',
    "query q() { match { $a: Person } return { $a.name } order { nearest($a.vec, [1.0, 0.5]) } limit 4 }",
]

NAMED = '$a: Person { name: "p3" }'
LOOK_UPS = [
    f"query q() {{ match {{ {NAMED}  $a knows $b }} return {{ $a.age, $b.name, $b.bio }} }}",
    f"query q() {{ match {{ {NAMED}  $b knows $a }} return {{ $b.name }} }}",
    f"query q() {{ match {{ {NAMED}  $a $k:knows $b  $b knows $c }} return {{ $k.since, $c.name }} }}",
    f"query q() {{ match {{ {NAMED}  $a knows $b }} return {{ count($b) as n }} }}",
    f'query q() {{ match {{ {NAMED}  $b: Person {{ name: "p4" }}  $a knows $b }} return {{ $a.name }} }}',
    'query q() { match { $a: Person { name: "nobody" }  $a knows $b } return { $b.name } }',
]


@pytest.fixture(params=[1, 4096], ids=["large-fragments", "small-fragments"])
def _what_counts_as_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parts, "_LARGE_FRAGMENT_ROWS", request.param)
    monkeypatch.setattr(parts, "_LARGE_FRAGMENT_SHARE", 4)
    yield


@pytest.mark.long
@pytest.mark.usefixtures("_what_counts_as_large")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_between_writes_is_never_stale(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(_records(chance, 12, 20), mode="append")
    kept = [graph.snapshot()]
    for step in range(14):
        _write(graph, chance, step)
        fresh = og.open(tmp_path / "g")
        for query in QUERIES:
            with as_another_process():
                wanted = _rows(fresh, query)
                assert _rows(fresh, query, optimise=False) == wanted, (seed, step, query)
            assert _rows(graph, query) == wanted, (seed, step, query)
        kept.append(graph.snapshot())
        older = chance.choice(kept)
        for query in QUERIES:
            wanted = sorted(map(str, fresh.query(query, snapshot=older.commit_id).rows))
            assert sorted(map(str, older.query(query).rows)) == wanted, (seed, step, older.version, query)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_what_an_index_finds_is_what_is_there(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(_records(chance, 12, 20), mode="append")
    for step in range(4):
        if step == 2:
            graph.ensure_indices()
        _write(graph, chance, step)
        _write(graph, chance, step + 10)
        for query in [*QUERIES, *LOOK_UPS]:
            wanted = _rows(og.open(tmp_path / "g"), query)
            with monkeypatch.context() as patched, as_another_process():
                patched.setattr(access, "LARGE_TABLE_ROWS", 0)
                cold = og.open(tmp_path / "g")
                assert _rows(cold, query) == wanted, (seed, step, query)
                assert _rows(cold, query) == wanted, (seed, step, query)


def test_a_few_rows_of_a_large_table_are_read_without_reading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "LARGE_TABLE_ROWS", 1000)
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(_records(random.Random(1), 5000, 10000), mode="append")
    graph.ensure_indices()
    cold = og.open(tmp_path / "g")
    cold.query('query q() { match { $a: Person { name: "p3" }  $a knows $b } return { $b.name, $b.age } }')
    views = cold.reader._views(cold.snapshot())
    assert views.table("node:Person").nbytes < 1000, "the rows that were found, and no column"
    assert views.table("edge:Knows").nbytes == 0


def test_a_write_of_one_row_makes_the_next_read_open_only_what_it_changed(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(_records(random.Random(1), 5000, 10000), mode="append")
    query = 'query q() { match { $a: Person { name: "p3" }  $a knows{1,2} $b } return { count($b) as n } }'
    graph.query(query)
    graph.mutate('query m() { insert Person { name: "late" } }')
    with telemetry.measure() as counts:
        graph.query(query)
    assert counts["tables.open"] <= 1
    with telemetry.measure() as counts:
        graph.query(query)
    assert counts["tables.open"] == 0


def _rows(graph: og.Graph, query: str, optimise: bool = True) -> list[str]:
    found = [str(row) for row in graph.query(query, optimise=optimise)]
    return found if "order" in query else sorted(found)


def _records(chance: random.Random, nodes: int, edges: int) -> list[dict[str, object]]:
    people = [{"type": "Person", "data": _person(chance, f"p{at}")} for at in range(nodes)]
    return people + [
        {
            "edge": "Knows",
            "from": f"p{chance.randrange(nodes)}",
            "to": f"p{chance.randrange(nodes)}",
            "data": {"since": at},
        }
        for at in range(edges)
    ]


def _person(chance: random.Random, name: str) -> dict[str, object]:
    words = " ".join(chance.choice(["red", "fox", "blue", "dog", "Ünder"]) for _ in range(3))
    vector = None if chance.random() < 0.2 else [round(chance.uniform(-1, 1), 2), 0.5]
    return {"name": name, "age": chance.randrange(60), "bio": words, "vec": vector}


def _write(graph: og.Graph, chance: random.Random, step: int) -> None:
    name, other = f"p{chance.randrange(14)}", f"p{chance.randrange(14)}"
    kind = chance.choice(["insert", "update", "delete", "connect", "disconnect", "upsert", "load"])
    match kind:
        case "insert":
            graph.mutate("query m($n: String) { insert Person { name: $n, age: 50 } }", {"n": f"q{step}"})
        case "update":
            graph.mutate("query m($n: String) { update Person set { age: 33 } where name = $n }", {"n": name})
        case "delete":
            graph.mutate("query m($n: String) { delete Person where name = $n }", {"n": name})
        case "disconnect":
            graph.mutate("query m($n: String) { delete Knows where from = $n }", {"n": name})
        case "load":
            graph.load(_records(chance, 14, 3), mode="merge")
        case "upsert":
            graph.load([{"type": "Person", "data": _person(chance, name)}], mode="merge")
        case "connect":
            both = [{"type": "Person", "data": _person(chance, who)} for who in {name, other}]
            graph.load([*both, {"edge": "Knows", "from": name, "to": other, "data": {}}], mode="merge")
