"""Random policies and graphs: what an actor reads and writes is what Cedar allows row by row.

`OMNIGRAPH_EXAMPLES=100` compares a thousand of them; `OMNIGRAPH_POLICY_SEED` says from which seed on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import PolicyDenied
from support.data_policies import (
    ENDS,
    SCHEMA,
    Oracle,
    Row,
    gate_of,
    random_graph,
    random_hidden,
    random_rows_text,
    random_values,
    schema_without,
)
from support.examples import examples

FIRST = int(os.environ.get("OMNIGRAPH_POLICY_SEED", "0"))
SEEDS = range(FIRST, FIRST + examples(10))
QUERIES = (
    "query q() { match { $p: Person } return { $p.* } }",
    "query q() { match { $c: City } return { $c.* } }",
    "query q() { match { $n: Named } return { $n.name } }",
    "query q() { match { $a: Person $a knows $b } return { $a.name, $b.name } }",
    "query q() { match { $a: Person $a knows{1,3} $b } return { $a.name, $b.name } }",
    "query q() { match { $a: Person $a knows{1,4} $b $b livesIn $c } return { $a.name, $c.name } }",
    "query q() { match { $p: Person } return { count($p) as n, sum($p.level) as s, max($p.region) as m } }",
    'query q() { match { $p: Person search($p.bio, "fox dog") } '
    'return { $p.name, bm25($p.bio, "fox dog") as score } }',
    'query q() { match { $p: Person {name: "p1"} } return { $p.region, $p.level } }',
    "query q() { match { $a: Person not { $a knows $b } } return { $a.name } }",
    "query q() { match { $a: Person } return { $a.name, count { $a knows $b } as n } }",
    "query q() { match { $a: Person $a _ $b } return { $a.name, type($b) as kind, $b } }",
    "query q() { match { $a: Person $a knows{1,5} $b as path $w } "
    "return { $a.name, nodes($w) as n, edges($w) as e } }",
    'query q() { match { $a: Person $b: Person {name: "p1"} $a knows{1,5} $b shortest 2 as path $w } '
    "return { $a.name, nodes($w) as n, cost($w) as c } }",
    "query q() { match { $a: Person $b: Person $a knows{1,4} $b shortest by weight as path $w } "
    "return { $a.name, $b.name, nodes($w) as n, cost($w) as c } }",
    "query q() { match { $p: Person } return { $p.name, nearest($p.vec, [1.0, 0.25]) as d } "
    "order { nearest($p.vec, [1.0, 0.25]), $p.name } limit 3 }",
    'query q() { match { $p: Person } return { $p.name, bm25($p.bio, "dog") as s } '
    'order { rrf(nearest($p.vec, [0.0, 1.0]), bm25($p.bio, "dog")), $p.name } limit 4 }',
    "query q() { match { $p: Person $p.photo is not null } return { $p.name } }",
    "query q() { match { $p: Person } return { entity($p) as whole } }",
)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_actor_sees_the_graph_that_has_only_the_rows_that_cedar_allows(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows, text, hidden = random_graph(rng), random_rows_text(rng), random_hidden(rng)
    whole, seen = _open(tmp_path, rows, text, hidden)
    visible = Oracle(text).visible(rows)
    there = [row.without(hidden) for row in visible]
    smaller = og.init(str(tmp_path / "smaller"), schema=schema_without(hidden))
    smaller.load([row.record() for row in there], mode="append")

    for query in QUERIES:
        assert _ask(seen, query) == _ask(smaller, query), (text, hidden, query)
    assert _in_order(seen.export()) == _in_order(smaller.export()), text
    assert {item.key: item.rows for item in seen.snapshot().tables} == {
        item.key: item.rows for item in smaller.snapshot().tables
    }
    first = whole.commits.list()[-1].id
    assert _changes(seen.diff(first, "main")) == _changes(smaller.diff(smaller.commits.list()[-1].id, "main"))
    assert seen.diff(first, "main").counts == smaller.diff(smaller.commits.list()[-1].id, "main").counts
    if not there:
        assert not seen.commits.changes("main").changes
        assert not _blocks(seen)
    else:
        assert _changes(seen.commits.changes("main").changes) == _changes(
            smaller.commits.changes("main").changes
        )
        assert _blocks(seen) == _blocks(smaller)
        assert _in_order(seen.changes.baseline())[1:] == _in_order(smaller.changes.baseline())[1:]
    for row in rows:
        entity = seen.entity(f"{'node' if row.ends is None else 'edge'}:{row.type}", row.id)
        assert entity.exists == (row in visible), (text, row)
        if entity.exists:
            twin = smaller.entity(f"{'node' if row.ends is None else 'edge'}:{row.type}", row.id)
            assert entity.properties == twin.properties, (text, row)
            if row.ends is None:
                assert _in_order(entity.edges()) == _in_order(twin.edges()), (text, row)
            assert [change.op for change in entity.history()] == ["insert"]
            assert len(entity.blame()) == len(entity.properties)
    _compare_places(whole, seen, smaller, rows, text, hidden)


def _compare_places(
    whole: og.Graph, seen: og.Graph, smaller: og.Graph, rows: list[Row], text: str, hidden: list[str]
) -> None:
    """Compare what a graph is at names of commits, on a fork, in plans, as blobs, and by stored queries."""
    head = whole.commits.list()[0]
    whole.queries.apply({"all.gq": QUERIES[1]})
    whole.tags.create("then")
    whole.mutate('query q() { delete Person where name != "" }')
    for place in ({"commit": head.id}, {"tag": "then"}, {"commit": "HEAD~2"}, {"version": head.version}):
        assert _ask(seen, QUERIES[0], seen.snapshot(**place)) == _ask(smaller, QUERIES[0]), (text, place)
        assert _in_order(seen.export(snapshot=seen.snapshot(**place))) == _in_order(smaller.export())
    then = seen.snapshot(timestamp=head.created_at)
    assert _ask(seen, QUERIES[0], then) == _ask(smaller, QUERIES[0]), text
    assert _ask(seen, QUERIES[0]) == []

    whole.branches.reset("main", "then")
    told, twin = (g.explain(QUERIES[3], analyze=True).to_json() for g in (seen, smaller))
    assert told["rows"] == twin["rows"] and told["statistics"] == twin["statistics"], text
    assert [step.get("rows") for step in told["plan"]] == [step.get("rows") for step in twin["plan"]], text
    assert _in_order(seen.run("q")) == _ask(smaller, QUERIES[1]), text
    if "Person.photo" not in hidden:
        for row in rows:
            if row.type == "Person":
                assert _blob(seen, row.id) == _blob(smaller, row.id), (text, row)

    # A commit is judged by the branch that it was made on, and by those that this one was forked from.
    whole.branches.create("fork", commit=head.id)
    on_fork = [row.record() for row in Oracle(text).visible(rows)]
    assert _in_order(_bare(seen.export(branch="fork"))) == _in_order(_bare(on_fork)), text
    new = Row("City", "on-fork", {})
    whole.load([new.record()], mode="append", branch="fork")
    on_fork = [row.record() for row in Oracle(text).visible([*rows, new], branches=("fork", "main"))]
    assert _in_order(_bare(seen.export(branch="fork"))) == _in_order(_bare(on_fork)), text
    whole.branches.delete("fork")


def _ask(graph: og.Graph, query: str, snapshot: Any = None) -> list[str]:
    """Return the rows of a query, or which error it is: one that names what is not seen."""
    try:
        return _in_order(graph.query(query, snapshot=snapshot))
    except og.OmniError as error:
        return [error.code, *(item.code for item in error.details.get("diagnostics", ()))]


def _blob(graph: og.Graph, name: str) -> bytes:
    try:
        return graph.blob("node", "Person", name, "photo").read()
    except og.OmniError as error:
        return error.code.encode()


def _bare(records: Any) -> list[dict[str, Any]]:
    """Return what records are of: types, and names or ids."""
    return [
        {
            "type": item.get("type") or item.get("edge"),
            "id": item["data"].get("name") or item["data"].get("id"),
        }
        for item in records
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_actor_changes_only_what_cedar_allows_before_and_after(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows, text = random_graph(rng), random_rows_text(rng)
    whole, seen = _open(tmp_path, rows, text)
    oracle = Oracle(text)

    for _ in range(6):
        reads = {(row.type, row.id) for row in oracle.visible(rows)}
        both = reads & {(row.type, row.id) for row in oracle.visible(rows, "change")}
        changed, affected = _random_change(rng, rows)
        after = {(row.type, row.id): row for row in changed}
        before = {(row.type, row.id): row for row in rows}
        touched = {key for key in before | after if before.get(key) != after.get(key)}
        now = {(row.type, row.id) for row in oracle.visible(changed)}
        now &= {(row.type, row.id) for row in oracle.visible(changed, "change")}
        # An edge comes into sight, or goes out of it, with its nodes.
        moved = both ^ now
        allowed = all(
            (key not in before or key in both) and (key not in after or key in now) for key in touched
        )
        allowed = allowed and moved <= touched
        if affected.kind != "insert" and ("Person", affected.id) not in reads:
            assert affected.run(seen) == 0, (text, affected)
            continue
        if allowed:
            affected.run(seen)
            rows = changed
        else:
            with pytest.raises(PolicyDenied):
                affected.run(seen)
        assert _in_order(whole.query(QUERIES[0])) == _in_order(_rows_of(rows)), (text, affected)


class _Change:
    """One mutation of one person."""

    def __init__(self, kind: str, id_: str, values: dict[str, Any]) -> None:
        self.kind, self.id, self.values = kind, id_, values

    def run(self, graph: og.Graph) -> int:
        """Run it; return how many nodes it affected."""
        if self.kind == "delete":
            text, params = "query m($n: String) { delete Person where name = $n }", {"n": self.id}
        elif self.kind == "update":
            text = (
                "query m($n: String, $r: String, $l: I64?) "
                "{ update Person set { region: $r, level: $l } where name = $n }"
            )
            params = {"n": self.id, "r": self.values["region"], "l": self.values["level"]}
        else:
            graph.load([Row("Person", self.id, self.values).record()], mode="append")
            return 1
        return graph.mutate(text, params).affected_nodes

    def __repr__(self) -> str:
        return f"{self.kind} {self.id} {self.values}"


def _random_change(rng: random.Random, rows: list[Row]) -> tuple[list[Row], _Change]:
    """Return what a graph would be after a change of a person, and the change."""
    people = [row for row in rows if row.type == "Person"]
    kind = rng.choice(("insert", "update", "update", "delete")) if people else "insert"
    if kind == "insert":
        new = Row("Person", f"q{len(rows)}-{rng.random()}", random_values(rng, "Person"))
        return [*rows, new], _Change(kind, new.id, dict(new.properties))
    one = rng.choice(people)
    if kind == "delete":
        left = [row for row in rows if row is not one and not _ends_at(row, one)]
        return left, _Change(kind, one.id, {})
    values = {"region": rng.choice(("eu", "us", "a*b")), "level": rng.choice((0, 1, 2, None))}
    properties = {**one.properties, **values}
    new = Row("Person", one.id, {name: value for name, value in properties.items() if value is not None})
    return [new if row is one else row for row in rows], _Change(kind, one.id, values)


def _ends_at(row: Row, node: Row) -> bool:
    return row.ends is not None and (node.type, node.id) in zip(ENDS[row.type], row.ends, strict=True)


def _open(folder: Path, rows: list[Row], text: str, hidden: Sequence[str] = ()) -> tuple[og.Graph, og.Graph]:
    whole = og.init(str(folder / "graph"), schema=SCHEMA)
    whole.load([row.record() for row in rows], mode="append")
    return whole, og.open(str(folder / "graph"), actor="act-ada", policy=gate_of(text, hidden))


def _rows_of(rows: list[Row]) -> list[dict[str, Any]]:
    names = ("at", "big", "bio", "day", "flag", "level", "region", "score", "small", "tags", "vec")
    return [
        {"p.name": row.id} | {f"p.{name}": row.properties.get(name) for name in names}
        for row in rows
        if row.type == "Person"
    ]


def _in_order(rows: Iterable[Any]) -> list[str]:
    return sorted(repr(sorted(row.items())) if isinstance(row, dict) else repr(row) for row in rows)


def _changes(changes: Iterable[Any]) -> list[str]:
    return sorted(
        repr((item.op, item.kind, item.type_name, item.id, item.before, item.after)) for item in changes
    )


def _blocks(graph: og.Graph) -> list[str]:
    page = graph.changes.poll(start="beginning")
    return _changes(change for block in page.blocks for change in block.changes)
