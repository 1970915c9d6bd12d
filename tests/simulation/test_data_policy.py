"""Random policies and graphs: what an actor reads and writes is what Cedar allows row by row.

`OMNIGRAPH_EXAMPLES=100` compares a thousand of them; `OMNIGRAPH_POLICY_SEED` says from which seed on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
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
    random_rows_text,
    random_values,
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
)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_actor_sees_the_graph_that_has_only_the_rows_that_cedar_allows(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows, text = random_graph(rng), random_rows_text(rng)
    whole, seen = _open(tmp_path, rows, text)
    there = Oracle(text).visible(rows)
    smaller = og.init(str(tmp_path / "smaller"), schema=SCHEMA)
    smaller.load([row.record() for row in there], mode="append")

    for query in QUERIES:
        assert _in_order(seen.query(query)) == _in_order(smaller.query(query)), (text, query)
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
        return
    assert _changes(seen.commits.changes("main").changes) == _changes(smaller.commits.changes("main").changes)
    assert _blocks(seen) == _blocks(smaller)
    assert _in_order(seen.changes.baseline())[1:] == _in_order(smaller.changes.baseline())[1:]
    for row in rows:
        entity = seen.entity(f"{'node' if row.ends is None else 'edge'}:{row.type}", row.id)
        assert entity.exists == (row in there), (text, row)
        if entity.exists:
            assert [change.op for change in entity.history()] == ["insert"]
            assert len(entity.blame()) == len(entity.properties)


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


def _open(folder: Path, rows: list[Row], text: str) -> tuple[og.Graph, og.Graph]:
    whole = og.init(str(folder / "graph"), schema=SCHEMA)
    whole.load([row.record() for row in rows], mode="append")
    return whole, og.open(str(folder / "graph"), actor="act-ada", policy=gate_of(text))


def _rows_of(rows: list[Row]) -> list[dict[str, Any]]:
    names = ("at", "big", "bio", "day", "flag", "level", "region", "score", "small", "tags")
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
