"""The memory that queries share is counted as it is: by numpy, Python and Arrow, within a factor."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.plan import used_variables as mentions
from omnigraph.execution.search.text import Postings
from omnigraph.storage.indexes import analyser

PEOPLE = 20_000
SCHEMA = """
node Person { name: String @key  n: I64  bio: String  near: Vector(32) }
edge Knows: Person -> Person
"""
QUERIES = {
    "columns": "match { $p: Person } return { $p.name, $p.n }",
    "words": 'match { $p: Person  search($p.bio, "word7") } return { $p.n }',
    "scores": 'match { $p: Person } return { $p.n } order { bm25($p.bio, "word7") } limit 3',
    "vectors": "match { $p: Person  nearest($p.near, $v) < 0.5 } return { count($p) as c }",
    "nearest": "match { $p: Person } return { $p.n } order { nearest($p.near, $v) } limit 3",
    "ranks": "match { $p: Person } return { $p.bio } order { $p.bio }",
    "neighbours": "match { $p: Person  $p knows{1,2} $q } return { count($q) as c }",
    "edges": "match { $p: Person  $p $k:knows $q } return { $k.from, $q.n }",
    "pairs": "match { $p: Person  $p knows $q  $q knows $p } return { count($p) as c }",
}


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    graph = og.init(tmp_path_factory.mktemp("cache") / "graph", SCHEMA)
    random = np.random.default_rng(7)
    numbers = np.arange(PEOPLE)
    names = [f"p{n}" for n in numbers]
    columns = {
        "name": names,
        "n": numbers,
        "bio": [f"word{n} of {n % 97} and word{n % 7}" for n in numbers],
        "near": pa.FixedSizeListArray.from_arrays(random.random(32 * PEOPLE).astype(np.float32), 32),
    }
    graph.load(pa.table(columns), type="Person", mode="append")
    far = [names[n] for n in random.integers(0, PEOPLE, 2 * PEOPLE)]
    graph.load(pa.table({"from": names * 2, "to": far}), type="Knows", mode="append")
    return graph.uri


def _ask(graph: og.Graph, name: str) -> None:
    vector = "$v: Vector(32)" if "$v" in QUERIES[name] else ""
    params = {"v": [1.0] * 32} if vector else None
    graph.query(f"query q({vector}) {{ {QUERIES[name]} }}", params, engine="local")


def _taken() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()


@pytest.mark.long
def test_what_is_counted_is_what_is_taken(uri: str) -> None:
    for name in QUERIES:
        _ask(og.open(uri, read_only=True), name)  # compiled queries and words are remembered elsewhere
    graph = og.open(uri, read_only=True)
    graph.query("query q() { match { $p: Person } return { count($p) as c } }")
    tracemalloc.start()
    try:
        before = _taken()
        for name in QUERIES:
            _ask(graph, name)
        taken = _taken() - before
    finally:
        tracemalloc.stop()
    counted = graph.reader.cached_bytes
    print(f"counted {counted:,}, taken {taken:,}")
    assert taken > 10_000_000
    assert 0.8 < counted / taken < 2
    graph.close()
    assert graph.reader.cached_bytes == 0


def test_words_and_marks_of_pairs_are_counted() -> None:
    words = Postings.of(pa.array([f"entirely{n}" for n in range(5_000)]))
    arrays = words.starts.nbytes + words.texts.nbytes + words.counts.nbytes + words.lengths.nbytes
    assert words.nbytes > arrays + 5_000 * 100, "a word in a dictionary takes more than a hundred bytes"
    near = np.arange(1000)
    pairs = Neighbours.distinct(near, near[::-1].copy(), 1000)
    before = pairs.nbytes
    pairs.contains(near, near)
    assert pairs.nbytes >= before + 1000 * (8 + 8)


def test_long_texts_and_large_parameters_are_not_remembered(uri: str) -> None:
    analyser._remembered.cache_clear()
    mentions.slots_of.cache_clear()
    assert analyser.tokens("Running dogs " * 1000)[:2] == ("run", "dog")
    assert analyser._remembered.cache_info().currsize == 0
    assert analyser.tokens("Running") == ("run",)
    assert analyser._remembered.cache_info().currsize == 1
    gq = """query q($t: String) { match { $p: Person  $p.n < 5  not { $p.bio = $t }
        optional { $p knows $q  $q.bio != $t } }
        return { count($p) as c } }"""
    graph = og.open(uri, read_only=True)
    graph.query(gq, {"t": "a"})
    known = mentions.slots_of.cache_info().currsize
    for text in ("b", "c", "d"):
        graph.query(gq, {"t": text * 100_000})
    assert mentions.slots_of.cache_info().currsize == known


def test_a_stream_that_is_left_lets_go_of_what_it_read(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_CACHE_BYTES", "1000")
    graph = og.open(uri, read_only=True)
    begun = iter(graph.stream("query q() { match { $p: Person } return { $p.name, $p.bio } }", batch_rows=10))
    assert next(begun).num_rows == 10
    assert graph.reader.cached_bytes <= 1000, "although the stream is still there"
    assert next(begun).num_rows == 10
    ranked = 'query q() { match { $p: Person } return { $p.n } order { bm25($p.bio, "word7") } limit 3 }'
    graph.stream(ranked)
    assert graph.reader.cached_bytes <= 1000, "although it was never begun"
