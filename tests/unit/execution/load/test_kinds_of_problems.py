"""A refused load tells all kinds of its problems at once, however many there are of the first kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.graph.write.integrity.problems import Problem, select_shown

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique }
node Place { name: String @key }
edge Knows: Person -> Person
edge Near: Place -> Place
"""


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def rules_of(graph: og.Graph, records: list[dict[str, Any]], mode: Any = "append") -> list[tuple[str, str]]:
    with pytest.raises(og.ValidationError) as caught:
        graph.load(records, mode=mode)
    assert len(caught.value.problems) <= 20
    return sorted({(problem["rule"], problem["type"]) for problem in caught.value.problems})


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load([person("ada", mail="a@x")], mode="append")
    return made


def test_wrong_values_and_what_is_wrong_between_records_are_told_together(graph: og.Graph) -> None:
    records = [
        *(person(f"p{number}", age="old") for number in range(50)),
        person("ada"),
        person("bob", mail="b@x"),
        person("cyd", mail="b@x"),
        {"edge": "Near", "from": "here", "to": "there"},
        {"type": "Robot", "data": {}},
    ]
    assert rules_of(graph, records) == [
        ("endpoint", "Near"),
        ("key", "Person"),
        ("record", ""),
        ("type", "Person"),
        ("unique", "Person"),
    ]
    assert rules_of(graph, records, "merge") == [
        ("endpoint", "Near"),
        ("record", ""),
        ("type", "Person"),
        ("unique", "Person"),
    ]
    assert graph.snapshot().version == 2


def test_clashing_ids_hide_nothing_else(graph: og.Graph) -> None:
    records = [person("ada"), person("bob", mail="b@x"), person("cyd", mail="b@x")]
    records.append({"edge": "Knows", "from": "bob", "to": "nobody"})
    assert rules_of(graph, records) == [("endpoint", "Knows"), ("key", "Person"), ("unique", "Person")]


def test_what_only_follows_from_a_refused_record_is_not_told(graph: og.Graph) -> None:
    records = [person("bob", age="old"), {"edge": "Knows", "from": "bob", "to": "ada"}]
    assert rules_of(graph, records) == [("type", "Person")]


def test_one_of_each_kind_is_shown_before_more_of_the_first() -> None:
    many = [Problem("type", "Person", f"m{number}") for number in range(9)]
    rare = Problem("key", "Person", "rare")
    assert select_shown([*many, rare], 3) == [many[0], many[1], rare]
    assert select_shown([rare, *many], 3) == [rare, *many[:2]]
    assert select_shown(many, 20) == many
