"""What a query asks of storage (A59): a warm one asks for the newest commit and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from support.another_process import as_another_process
from support.s3 import S3

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String?  face: Vector(2)? }
node City { name: String @key  size: I64? }
edge Knows: Person -> Person
edge LivesIn: Person -> City
"""
QUERIES = {
    "look up": ('query q() { match { $p: Person { name: "p3" } } return { $p.age } }', {}),
    "walk": ('query q() { match { $p: Person { name: "p3" }  $p knows{1,3} $f } return { $f.name } }', {}),
    "count": ("query q() { match { $p: Person  $p knows $f } return { $p.age, count($f) as n } }", {}),
    "search": ('query q() { match { $p: Person } return { $p } order { bm25($p.bio, "red") } limit 3 }', {}),
    "nearest": (
        "query q($v: Vector(2)) { match { $p: Person } return { $p } order { nearest($p.face, $v) } limit 3}",
        {"v": [1.0, 0.0]},
    ),
}
CITIES = "query q() { match { $p: Person  $p livesIn $c } return { $c.name, count($p) as n } }"
PROBE = {"objects.get_missing": 1}
FIRST = {**PROBE, "objects.get": 1}
"""What a handle asks for when it sees a schema for the first time."""


def _fill(graph: og.Graph) -> None:
    people = [
        {"type": "Person", "data": {"name": f"p{n}", "age": n, "bio": "red boat", "face": [1.0, float(n)]}}
        for n in range(20)
    ]
    cities = [{"type": "City", "data": {"name": f"c{n}"}} for n in range(3)]
    knows = [{"edge": "Knows", "from": f"p{n}", "to": f"p{(n * 7 + 1) % 20}"} for n in range(20)]
    homes = [{"edge": "LivesIn", "from": f"p{n}", "to": f"c{n % 3}"} for n in range(20)]
    graph.load([*people, *cities, *knows, *homes], mode="append")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("reads") / "graph", SCHEMA)
    _fill(graph)
    return graph


def _counted(ask: Any, *arguments: Any, **how: Any) -> dict[str, int]:
    with telemetry.measure() as counts:
        ask(*arguments, **how)
    return counts.as_dict()


def _warm(graph: og.Graph) -> None:
    for gq, params in QUERIES.values():
        graph.query(gq, params)
    graph.query(CITIES)


@pytest.mark.parametrize("name", QUERIES)
def test_a_warm_query_is_one_probe_and_opens_and_reads_nothing(graph: og.Graph, name: str) -> None:
    gq, params = QUERIES[name]
    graph.query(gq, params)
    assert _counted(graph.query, gq, params) == PROBE
    assert _counted(graph.prepare(gq), params) == PROBE
    assert graph.explain(gq, params, analyze=True).io == {}


@pytest.mark.parametrize("name", QUERIES)
def test_a_warm_query_of_a_snapshot_asks_for_nothing_at_all(graph: og.Graph, name: str) -> None:
    gq, params = QUERIES[name]
    snapshot = graph.snapshot()
    snapshot.query(gq, params)
    assert _counted(snapshot.query, gq, params) == {}
    assert _counted(lambda: list(snapshot.stream(gq, params))) == {}


def test_a_plan_needs_no_table(graph: og.Graph) -> None:
    assert _counted(og.open(graph.uri, read_only=True).explain, CITIES) == FIRST


def test_a_cold_query_opens_the_tables_that_it_needs_once(graph: og.Graph) -> None:
    fresh = og.open(graph.uri, read_only=True)
    walk, _ = QUERIES["walk"]
    with as_another_process():
        found = _counted(fresh.query, "query q() { match { $c: City } return { $c.name } }")
        assert found == {**FIRST, "tables.open": 1, "tables.columns": 1}
        found = _counted(fresh.query, walk)
    assert found["tables.open"] == 2, "persons and acquaintances; not where they live"


