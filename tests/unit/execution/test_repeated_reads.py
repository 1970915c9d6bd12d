"""What a read costs that has run before. Python calls are counted: times say nothing on a shared machine."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.execution.local.cache import fragment_cache
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


WRITES = {
    "an edge": 'insert Knows { from: "ada", to: "p7" }',
    "an update": 'update Person set { age: 1 } where name = "ada"',
    "a node": 'insert Person { name: "new" }',
}


@pytest.mark.parametrize(
    ("write", "most_calls"), [("an edge", 1_090), ("an update", 1_230), ("a node", 1_100)]
)
def test_the_first_read_after_a_small_write_takes_few_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, most_calls: int
) -> None:
    monkeypatch.setattr(fragment_cache, "_LARGE_FRAGMENT_ROWS", 20)  # the rows that are loaded are many
    graph = og.init(tmp_path / "graph", SCHEMA)
    people = [{"type": "Person", "data": {"name": name}} for name in ("ada", *(f"p{n}" for n in range(50)))]
    follows = [{"edge": "Knows", "from": "ada", "to": f"p{n}"} for n in range(50)]
    graph.load([*people, *follows], mode="append")
    for earlier in WRITES.values():  # so that there are small fragments in both tables
        graph.mutate(f"query m() {{ {earlier} }}")
        graph.query(HOP, {"name": "ada"})
    graph.query(HOP, {"name": "ada"})
    graph.mutate(f"query m() {{ {WRITES[write].replace('new', 'newer')} }}")
    assert count_calls(lambda: graph.query(HOP, {"name": "ada"})) <= most_calls
