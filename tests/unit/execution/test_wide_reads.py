"""A first read of many columns scans each fragment once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from support.another_process import as_another_process

COLUMNS = 40
SCHEMA = (
    "node P { k: String @key\n" + "\n".join(f"c{n}: I64?" for n in range(COLUMNS)) + "\n}\nedge E: P -> P"
)
RETURNED = ", ".join(f"$p.c{n}" for n in range(COLUMNS))
ALL = f"query q() {{ match {{ $p: P }} return {{ $p.k, {RETURNED} }} order {{ $p.k }} }}"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    with as_another_process():
        for start in (0, 10):
            rows = [
                {"k": f"{k:02}", **{f"c{n}": k * n for n in range(COLUMNS)}} for k in range(start, start + 10)
            ]
            graph.load([{"type": "P", "data": row} for row in rows], mode="append")
        graph.mutate('query q() { delete P where k = "03" }')
    return graph


def scans(graph: og.Graph, text: str, rows: int) -> int:
    with telemetry.measure() as counts:
        found = graph.query(text)
    assert len(found) == rows
    assert all(row[f"p.c{n}"] == int(row["p.k"]) * n for row in found for n in range(COLUMNS))
    return counts.as_dict().get("tables.columns", 0)


def test_columns_are_read_together(graph: og.Graph) -> None:
    fresh = og.open(graph.uri)
    assert scans(fresh, ALL, 19) <= 6, (
        "of two fragments: the key for the order, the id for ties, and the rest"
    )
    assert scans(fresh, ALL, 19) == 0


def test_a_stream_reads_them_together_too(graph: og.Graph) -> None:
    fresh = og.open(graph.uri)
    with telemetry.measure() as counts:
        batches = list(
            fresh.stream(f"query q() {{ match {{ $p: P }} return {{ {RETURNED} }} }}", batch_rows=5)
        )
    assert sum(batch.num_rows for batch in batches) == 19
    assert counts.as_dict()["tables.columns"] <= 2


def test_what_is_in_memory_already_is_not_read_again(graph: og.Graph) -> None:
    fresh = og.open(graph.uri)
    some = ", ".join(f"$p.c{n}" for n in range(COLUMNS // 2))
    fresh.query(f"query q() {{ match {{ $p: P }} return {{ {some} }} }}")
    assert scans(fresh, ALL, 19) <= 6
    fresh.mutate('query q() { insert P { k: "20" } }')
    found = fresh.query(ALL)
    assert (len(found), found[-1]["p.k"], found[-1]["p.c5"]) == (20, "20", None)


def test_rows_that_storage_finds_are_read_together(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.execution.plan.access.LARGE_TABLE_ROWS", 1)
    graph.optimize()
    fresh = og.open(graph.uri)
    one = f'query q() {{ match {{ $p: P {{ k: "07" }} }} return {{ $p.k, {RETURNED} }} }}'
    with telemetry.measure() as counts:
        found: Any = fresh.query(one).first()
    assert [found[f"p.c{n}"] for n in range(COLUMNS)] == [7 * n for n in range(COLUMNS)]
    assert counts.as_dict().get("tables.columns", 0) + counts.as_dict().get("tables.takes", 0) <= 2
