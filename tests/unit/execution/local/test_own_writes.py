"""A handle that has written, or has seen others write, reads what a process reads that has just started."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import MergeConflicts, ValidationError
from support.another_process import as_another_process

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String? }
node Club { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge In: Person -> Club
"""
CHANGED = SCHEMA.replace("bio: String?", 'about: String? @rename_from("bio")  height: F64?')
QUERIES = [
    "query q() { match { $a: Person } return { $a.name, $a.age } }",
    "query q() { match { $a: Person  $a knows $b } return { $a.name, $b.name, $b.age } }",
    "query q() { match { $a: Person  $a <knows> $b  $b <knows> $c } return { $a.name, count($c) as n } }",
    "query q() { match { $a: Person  $a $k:knows $b } return { $a.name, $b.name, $k.since } }",
    "query q() { match { $a: Person  $a in $c  $b in $c } return { $a.name, $b.name, $c.name } }",
    'query q() { match { $a: Person { name: "p3" }  $a knows $x  $x knows $b } '
    "return { count(distinct $b.name) as n } }",
    'query q() { match { $a: Person { name: "p5" }  $b knows $a } return { $b.name } }',
]
PEOPLE = 12


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_a_warm_handle_and_a_new_process_read_the_same_after_every_write(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    graph = og.init(tmp_path / "g", SCHEMA)
    people = [{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in range(PEOPLE)]
    clubs = [{"type": "Club", "data": {"name": f"c{n}"}} for n in range(3)]
    graph.load([*people, *clubs], mode="append")
    graph.branches.create("side")
    for step in range(40):
        branch = chance.choice(["main", "main", "side"])
        if chance.random() < 0.25:
            with as_another_process():
                _write(og.open(graph.uri), chance, branch, step)
        else:
            _write(graph, chance, branch, step)
        for read in ("main", "side"):
            with as_another_process():
                fresh = og.open(graph.uri, read_only=True)
                wanted = [_rows(fresh, query, read) for query in QUERIES]
            assert [_rows(graph, query, read) for query in QUERIES] == wanted, (seed, step, branch, read)


def _rows(graph: og.Graph, query: str, branch: str) -> list[str]:
    return sorted(map(str, graph.query(query, branch=branch).rows))


def _write(graph: og.Graph, chance: random.Random, branch: str, step: int) -> None:
    a, b, c = f"p{chance.randrange(PEOPLE)}", f"p{chance.randrange(PEOPLE)}", f"c{chance.randrange(3)}"

    def mutate(statement: str) -> None:
        graph.mutate(f"query m() {{ {statement} }}", branch=branch)

    kinds = ["connect"] * 3 + ["update"] * 3 + ["insert", "delete", "join", "disconnect", "load", "both"]
    match chance.choice([*kinds, "merge", "optimize", "schema", "again", "rebase", "reset", "revert"]):
        case "connect":
            _allow_missing(lambda: mutate(f'insert Knows {{ from: "{a}", to: "{b}", since: {step} }}'))
        case "update":
            mutate(f'update Person set {{ age: {step} }} where name = "{a}"')
        case "insert":
            mutate(f'insert Person {{ name: "q{step}", age: 1 }}')
        case "delete":
            mutate(f'delete Person where name = "{a}"')
        case "again":
            mutate(f'insert Person {{ name: "{a}", age: {step} }}')
        case "join":
            _allow_missing(lambda: mutate(f'insert In {{ from: "{a}", to: "{c}" }}'))
        case "disconnect":
            mutate(f'delete Knows where from = "{a}"')
        case "both":
            mutate(f'insert Person {{ name: "{a}" }}  update Person set {{ age: {step} }} where age < 3')
        case "load":
            rows = [{"type": "Person", "data": {"name": name, "age": step}} for name in {a, b}]
            graph.load([*rows, {"edge": "Knows", "from": a, "to": b}], mode="merge", branch=branch)
        case "merge":
            try:
                graph.branches.merge("side")
            except MergeConflicts:
                graph.branches.delete("side")
                graph.branches.create("side")
        case "rebase":
            with suppress(MergeConflicts):
                graph.branches.rebase("side")
        case "reset":
            graph.branches.reset(branch, chance.choice(graph.commits.list(branch)[:5]).id)
        case "revert":
            with suppress(MergeConflicts, ValidationError):
                graph.commits.revert(graph.commits.list(branch)[0].id, branch=branch)
        case "optimize":
            graph.optimize(branch)
        case "schema":
            graph.schema.apply(CHANGED)


def _allow_missing(write: Callable[[], None]) -> None:
    """Carry out a write whose ends may have been deleted."""
    with suppress(ValidationError):
        write()
