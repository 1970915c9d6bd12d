"""What long queries cost. Calls and pieces are counted: times say nothing on a shared machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.query.build import MAX_STAGES
from omnigraph.execution.write import write_overlay
from support.counted_calls import count_calls

SCHEMA = "node Item { name: String @key  n: I64? }"
STAGE = "with { $m } match { $m: Item }"
PART = " union match { $m: Item } return { $m.name }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Some items."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "Item", "data": {"name": f"i{at}", "n": at}} for at in range(100)], mode="append")
    return graph


def count_calls_of(graph: og.Graph, text: str) -> int:
    """Return how many Python functions a first read calls."""
    found: list[og.Result] = []
    calls = count_calls(lambda: found.append(graph.query(text)))
    assert len(found[0].rows) == 100
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
    count_calls_of(graph, first)  # with what is loaded once
    assert count_calls_of(graph, long) < 2.3 * count_calls_of(graph, short)


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
