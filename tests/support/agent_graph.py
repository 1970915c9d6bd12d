"""A small graph whose stored queries are tools, and what agents may do to it."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I64? }
edge Knows: Person -> Person
"""
QUERIES = """
// Who is so old.
query of_age($age: I64) { match { $p: Person { age: $age } } return { $p.name, $p.age } order { $p.name } }

// Adds a person.
query add_person($name: String, $branch: String?) { insert Person { name: $name } }

query nameless() { match { $p: Person { name: "" } } return { $p.name } }
"""
PEOPLE = "query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"


def make_graph(folder: Path) -> og.Graph:
    graph = og.init(folder, SCHEMA, actor="act-ada")
    graph.load(
        [{"type": "Person", "data": {"name": name, "age": 36}} for name in ("ada", "bob")], mode="append"
    )
    graph.mutate('query q() { insert Knows { from: "ada", to: "bob" } }')
    graph.queries.apply({"people.gq": QUERIES})
    return graph
