"""What a read costs that has run before. Python calls are counted: times say nothing on a shared machine."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from support.counted_calls import count_calls

SCHEMA = """
node Person { name: String @key  age: I64? }
edge Knows: Person -> Person { since: I64? }
"""
LOOK_UP = "query q($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
HOP = "query q($name: String) { match { $p: Person { name: $name }  $p knows $f } return { $f.name } }"


@pytest.mark.parametrize(("text", "most_calls"), [(LOOK_UP, 190), (HOP, 250)])
def test_a_repeated_read_takes_few_calls(tmp_path: Path, text: str, most_calls: int) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    people = [{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")]
    graph.load([*people, {"edge": "Knows", "from": "ada", "to": "bob"}], mode="append")
    for _ in range(3):
        assert len(graph.query(text, {"name": "ada"}).rows) == 1
    assert count_calls(lambda: graph.query(text, {"name": "ada"})) <= most_calls
