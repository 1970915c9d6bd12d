"""What long queries cost. Calls and pieces are counted: times say nothing on a shared machine."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.query.build import MAX_STAGES
from omnigraph.execution.write import write_overlay

SCHEMA = "node Item { name: String @key  n: I64? }"
STAGE = "with { $m } match { $m: Item }"
PART = " union match { $m: Item } return { $m.name }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Some items."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "Item", "data": {"name": f"i{at}", "n": at}} for at in range(100)], mode="append")
    return graph


def count_calls(graph: og.Graph, text: str) -> int:
    """Return how many Python functions a first read calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        assert len(graph.query(text).rows) == 100
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("before", "again", "after"),
    [("", STAGE, "return { $m.name }"), ("return { $m.name }", PART, "")],
    ids=["stages", "union"],
)
def test_a_read_of_many_parts_takes_calls_as_it_is_long(
    graph: og.Graph, before: str, again: str, after: str
) -> None:
    first, short, long = (
        f"query q() {{ match {{ $m: Item }} {before} {again * times} {after} }}" for times in (2, 30, 60)
    )
    count_calls(graph, first)  # with what is loaded once
    assert count_calls(graph, long) < 2.3 * count_calls(graph, short)


def test_a_read_of_too_many_stages_is_refused_by_a_typed_error(graph: og.Graph) -> None:
    text = "query q() {{ match {{ $m: Item }} {} return {{ $m.name }} }}"
    assert len(graph.query(text.format("with { $m } " * MAX_STAGES)).rows) == 100
    with pytest.raises(og.ResourceLimit, match=f"more than {MAX_STAGES} stages") as raised:
        graph.query(text.format("with { $m } " * 5000))
    assert raised.value.details["actual"] == 5000


def test_each_of_many_updates_goes_through_few_pieces(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []

    def evaluate(condition: Any, rows: pa.Table) -> Any:
        pieces.append(rows.column(0).num_chunks)
        return kept(condition, rows)

    kept = write_overlay.evaluate
    monkeypatch.setattr(write_overlay, "evaluate", evaluate)
    updates = (f'update Item set {{ n: n + 1 }} where name = "i{at}"' for at in range(100))
    assert graph.mutate(f"query q() {{ {' '.join(updates)} }}").affected_nodes == 100
    assert len(pieces) >= 200 and max(pieces) <= 2
