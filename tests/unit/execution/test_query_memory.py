"""What the rows of a query take: texts, vectors and lists count, and are refused before they are made."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.ir.values import Constant
from omnigraph.execution.local import sizes
from omnigraph.execution.local.sizes import column_bytes, constant_bytes

NOTES, TEXT, WIDTH = 400, 50_000, 256
LIMIT = 100_000_000
SCHEMA = f"node Note {{ name: String @key  body: String?  n: I64  near: Vector({WIDTH})  tags: [String]? }}"


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Notes whose pairs have eight gigabytes of text."""
    graph = og.init(tmp_path_factory.mktemp("memory") / "graph", SCHEMA)
    columns = {
        "name": [f"n{n:03}" for n in range(NOTES)],
        "body": ["x" * TEXT if n % 2 else None for n in range(NOTES)],
        "n": list(range(NOTES)),
        "near": pa.FixedSizeListArray.from_arrays(np.ones(NOTES * WIDTH, dtype=np.float32), WIDTH),
        "tags": [["t" * 1000] * 20 for _ in range(NOTES)],
    }
    graph.load(pa.table(columns), type="Note", mode="append")
    return graph.uri


@pytest.fixture
def graph(uri: str, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    monkeypatch.setenv("OMNIGRAPH_QUERY_BYTES", str(LIMIT))
    return og.open(uri, read_only=True)


def _refused(graph: og.Graph, gq: str, **params: Any) -> dict[str, Any]:
    """Return the facts of a refusal; neither Arrow nor numpy has taken much on the way."""
    graph.query("query q() { match { $a: Note } return { $a.body, $a.near, $a.tags, $a.n } }")
    arrow = pa.default_memory_pool()
    before = arrow.max_memory()
    tracemalloc.start()
    try:
        with pytest.raises(og.ResourceLimit) as caught:
            graph.query(gq, params, engine="local")
        assert tracemalloc.get_traced_memory()[1] < LIMIT / 2
    finally:
        tracemalloc.stop()
    assert arrow.max_memory() - before < LIMIT / 2
    assert len(graph.query("query q() { match { $a: Note } return { $a.body } }")) == NOTES
    return caught.value.details


@pytest.mark.parametrize(
    "shown",
    [
        "{ $a.body }",
        "{ $a.n, $b.body as other } order { $a.n, $b.n }",
        "{ $a.near }",
        "{ $a.tags }",
        "{ $a.n, collect($b.body) as bodies }",
    ],
)
def test_pairs_of_large_values_are_refused_before_they_are_made(graph: og.Graph, shown: str) -> None:
    facts = _refused(graph, f"query q() {{ match {{ $a: Note  $b: Note }} return {shown} }}")
    wide = {"near": NOTES**2 * WIDTH * 4, "tags": NOTES**2 * 20_000}
    expected = next((size for name, size in wide.items() if name in shown), NOTES**2 * TEXT / 2)
    if facts["resource"] == "query_bytes":
        assert facts["limit"] == LIMIT
        assert 0.9 * expected < facts["actual"] < 1.3 * expected
    else:
        assert facts["resource"] == "column_size"
        assert facts["actual"] == expected


def test_a_long_parameter_in_every_row_is_refused_before_it_is_repeated(graph: og.Graph) -> None:
    gq = "query q($t: String) { match { $a: Note  $b: Note } return { $a.n, $t as text } }"
    assert _refused(graph, gq, t="y" * 10_000)["actual"] > 1_600_000_000


def test_few_rows_with_large_values_count_when_they_are_there(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_BYTES", "1000000")
    graph = og.open(uri, read_only=True)
    gq = "query q() { match { $a: Note  $a.n < 100 } return { $a.body } }"
    with pytest.raises(og.ResourceLimit):
        graph.query(gq)
    assert len(graph.query(gq.replace("100", "10"))) == 10


def test_a_stream_needs_memory_for_one_batch(graph: og.Graph) -> None:
    gq = "query q() { match { $a: Note  $b: Note } return { $a.body, $b.n } }"
    batches = iter(graph.stream(gq, batch_rows=1000))
    assert [next(batches).num_rows for _ in range(5)] == [1000] * 5
    with pytest.raises(og.ResourceLimit):
        next(iter(graph.stream(gq, batch_rows=100_000)))


def test_a_product_that_is_collected_is_refused_before_it_is_repeated(graph: og.Graph) -> None:
    pattern = "$a: Note  $b: Note  $c: Note  $d: Note"
    facts = _refused(graph, f"query q() {{ match {{ {pattern} }} return {{ collect($a.n) as all }} }}")
    assert facts["resource"] == "column_size"
    assert facts["actual"] == NOTES**4


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.list_(pa.int64()), pa.int32(), pa.bool_()]
)
def test_sizes_told_before_are_those_of_the_column(
    kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "_CHUNK_ROWS", 7)
    plain: list[Any] = [None if n % 5 == 0 else n for n in range(100)]
    if pa.types.is_list(kind):
        plain = [None if n is None else [n] * n for n in plain]
    elif not pa.types.is_integer(kind):
        plain = [None if n is None else n % 2 == 0 if pa.types.is_boolean(kind) else "é" * n for n in plain]
    column = pa.array([*plain, *plain], kind).slice(50, 100)
    positions = np.arange(0, 100, 3)
    made = column.take(pa.array(positions))
    told = column_bytes(column, positions)
    assert 0.6 * made.nbytes <= told <= 1.5 * made.nbytes + 64


def test_the_size_of_a_repeated_constant_is_that_of_its_bytes() -> None:
    from omnigraph.compiler.types import PropertyType, Scalar

    text = Constant("éé", PropertyType(Scalar.STRING))
    assert constant_bytes(text, 10) == 80


def test_a_text_of_each_row_is_scored_without_keeping_the_scores_of_all_others(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node Note { name: String @key  body: String }")
    count = 2_000
    columns = {"name": [f"n{n}" for n in range(count)], "body": [f"dog word{n}" for n in range(count)]}
    graph.load(pa.table(columns), type="Note", mode="append")
    gq = """query q() { match { $a: Note { name: "n1" }  $b: Note }
    return { $b.name as b, bm25($a.body, $b.body) as s } order { s desc } limit 2 }"""
    first = graph.query(gq).rows
    tracemalloc.start()
    try:
        assert graph.query(gq).rows == first
        assert tracemalloc.get_traced_memory()[1] < 500 * count
    finally:
        tracemalloc.stop()
    assert first[0]["b"] == "n1" and first[0]["s"] > first[1]["s"] > 0
