"""What is recorded for the test of power cuts: one of every kind of write, each acknowledged by a mark."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import omnigraph as og
from support.recorder import mark

SCHEMA = """
node Person {
    name: String @key
    age: I64?
}
edge Knows: Person -> Person
"""
WIDER = SCHEMA.replace("age: I64?", "age: I64?\n    city: String?")
State = dict[str, Any]
"""What a graph says: by branch, its rows and its commits; by tag, its commit; queries and proposals."""


def state_of(graph: Any) -> State:
    """Return what a graph says."""
    branches = {}
    for name in graph.branches.list():
        seen = graph.snapshot(name)
        rows = {info.key: _rows(seen.table(info.key).scan()) for info in seen.tables}
        branches[name] = (rows, [commit.id for commit in graph.commits.list(name)])
    return {
        "branches": branches,
        "tags": {tag.name: tag.commit for tag in graph.tags.list()},
        "queries": [query.name for query in graph.queries.list()],
        "proposals": {item.id: item.state for item in graph.proposals.list()},
    }


def _rows(table: Any) -> list[str]:
    return sorted(str(sorted(row.items())) for row in table.to_pylist())


def steps(graph: Any, folder: Path) -> dict[str, Callable[[], object]]:
    """Return every kind of write, in an order in which they can be made."""
    people = "".join(f'{{"type": "Person", "data": {{"name": "p{n}", "age": {n}}}}}\n' for n in range(40))
    file = folder / "people.ndjson"
    file.write_text(people)
    return {
        "insert": lambda: graph.mutate(
            'query q() { insert Person { name: "ada", age: 1 } insert Person { name: "bob", age: 2 } '
            'insert Knows { from: "ada", to: "bob" } }'
        ),
        "load": lambda: graph.load(file, mode="append"),
        "update": lambda: graph.mutate('query q() { update Person set { age: 5 } where name = "ada" }'),
        "delete": lambda: graph.mutate('query q() { delete Person where name = "p3" }'),
        "branch": lambda: graph.branches.create("work"),
        "on a branch": lambda: graph.mutate(
            'query q() { insert Person { name: "eve", age: 9 } }', branch="work"
        ),
        "meanwhile": lambda: graph.mutate('query q() { insert Person { name: "joe", age: 8 } }'),
        "merge": lambda: graph.branches.merge("work", into="main"),
        "tag": lambda: graph.tags.create("v1"),
        "schema": lambda: graph.schema.apply(WIDER),
        "optimize": graph.optimize,
        "delete branch": lambda: graph.branches.delete("work"),
        "another branch": lambda: graph.branches.create("side"),
        "on that branch": lambda: graph.mutate(
            'query q() { insert Person { name: "sue", age: 7 } }', branch="side"
        ),
        "rename": lambda: graph.branches.rename("side", "late"),
        "queries": lambda: graph.queries.apply(
            {"all": "query all() { match { $p: Person } return { $p.name } }"}
        ),
        "protect": lambda: graph.branches.protect("main", approvals=0),
        "propose": lambda: graph.proposals.create("late", title="late"),
        "merge what is proposed": lambda: graph.proposals.merge(graph.proposals.list()[0].id),
        "unprotect": lambda: graph.branches.unprotect("main"),
        "cleanup": lambda: graph.cleanup(keep=3),
        "after": lambda: graph.mutate('query q() { insert Person { name: "zoe", age: 3, city: "Rome" } }'),
    }


def main(root: str, fsync: str, output: str) -> None:
    """Make a graph and every kind of write, and store what the graph said after each."""
    graph = og.init(root, SCHEMA, storage_options={"fsync": fsync})
    states = [("init", state_of(graph))]
    mark("0")
    for name, act in steps(graph, Path(output).parent).items():
        act()
        mark(str(len(states)))
        states.append((name, state_of(graph)))
    Path(output).write_bytes(pickle.dumps(states))


if __name__ == "__main__":
    main(*sys.argv[1:])
