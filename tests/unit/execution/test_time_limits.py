"""A limit of time is looked at inside every long step, and ends it there: shown by a clock that counts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import omnigraph as og
from omnigraph.base import cancellation as checkpoints
from omnigraph.base import clock
from omnigraph.execution.local import exact_sums, sorting
from omnigraph.execution.local.cache.snapshot_cache import Memory
from omnigraph.execution.local.steps import expand as hops
from omnigraph.execution.local.steps import search_hops, values
from omnigraph.execution.search import text, vectors

PEOPLE = 3_000
CHUNK = 100
SCHEMA = """
node Person { name: String @key  n: I64  weight: F64  bio: String  near: Vector(4) }
edge Knows: Person -> Person
"""
STEPS = {
    "filter": 'match { $p: Person  $p.n >= 10  $p.bio contains "9" } return { count($p) as c }',
    "sort by texts": "match { $p: Person } return { $p.n } order { $p.bio, $p.n desc }",
    "sort by numbers": "match { $p: Person } return { $p.name } order { $p.weight desc }",
    "group": "match { $p: Person } return { $p.bio, count($p) as c, sum($p.weight) as s }",
    "collect": "match { $p: Person } return { $p.weight, collect($p.name) as names }",
    "distinct": "match { $p: Person } return distinct { $p.bio, $p.weight }",
    "words": 'match { $p: Person  search($p.bio, "word7") } return { $p.n }',
    "near words": 'match { $p: Person  fuzzy($p.bio, "word7", 1) } return { count($p) as c }',
    "bm25": 'match { $p: Person } return { $p.n } order { bm25($p.bio, "word7 word8") } limit 5',
    "vectors": "match { $p: Person } return { $p.n } order { nearest($p.near, [1, 2, 3, 4]) } limit 5",
    "ranks": "match { $p: Person } return { $p.n } "
    'order { rrf(nearest($p.near, [1, 2, 3, 4]), bm25($p.bio, "word1 word2 word3")) } limit 2999',
    "distances": "match { $p: Person  nearest($p.near, [1, 2, 3, 4]) < 0.5 } return { count($p) as c }",
    "adjacency": "match { $p: Person  $p knows $q } return { count(distinct $q) as c }",
    "edges of a pair": "match { $p: Person  $p knows $q  $q knows $p } return { count($p) as c }",
    "several hops": "match { $p: Person  $p.n < 9  $p knows{1,4} $q } return { count($q) as c }",
    "between": "match { $p: Person { n: 1 }  $q: Person { n: 2 }  $p knows{1,9} $q as $d } return { $d }",
    "nearest pairs": "match { $p: Person  $p knows $q } return { $p.n } "
    "order { nearest($p.near, $q.near) } limit 5",
    "stream": "match { $p: Person  $q: Person  $q.n < 3 } return { $p.name, $q.bio }",
}


class Counting(clock.Clock):
    """Stands still, counts how often it is looked at, and is far in the future after some looks."""

    def __init__(self) -> None:
        self.looks = 0
        self.ends_after = 1 << 62

    def monotonic(self) -> float:
        self.looks += 1
        return 1e9 if self.looks > self.ends_after else 0.0


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    graph = og.init(tmp_path_factory.mktemp("time") / "graph", SCHEMA)
    numbers = np.arange(PEOPLE)
    random = np.random.default_rng(7)
    columns = {
        "name": [f"p{n}" for n in numbers],
        "n": numbers,
        "weight": random.integers(0, 500, PEOPLE) + 0.125,
        "bio": [f"word{n % 1000} and é word{n % 7}" for n in numbers],
        "near": pa.FixedSizeListArray.from_arrays(random.random(4 * PEOPLE).astype(np.float32), 4),
    }
    graph.load(pa.table(columns), type="Person", mode="append")
    ends = {
        "from": [f"p{n}" for n in numbers] * 3,
        "to": [f"p{n}" for n in random.integers(0, PEOPLE, 3 * PEOPLE)],
    }
    graph.load(pa.table(ends), type="Knows", mode="append")
    return graph.uri


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK_ROWS", CHUNK)
    for module, name in (
        (vectors, "_ROWS_PER_CHECKPOINT"), (text, "_TEXTS_PER_CHECKPOINT"), (text, "_WORDS_PER_CHECKPOINT"),
        (exact_sums, "_SUMS_PER_CHECKPOINT"), (search_hops, "_WALK_EDGES"), (values, "_PIECE_ROWS"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, CHUNK)


@contextmanager
def _counting() -> Iterator[Counting]:
    counting = Counting()
    before = clock.install(counting)
    try:
        yield counting
    finally:
        clock.install(before)


def _run(uri: str, step: str, timeout: float | None, ends_after: int = 1 << 62) -> tuple[list[object], int]:
    """Ask on a new handle; return the rows, and how often the clock was looked at."""
    graph = og.open(uri, read_only=True)
    gq = f"query q() {{ {STEPS[step]} }}"
    with _counting() as counting:
        counting.ends_after = ends_after
        try:
            if step == "stream":
                batches = graph.stream(gq, timeout=timeout, batch_rows=CHUNK)
                rows: list[object] = [row for batch in batches for row in batch.to_pylist()]
            else:
                rows = list(graph.query(gq, timeout=timeout, engine="local").rows)
        except og.ResourceLimit as limit:
            assert limit.details["resource"] == "query_seconds"
            assert counting.looks == ends_after + 1, "it ended at the first look that was too late"
            rows = []
    return rows, counting.looks


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("step", STEPS)
def test_a_long_step_is_stopped_inside(uri: str, step: str) -> None:
    rows, unlimited = _run(uri, step, timeout=0)
    assert rows
    same, looks = _run(uri, step, timeout=60)
    assert same == rows, "pieces change nothing"
    assert looks - unlimited >= PEOPLE // CHUNK or step == "between"
    assert looks - unlimited >= 4
    for at in {unlimited + 1, (unlimited + looks) // 2, looks - 2}:
        assert _run(uri, step, 60, ends_after=at) == ([], at + 1)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "search",
    [
        "search($p.bio, $q.bio)",
        "match_text($p.bio, $q.name)",
        "fuzzy($p.bio, $q.bio, 1)",
        "bm25($p.bio, $q.bio)",
        "nearest($p.near, $q.near)",
    ],
)
def test_a_search_with_a_text_or_vector_of_each_row_is_stopped_inside(
    uri: str, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = "match { $p: Person  $p.n < 1000  $p knows $q } return { $p.n, $q.n as m"
    monkeypatch.setitem(STEPS, "pairs", f"{pairs} }}")
    monkeypatch.setitem(STEPS, "searched", f"{pairs}, {search} as found }}")
    _, looks = _run(uri, "pairs", timeout=60)
    rows, more = _run(uri, "searched", timeout=60)
    assert len(rows) > 2_900
    assert more - looks >= 30
    assert _run(uri, "searched", 60, ends_after=more - 5) == ([], more - 4)


def test_a_ranking_is_put_in_order_piece_by_piece(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, looks = _run(uri, "ranks", timeout=60)
    monkeypatch.setattr(checkpoints, "CHUNK_ROWS", CHUNK)
    rows, more = _run(uri, "ranks", timeout=60)
    assert len(rows) == 2_999
    assert more - looks >= 1_000, "the result is put in order with about half as many"


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("spread", [2, 60, 10**12])
def test_numbers_are_put_in_order_piece_by_piece(spread: int) -> None:
    random = np.random.default_rng(spread)
    keys, others = random.integers(-spread, spread, 5_000), random.integers(0, 3, 5_000)
    looks = []
    with checkpoints.watch(lambda: looks.append(1)):
        order, both = sorting.order_of(keys), sorting.lexical_order([others, keys])
        found = sorting.distinct_rows(keys)
    assert len(looks) > 200
    assert np.array_equal(order, np.argsort(keys, kind="stable"))
    assert np.array_equal(both, np.lexsort([keys, others]))
    for ours, theirs in zip(found, np.unique(keys, return_index=True, return_inverse=True), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.usefixtures("small_pieces")
def test_texts_are_put_in_order_piece_by_piece() -> None:
    numbers = np.random.default_rng(3).integers(0, 900, 5_000).tolist()
    texts = pa.array([None if n % 50 == 0 else "é" * (n % 3) + str(n) for n in numbers])
    looks = []
    with checkpoints.watch(lambda: looks.append(1)):
        order = sorting.text_order(texts)
    assert len(looks) > 100
    assert texts.take(pa.array(order)).equals(texts.take(pc.sort_indices(texts)))


def test_who_waits_for_another_query_to_read_a_table_stops_in_time() -> None:
    begun, finish = threading.Event(), threading.Event()
    memory = Memory(1000)

    def slow(older: np.ndarray | None) -> np.ndarray:
        begun.set()
        assert finish.wait(60)
        return np.zeros(3)

    other = threading.Thread(target=lambda: memory.get("a", "a", np.ndarray, slow))
    other.start()
    assert begun.wait(60)
    looks = []

    def check() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise og.ResourceLimit("over", resource="query_seconds", limit=1)

    with pytest.raises(og.ResourceLimit), checkpoints.watch(check):
        memory.get("a", "a", np.ndarray, slow)
    finish.set()
    other.join()
    assert len(memory.get("a", "a", np.ndarray, slow)) == 3


def test_nobody_waiting_means_no_pieces() -> None:
    assert list(checkpoints.chunks(10**9)) == [slice(0, 10**9)]
    assert hops.PIECE_ROWS > CHUNK