def test_after_a_commit_a_query_of_other_tables_opens_nothing(graph: og.Graph) -> None:
    _warm(graph)
    graph.load([{"type": "City", "data": {"name": "new"}}], mode="merge")
    for gq, params in QUERIES.values():
        assert _counted(graph.query, gq, params) == PROBE


def test_after_the_commit_of_another_handle_a_query_of_other_tables_opens_nothing(graph: og.Graph) -> None:
    reader = og.open(graph.uri, read_only=True)
    _warm(reader)
    graph.load([{"type": "City", "data": {"name": "newer"}}], mode="merge")
    gq, params = QUERIES["count"]
    found = _counted(reader.query, gq, params)
    assert found.pop("objects.get") == 1, "the new record"
    assert found.pop("objects.get_missing") == 2, "what may follow it, and a floor, as its chain has moved"
    assert found == {}


def test_after_the_commit_of_another_process_only_the_new_rows_are_read(graph: og.Graph) -> None:
    _warm(graph)
    graph.query(CITIES)
    with as_another_process():
        graph.load([{"type": "City", "data": {"name": "newest"}}], mode="append")
    found = _counted(graph.query, CITIES)
    assert found.pop("tables.open") == 1, "cities, of which one version is new"
    assert found.pop("tables.columns") <= 2, "id and name of one fragment"
    assert found == PROBE
    assert _counted(graph.query, CITIES) == PROBE


SMALL_WRITES = {
    'insert Knows { from: "p3", to: "p9" }': 1,
    'update Person set { age: 7 } where name = "p3"': 1,
    'delete Knows where from = "p5"': 0,
}
"""Small writes, and how often their rows are read by whom did not write them."""


@pytest.mark.parametrize("write", SMALL_WRITES)
def test_after_a_small_write_of_its_own_a_walk_opens_and_reads_nothing(graph: og.Graph, write: str) -> None:
    _warm(graph)
    graph.mutate(f"query m() {{ {write} }}")
    gq, params = QUERIES["walk"]
    assert _counted(graph.query, gq, params) == PROBE


@pytest.mark.parametrize(("write", "read"), SMALL_WRITES.items())
def test_after_a_small_write_of_another_process_a_walk_reads_the_new_rows_at_once(
    graph: og.Graph, write: str, read: int
) -> None:
    _warm(graph)
    with as_another_process():
        graph.mutate(f"query m() {{ {write} }}")
    gq, params = QUERIES["walk"]
    found = _counted(graph.query, gq, params)
    assert found.pop("tables.open", 0) == read, "the table that was changed, if it has new rows"
    assert found.pop("tables.columns", 0) == read, "all columns in use of the one new fragment"
    assert found == PROBE
    assert _counted(graph.query, gq, params) == PROBE


def test_a_branch_that_shares_tables_shares_what_was_read(graph: og.Graph) -> None:
    _warm(graph)
    graph.branches.create("twin")
    graph.query(CITIES, branch="twin")
    graph.load([{"type": "City", "data": {"name": "of the twin"}}], mode="append", branch="twin")
    for gq, params in QUERIES.values():
        assert _counted(graph.query, gq, params, branch="twin") == PROBE


def test_a_read_of_the_past_is_warm_too(graph: og.Graph) -> None:
    past = graph.snapshot(version=2).commit_id
    gq, params = QUERIES["count"]
    graph.query(gq, params, snapshot=past)
    found = _counted(graph.query, gq, params, snapshot=past)
    assert not [name for name in found if name.startswith("tables.")]


@pytest.mark.s3
def test_over_s3_a_warm_query_is_one_request(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    _fill(graph)
    _warm(graph)
    for gq, params in QUERIES.values():
        with s3.requests() as seen:
            graph.query(gq, params)
        assert [item.method for item in seen] == ["GET"]
    snapshot = graph.snapshot()
    with s3.requests() as seen:
        for gq, params in QUERIES.values():
            snapshot.query(gq, params)
    assert seen == []
