"""An end of an edge is compared with the key of its node as an insert names it, in reads and in `where`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node Day { on: Date @key }
node Hour { at: DateTime @key }
node Room { number: I32 @key }
node Name { name: String @key }
edge Next: Day -> Day
edge Starts: Day -> Hour
edge In: Day -> Room
edge Called: Day -> Name
"""
FIRST, SECOND, NOON = "2026-01-31", "2026-02-01", "2026-01-31T12:00:00Z"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with edges whose ends have keys of four types."""
    made = og.init(tmp_path / "graph", SCHEMA)
    nodes = [("Day", "on", FIRST), ("Day", "on", SECOND), ("Hour", "at", NOON), ("Room", "number", 7)]
    made.load([{"type": type_, "data": {name: key}} for type_, name, key in nodes], mode="append")
    made.load([{"type": "Name", "data": {"name": "2026-01-31"}}], mode="append")
    edges = [("Next", SECOND), ("Starts", NOON), ("In", 7), ("Called", "2026-01-31")]
    made.load([{"edge": edge, "from": FIRST, "to": to} for edge, to in edges], mode="append")
    return made


@pytest.mark.parametrize(
    ("edge", "where", "params"),
    [
        ("Next", 'from = date("2026-01-31")', {}),
        ("Next", 'from = "2026-01-31"', {}),
        ("Next", "from = $d", {"d": ("Date", FIRST)}),
        ("Next", "from = $d", {"d": ("String", FIRST)}),
        ("Next", 'to in [date("2026-02-01")]', {}),
        ("Next", "to in $d", {"d": ("[Date]", [FIRST, SECOND])}),
        ("Next", 'from in [$d, "2020-01-01"]', {"d": ("String", FIRST)}),
        ("Next", 'to in [$d, date("2020-01-01")]', {"d": ("Date", SECOND)}),
        ("Next", 'from != date("2026-02-01")', {}),
        ("Next", 'from = "20484"', {}),
        ("Starts", 'to = datetime("2026-01-31T12:00:00Z")', {}),
        ("Starts", "to = $t", {"t": ("DateTime", NOON)}),
        ("In", "to = 7", {}),
        ("In", 'to = "7"', {}),
        ("In", "to in $n", {"n": ("[I64]", [7, 2**40])}),
        ("Called", 'to = "2026-01-31"', {}),
    ],
)
def test_an_end_is_named_by_a_key(
    graph: og.Graph, edge: str, where: str, params: dict[str, tuple[str, Any]]
) -> None:
    declared = ", ".join(f"${name}: {type_}" for name, (type_, _) in params.items())
    given = {name: value for name, (_, value) in params.items()}
    condition = where.replace("from", "$e.from").replace("to ", "$e.to ")
    read = f"query q({declared}) {{ match {{ $a $e:{edge.lower()} $b  {condition} }} return {{ $e.id }} }}"
    assert len(graph.query(read, given)) == 1
    assert graph.mutate(f"query q({declared}) {{ delete {edge} where {where} }}", given).affected_edges == 1


@pytest.mark.parametrize(
    "where",
    ['from > date("2026-01-31")', "from = 7", 'from = "none"', 'not (from in [date("2026-01-31"), null])'],
)
def test_what_names_no_end_deletes_nothing(graph: og.Graph, where: str) -> None:
    try:
        assert graph.mutate(f"query q() {{ delete Next where {where} }}").affected_edges == 0
    except og.TypeCheckError as error:
        assert [problem.code for problem in error.diagnostics] == ["T7"]
    assert len(graph.query("query q() { match { $a next $b } return { $a } }")) == 1
