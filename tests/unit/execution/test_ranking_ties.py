"""Equal scores: later sort keys choose among them wherever a page ends, and an index changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.execution.plan import access
from omnigraph.execution.search.vectors import VectorIndex, Vectors

SCHEMA = """
node Doc { key: String @key  weight: I32  body: String  at: Vector(2) }
node Topic { name: String @key  size: I32 }
edge About: Doc -> Topic
"""
SCORES = ('bm25($d.body, "fox")', "nearest($d.at, [1, 0])")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Six documents that any search finds equal, each about a topic of its own."""
    graph = og.init(tmp_path_factory.mktemp("ties") / "graph", SCHEMA)
    rows: list[dict[str, Any]] = []
    for n in range(6):
        data = {"key": f"d{n}", "weight": n, "body": "fox", "at": [1, 0]}
        rows += [{"type": "Doc", "data": data}, {"type": "Topic", "data": {"name": f"t{n}", "size": n % 3}}]
    rows += [{"edge": "About", "from": f"d{n}", "to": f"t{n}"} for n in range(6)]
    graph.load(rows, mode="append")
    return graph


def _keys(graph: og.Graph, rest: str, optimise: bool, pattern: str = "$d: Doc", **params: Any) -> list[str]:
    declared = "$v: Vector(24)" if params else ""
    text = f"query q({declared}) {{ match {{ {pattern} }} return {{ $d.key as key }} {rest} }}"
    return [row["key"] for row in graph.query(text, params, optimise=optimise).rows]


@pytest.mark.parametrize("optimise", [True, False])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("later", ["$d.weight desc", "$t.size desc, $d.weight", "$t.size, $t.name desc"])
def test_a_page_is_a_part_of_the_whole_order(graph: og.Graph, score: str, later: str, optimise: bool) -> None:
    pattern = "$d: Doc  $d about $t"
    whole = _keys(graph, f"order {{ {score}, {later} }} limit 6", optimise, pattern)
    assert sorted(whole) == [f"d{n}" for n in range(6)]
    for first in range(6):
        for size in range(4):
            page = f"order {{ {score}, {later} }} skip {first} limit {size}"
            assert _keys(graph, page, optimise, pattern) == whole[first : first + size]


@pytest.mark.parametrize("optimise", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_the_next_key_chooses_the_first_of_equal_scores(graph: og.Graph, score: str, optimise: bool) -> None:
    assert _keys(graph, f"order {{ {score}, $d.weight desc }} limit 2", optimise) == ["d5", "d4"]
    assert _keys(graph, f"order {{ {score} }} limit 2", optimise) == ["d0", "d1"]


@pytest.mark.parametrize("optimise", [True, False])
def test_the_next_key_chooses_among_equal_fused_scores(tmp_path: Path, optimise: bool) -> None:
    graph = og.init(
        tmp_path / "graph", "node Doc { key: String @key  weight: I32  body: String  at: Vector(2)? }"
    )
    docs = [
        {"key": "a", "weight": 1, "body": "fox"},
        {"key": "b", "weight": 2, "body": "dog", "at": [1, 0]},
    ]
    graph.load([{"type": "Doc", "data": data} for data in docs], mode="append")
    fused = f"rrf({', '.join(SCORES)})"
    assert _keys(graph, f"order {{ {fused}, $d.weight desc }} limit 1", optimise) == ["b"]
    assert _keys(graph, f"order {{ {fused}, $d.weight }} limit 1", optimise) == ["a"]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Many documents, the 300 last ones of which have one vector, written in the reverse of their order."""
    graph = og.init(
        tmp_path_factory.mktemp("index") / "graph", "node Doc { key: String @key  at: Vector(24) @index }"
    )
    chance = np.random.default_rng(3)
    vectors = np.concatenate([chance.normal(size=(700, 24)), np.tile(_one(), (300, 1))]).astype(np.float32)
    keys = [f"r{n:03}" for n in range(700)] + [f"t{n:03}" for n in reversed(range(300))]
    flat = pa.FixedSizeListArray.from_arrays(vectors.reshape(-1), 24)
    graph.load(pa.table({"key": keys, "at": flat}), type="Doc", mode="append")
    assert graph.optimize().pending_indexes == ()
    return graph


def _one() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(4).normal(size=24).astype(np.float32)


@pytest.mark.parametrize("order", ["", ", $d.key", ", $d.key desc"])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 0.0])
def test_ties_are_the_same_through_a_vector_index(
    indexed: og.Graph, monkeypatch: pytest.MonkeyPatch, order: str, scale: float
) -> None:
    monkeypatch.setattr(access, "LARGE_TABLE_ROWS", 100)
    asked = (_one() * scale).tolist()
    for page in ("limit 5", "skip 100 limit 5", "skip 298 limit 4", "limit 0"):
        rest = f"order {{ nearest($d.at, $v){order} }} {page}"
        opened = og.open(indexed.uri, read_only=True)
        found = _keys(opened, rest, True, v=asked)
        assert found == _keys(opened, rest, False, v=asked)
        if scale and not order and page == "skip 100 limit 5":
            assert found == ["t100", "t101", "t102", "t103", "t104"]


@pytest.mark.parametrize("width", [2, 33, 100, 768])
def test_equal_vectors_are_equally_far_wherever_they_stand(width: int) -> None:
    chance = np.random.default_rng(width)
    one, query = chance.normal(size=width).astype(np.float32), tuple(chance.normal(size=width).tolist())
    flat = pa.array(np.tile(one, 1001))
    index = VectorIndex([Vectors(pa.FixedSizeListArray.from_arrays(flat, width))])
    alone = index.distances(np.array([500]), query)[0]
    for count in (2, 3, 7, 21, 1001):
        assert set(index.distances(np.arange(count), query).tolist()) == {alone}


def test_two_rankings_of_one_property_are_two_steps(graph: og.Graph) -> None:
    text = """query q($a: String, $b: String) { match { $d: Doc } return { $d.key as key }
    order { rrf(bm25($d.body, $a), bm25($d.body, $b)) } limit 3 }"""
    told = graph.explain(text, {"a": "fox", "b": "dog"}, analyze=True)
    ranked = [line for line in str(told).splitlines() if "bm25" in line and "rrf" not in line]
    assert "$a" in ranked[0] and "; 3 rows" in ranked[0]
    assert "$b" in ranked[1] and "; 0 rows" in ranked[1]


@pytest.mark.parametrize("k", [2**63 - 1, 2**63 - 2, 2**53, 1])
def test_the_largest_k_of_a_fusion_still_gives_scores(graph: og.Graph, k: int) -> None:
    score = "rrf(nearest($d.at, [1, 0]), nearest($d.at, [0, 1]), $k)"
    text = f"""query q($k: I64) {{ match {{ $d: Doc }} return {{ $d.key as key, {score} as score }}
    order {{ {score} }} limit 3 }}"""
    found = graph.query(text, {"k": k}).rows
    assert [row["key"] for row in found] == ["d0", "d1", "d2"]
    assert [row["score"] for row in found] == [
        pytest.approx(2 / (k + at), rel=1e-12, abs=0) for at in (1, 2, 3)
    ]
