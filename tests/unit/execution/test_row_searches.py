"""A search with a text or vector of each row says of it what the same search with a constant says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.execution.local.steps import values

WIDTH = 13
SCHEMA = f"node Doc {{ key: String @key  body: String?  at: Vector({WIDTH})? }}"
DOCS = 40
WORDS = ("red", "Boats", "sailing", "the", "é", "of", "sea-salt", "boat", "RED")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Documents in several fragments, some of which were deleted, with NULL, blank, equal and zero values."""
    chance = np.random.default_rng(11)
    graph = og.init(tmp_path_factory.mktemp("rows") / "graph", SCHEMA)
    docs: list[dict[str, Any]] = []
    for n in range(DOCS):
        doc: dict[str, Any] = {"key": f"d{n:02}"}
        if n % 7:
            doc["body"] = " ".join(chance.choice(WORDS, n % 5).tolist())
        if n % 6:
            vector = chance.normal(size=WIDTH) * (n % 9 != 0) * (1e-30 if n % 5 == 0 else 1)
            doc["at"] = vector.astype(np.float32).tolist()
        docs.append(doc)
    for part in range(4):
        graph.load([{"type": "Doc", "data": doc} for doc in docs[part::4]], mode="append")
    for key in ("d03", "d17", "d22"):
        graph.mutate(f'query m() {{ delete Doc where key = "{key}" }}')
    return graph


SEARCHES = {
    "search($a.body, {0})": ("body", "String?"),
    "match_text($a.body, {0})": ("body", "String?"),
    "fuzzy($a.body, {0}, 1)": ("body", "String?"),
    "bm25($a.body, {0})": ("body", "String?"),
    "nearest($a.at, {0})": ("at", f"Vector({WIDTH})?"),
}


@pytest.mark.parametrize("piece", [1, 7, 1024])
@pytest.mark.parametrize("search", SEARCHES)
def test_each_row_has_the_value_of_a_constant(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, search: str, piece: int
) -> None:
    monkeypatch.setattr(values, "_PIECE_ROWS", piece)
    name, kind = SEARCHES[search]
    shown = search.format(f"$b.{name}")
    both = f"match {{ $a: Doc  $b: Doc }} return {{ $a.key as a, $b.key as b, {shown} as v }}"
    found = {(row["a"], row["b"]): row["v"] for row in graph.query(f"query q() {{ {both} }}")}
    assert len(found) == (DOCS - 3) ** 2
    assert len(set(map(str, found.values()))) > 2
    one = (
        f"query q($x: {kind}) {{ match {{ $a: Doc }} return {{ $a.key as a, {search.format('$x')} as v }} }}"
    )
    for doc in graph.query(f"query q() {{ match {{ $b: Doc }} return {{ $b.key as b, $b.{name} as x }} }}"):
        for row in graph.query(one, {"x": doc["x"]}):
            assert found[row["a"], doc["b"]] == row["v"], (row["a"], doc)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_row_without_the_other_has_no_value(graph: og.Graph, search: str) -> None:
    shown = search.format(f"$b.{SEARCHES[search][0]}")
    for pattern in (
        "$b: Doc  optional { $a: Doc { key: $none } }",
        "$a: Doc  optional { $b: Doc { key: $none } }",
    ):
        gq = f"query q($none: String) {{ match {{ {pattern} }} return {{ {shown} as v }} }}"
        assert graph.query(gq, {"none": "nobody"}).rows == [{"v": None}] * (DOCS - 3)
