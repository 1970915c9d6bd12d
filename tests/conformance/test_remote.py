"""A served graph answers as the same graph does in process: every answer and every error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from support.served import TOKENS, Served, running_server

SCHEMA = """
node Person { name: String @key  age: I64?  tags: [String]?  born: Date?  seen: DateTime?  face: Vector(2)? }
edge Knows: Person -> Person { since: Date? }
"""
ALL = """
query q() {
  match { $p: Person }
  return { $p.name, $p.age, $p.tags, $p.born, $p.seen, $p.face }
  order { $p.name }
}
"""
RECORDS: list[dict[str, Any]] = [
    {
        "type": "Person",
        "data": {
            "name": "ada",
            "age": 2**53 + 1,
            "tags": ["x", "ü"],
            "born": "1815-12-10",
            "seen": "2026-01-31T12:00:00.123Z",
            "face": [0.5, 1.5],
        },
    },
    {"type": "Person", "data": {"name": "bob"}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1", "since": "2020-02-29"}},
]
_names = itertools.count(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    graph = og.init(folder / "people", SCHEMA, actor="maker")
    graph.load(RECORDS, mode="append")
    with running_server(folder, str(folder / "people")) as server:
        yield server


@pytest.fixture
def here(folder: Path, server: Served) -> og.Graph:
    return og.open(folder / "people", actor="act-ada")


@pytest.fixture
def there(server: Served) -> og.Graph:
    return og.open(server.url("people"), token=TOKENS["act-ada"])


Ask = Callable[[og.Graph], Any]
READS: dict[str, Ask] = {
    "rows": lambda g: g.query(ALL).rows,
    "table": lambda g: g.query(ALL).to_arrow(),
    "schema of a result": lambda g: g.query(ALL).schema,
    "commit of a result": lambda g: g.query(ALL).commit_id,
    "parameters": lambda g: (
        g.query(
            "query q($a: [I64], $d: Date) { match { $p: Person  $p.age in $a  $p.born < $d } return { $p } }",
            {"a": [2**53 + 1, 3], "d": "1900-01-01"},
        ).rows
    ),
    "a snapshot": lambda g: g.query(ALL, snapshot="main").rows,
    "a prepared query": lambda g: g.prepare(ALL)().rows,
    "a stream": lambda g: pa.Table.from_batches(list(g.stream(ALL))).to_pylist(),
    "a plan": lambda g: str(g.explain(ALL)),
    "the schema": lambda g: g.schema.source,
    "branches": lambda g: g.branches.list(),
    "a branch": lambda g: g.branches.info("main"),
    "commits": lambda g: g.commits.list(),
    "two commits": lambda g: g.commits.list(limit=2),
    "no commit": lambda g: g.commits.list(actor="nobody"),
    "a commit": lambda g: g.commits.show("HEAD"),
    "tags": lambda g: g.tags.list(),
    "an export": lambda g: sorted(map(str, g.export())),
    "an export of a type": lambda g: list(g.export(types=["Knows"])),
    "a repair": lambda g: g.repair(),
    "a cleanup": lambda g: g.cleanup(keep=1000, dry_run=True),
}
REFUSALS: dict[str, Ask] = {
    "a type that is not there": lambda g: g.query("query q() { match { $p: Persn } return { $p } }"),
    "a text that is none": lambda g: g.query("nonsense"),
    "a mutation as a query": lambda g: g.query('query q() { insert Person { name: "x" } }'),
    "a query as a mutation": lambda g: g.mutate(ALL),
    "a branch that is not there": lambda g: g.query(ALL, branch="none"),
    "a commit that is not there": lambda g: g.commits.show("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    "both a branch and a snapshot": lambda g: g.query(ALL, branch="main", snapshot="main"),
    "a parameter that does not fit": lambda g: g.query(
        "query q($a: I64) { match { $p: Person { age: $a } } return { $p } }", {"a": "x"}
    ),
    "an end that is not there": lambda g: g.load(
        [{"edge": "Knows", "from": "ada", "to": "zoe"}], mode="append"
    ),
    "a record that is wrong": lambda g: g.load([{"type": "Person", "data": {"age": 1}}], mode="append"),
    "a head that is another": lambda g: g.mutate(
        'query q() { insert Person { name: "x" } }', if_commit="01ARZ3NDEKTSV4RRFFQ69G5FAV"
    ),
    "a drop that nobody allows": lambda g: g.schema.apply("node Person { name: String @key }"),
    "a branch twice": lambda g: g.branches.create("main"),
    "the main branch": lambda g: g.branches.delete("main"),
    "a name that is not allowed": lambda g: g.branches.create("a b"),
    "a tag that is not there": lambda g: g.branches.create("new", tag="none"),
}


@pytest.mark.parametrize("name", READS)
def test_an_answer_is_the_same(here: og.Graph, there: og.Graph, name: str) -> None:
    assert READS[name](there) == READS[name](here)


@pytest.mark.parametrize("name", REFUSALS)
def test_an_error_is_the_same(here: og.Graph, there: og.Graph, name: str) -> None:
    told = []
    for graph in (there, here):
        with pytest.raises(og.OmniError) as caught:
            REFUSALS[name](graph)
        told.append((type(caught.value), caught.value.message))
    assert told[0] == told[1]


def test_a_story_of_branches_ends_alike(here: og.Graph, there: og.Graph, server: Served) -> None:
    ends = []
    for graph in (there, here):
        name, row = f"b{next(_names)}", f"p{next(_names)}"
        graph.branches.create(name)
        added = graph.mutate(
            "query q($n: String) { insert Person { name: $n, age: 1 } }", {"n": row}, branch=name
        )
        assert (added.affected_nodes, added.affected_edges) == (1, 0)
        dry = graph.branches.merge(name, dry_run=True)
        done = graph.branches.merge(name, message="in", delete_branch=True)
        reverted = graph.commits.revert(done.commit_id or "")
        ends.append(
            [
                dry.outcome,
                done.outcome,
                done.counts,
                done.branch_deleted,
                reverted.outcome,
                graph.commits.show("HEAD").actor,
            ]
        )
    assert ends[0] == ends[1]
    assert ends[0][-1] == "act-ada"


def test_conflicts_come_with_their_images_and_are_answered(here: og.Graph, there: og.Graph) -> None:
    there.branches.create("clash")
    set_age = 'query q($a: I64) { update Person set { age: $a } where name = "bob" }'
    there.mutate(set_age, {"a": 5}, branch="clash")
    there.mutate(set_age, {"a": 6})
    told = []
    for graph in (there, here):
        with pytest.raises(og.MergeConflicts) as caught:
            graph.branches.merge("clash")
        told.append(caught.value.conflicts)
    assert told[0] == told[1]
    answer = {**told[0][0].to_json(), "take": "theirs"}
    assert there.branches.merge("clash", resolutions=[answer]).outcome == "merged"
    assert here.query('query q() { match { $p: Person { name: "bob" } } return { $p.age } }').scalar() == 5


def test_a_file_and_a_table_are_loaded(there: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "more.csv"
    path.write_text("name,age\ncsv,7\n")
    assert there.load(path, type="Person", mode="merge").nodes == {"Person": 1}
    assert there.load(pa.table({"name": ["arrow"]}), type="Person", mode="merge").nodes == {"Person": 1}


def test_a_load_is_sent_with_a_key_and_counts_once(there: og.Graph) -> None:
    records = [{"type": "Person", "data": {"name": "once"}}]
    first = there.load(records, mode="append", idempotency_key="a-load")
    assert there.load(records, mode="append", idempotency_key="a-load").commit_id == first.commit_id


def test_a_token_that_nobody_has_is_refused(server: Served) -> None:
    with pytest.raises(og.Unauthorized):
        og.open(server.url("people"), token="wrong")


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(og.Unavailable, match="does not answer"):
        og.open("http://127.0.0.1:9/graphs/people")


def test_what_only_a_stored_graph_takes_is_refused(server: Served, folder: Path) -> None:
    with pytest.raises(og.BadInput, match="leave out actor"):
        og.open(server.url("people"), token=TOKENS["act-ada"], actor="eve")
    with pytest.raises(og.BadInput, match="token is for a graph that a server has"):
        og.open(folder / "people", token="x")
