"""Problems tell the ids of the rows that they are about, not only in prose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  mail: String? @unique  age: I32?  @range(age, 0..150) }
node City { name: String @key }
edge Likes: Person -> City @card(0..1)
edge Lives: Person -> City @card(1..)
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph whose rules are about to be broken."""
    made = og.init(tmp_path / "graph", SCHEMA)
    people = [{"name": "ada", "mail": "a@x"}, {"name": "bob"}]
    made.load([{"type": "Person", "data": data} for data in people], mode="append")
    made.load([{"type": "City", "data": {"name": "Oslo"}}], mode="append")
    made.load([{"edge": "Likes", "from": "ada", "to": "Oslo", "data": {"id": "l1"}}], mode="append")
    made.load([{"edge": "Lives", "from": "ada", "to": "Oslo", "data": {"id": "v1"}}], mode="append")
    return made


def _problem(graph: og.Graph, statement: str) -> dict[str, Any]:
    with pytest.raises(og.ValidationError) as told:
        graph.mutate(f"query q() {{ {statement} }}")
    [problem] = told.value.details["problems"]
    return dict(problem)


@pytest.mark.parametrize(
    ("statement", "entity", "entities"),
    [
        ('insert Person { name: "cyd", mail: "a@x" }', "cyd", ["cyd", "ada"]),
        ('update Person set { mail: "a@x" } where name = "bob"', "bob", ["bob", "ada"]),
        ('insert Person { name: "x", mail: "m" } insert Person { name: "y", mail: "m" }', "y", ["y", "x"]),
        ('insert Person { name: "cyd", age: 151 }', "cyd", ["cyd"]),
        ('insert Likes { from: "ada", to: "Oslo" }', None, ["l1"]),
        ('delete Lives where from = "ada"', None, ["v1"]),
        ('insert Likes { from: "bob", to: "Rome" }', None, []),
    ],
)
def test_a_problem_has_the_ids_of_its_rows(
    graph: og.Graph, statement: str, entity: str | None, entities: list[str]
) -> None:
    problem = _problem(graph, statement)
    assert (problem["entity_id"], problem["entities"]) == (entity, entities)


def test_a_load_names_the_stored_rows_that_stand_in_the_way(graph: og.Graph) -> None:
    with pytest.raises(og.ValidationError) as told:
        graph.load([{"type": "Person", "data": {"name": "cyd", "mail": "a@x"}}], mode="append")
    [problem] = told.value.details["problems"]
    assert (problem["place"], problem["entity_id"], problem["entities"]) == ("record 1", None, ["ada"])
