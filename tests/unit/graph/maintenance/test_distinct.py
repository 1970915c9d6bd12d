"""How many values properties have: estimated by maintenance, carried by commits, shown and used by plans."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.graph.publish.plan import WrittenTable
from omnigraph.storage.namespace import Pin
from omnigraph.storage.tables import distinct

SCHEMA = "node Person { name: String @key  city: String @index  age: I32?  tier: enum(a, b) }"
QUERY = 'query q() { match { $p: Person { city: "c1" } } return { $p.name } }'


def _people(first: int, end: int) -> list[dict[str, object]]:
    return [
        {"type": "Person", "data": {"name": f"p{n}", "city": f"c{n % 4}", "age": n % 7, "tier": "a"}}
        for n in range(first, end)
    ]


def test_maintenance_counts_values_and_later_commits_carry_them(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(_people(0, 200), mode="append")
    assert "values:" not in str(graph.explain(QUERY))
    graph.optimize()
    assert "values: node:Person.city 4\n" in str(graph.explain(QUERY))
    assert "(about 50 rows)" in str(graph.explain(QUERY))
    assert graph.explain(QUERY).to_json()["values"] == {"node:Person.city": 4}
    graph.load(_people(200, 300), mode="append")
    assert "(about 75 rows)" in str(graph.explain(QUERY))
    assert "(about 75 rows)" in str(og.open(tmp_path / "g", read_only=True).explain(QUERY))
    assert len(graph.query(QUERY)) == 75


@pytest.mark.parametrize(
    ("values", "low", "high"), [(10, 10, 10), (5_000, 4_900, 7_000), (90_000, 30_000, 90_000)]
)
def test_a_sample_tells_few_values_from_many(tmp_path: Path, values: int, low: int, high: int) -> None:
    numbers = np.random.default_rng(1).integers(0, values, 90_000)
    if values == 90_000:
        numbers = np.arange(90_000)
    dataset = lance.write_dataset(
        pa.table({"n": numbers, "none": pa.nulls(90_000, pa.int32())}), tmp_path / "t"
    )
    found = distinct.estimate_distinct(dataset, ["n", "none"])
    assert low <= found["n"] <= high and found["none"] == 0


def test_a_table_without_numbers_of_its_own_keeps_those_from_before() -> None:
    written = WrittenTable("node:P", "nodes/p", Pin(2, "x"), 5, 1, distinct={"age": 3})
    first = written.entry("c1")
    assert first.distinct == {"age": 3} and type(first).from_json(first.to_json()) == first
    later = WrittenTable("node:P", "nodes/p", Pin(3, "y"), 6, 1).entry("c2", first)
    assert later.distinct == {"age": 3}
    assert len(WrittenTable("node:P", "nodes/p", Pin(3, "y"), 6, 1).entry("c2").to_json()) == 7
