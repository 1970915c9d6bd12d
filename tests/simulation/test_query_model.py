"""Random queries over random graphs: every engine state gives what the reference evaluator gives.

`OMNIGRAPH_MODEL_EXAMPLES` asks for so many random graphs instead of the fixed ones. A failure prints the
schema, the records and the query, shrunk, and the seed that repeats it.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.base import clock
from omnigraph.compiler.frontend import compile_query
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.lower.bind import bind_read
from omnigraph.compiler.values.params import decode_params
from support.engine_variants import VARIANTS, Stored
from support.examples import model_settings
from support.generated_graphs import World, library, worlds
from support.generated_queries import Asked, conjunctions, queries, searches, ties
from support.reference import Reader
from support.reference_graph import MemoryGraph
from support.reference_paths import BadWeight
from support.seeded_clock import StandingClock

QUERIES = 8
"""Queries for each graph."""
NOW = 1_709_208_000_000
"""A moment that is also a stored value."""


OF_NOTHING = [
    Asked(
        f"query q() {{ match {{ $m: Doc  $m.vec is null }} return {{ $m.key }} "
        f"order {{ {score} }} limit {limit} }}",
        {},
    )
    for score in ("nearest($m.vec, [1, 1, 1])", 'rrf(nearest($m.vec, [1, 1, 1]), bm25($m.text, "dog"))')
    for limit in (0, 3)
]
"""Rankings of nodes that have nothing to be ranked by, or of none at all."""


@pytest.fixture(scope="module", autouse=True)
def one_moment() -> Iterator[None]:
    """Let `now()` be the same for the engine and the reference."""
    before = clock.install(StandingClock(NOW * 1000))
    yield
    clock.install(before)


@pytest.mark.long
@model_settings(10)
@given(st.data())
def test_every_engine_state_agrees_with_the_reference(data: st.DataObject) -> None:
    world = data.draw(worlds(), label="world")
    compare(world, (data.draw(queries(world.shape), label="query") for _ in range(QUERIES)))


@pytest.mark.long
@model_settings(2)
@given(st.data())
def test_every_engine_state_ranks_as_the_reference_does(data: st.DataObject) -> None:
    world = library(data.draw(st.integers(0, 999), label="seed of the library"))
    drawn = (data.draw(searches(world.shape), label="query") for _ in range(2 * QUERIES))
    compare(world, itertools.chain(OF_NOTHING, ties(world), conjunctions(), drawn))


def compare(world: World, asked: Iterator[Asked]) -> None:
    """Ask every query in every way."""
    reference = world.reference()
    with tempfile.TemporaryDirectory() as folder:
        stored = Stored(world, Path(folder))
        ways = {name: variant(stored) for name, variant in VARIANTS.items()}
        for query in asked:
            expected = Expected.of(reference, query)
            if expected.refused:
                event("bad weights")
                for ask in ways.values():
                    with pytest.raises(og.ValidationError, match="a path cannot be short by"):
                        ask(query)
                continue
            event("delicate" if expected.delicate else f"{min(sum(map(len, expected.classes)), 10)} rows")
            for name, ask in ways.items():
                result = ask(query)
                # Where the sequence hangs on the last digits of a score, any answer of the engine will do.
                if not expected.delicate:
                    expected.check(result, name)
            if query.apart:
                apart = Asked(query.apart, query.params)
                assert Expected.of(reference, apart) == expected, "filters as one clause or as several"
                if not expected.delicate:
                    expected.check(ways["plainly"](apart), "filters as clauses of their own")


@dataclass(frozen=True)
class Expected:
    """What the reference says of a query: rows in classes, the order within a class being free."""

    classes: list[list[dict[str, Any]]]
    first: int
    end: int | None
    delicate: bool
    refused: bool = False
    """Whether a path is to be short by what is no weight."""

    @staticmethod
    def of(reference: MemoryGraph, asked: Asked) -> Expected:
        """Evaluate a query."""
        query = compile_query(asked.text, reference.catalog, None, kind="read")
        assert isinstance(query, ReadQuery)
        params = decode_params(asked.params, [(item.name, item.type) for item in query.parameters])
        reader = Reader(bind_read(query, params, NOW), reference)
        try:
            return Expected(reader.classes(), reader.first(), reader.depth(), reader.delicate)
        except BadWeight:
            return Expected([], 0, None, False, refused=True)

    def check(self, result: og.Result, variant: str) -> None:
        """Compare a result: in order where there is one, as a bag where it is free."""
        rows = [settled(row) for row in result.rows]
        place = 0
        for tied in self.classes:
            inside = self.on_page(place, place + len(tied))
            place += len(tied)
            found, rows = rows[:inside], rows[inside:]
            assert len(found) == inside, f"{variant}: {inside - len(found)} rows are missing of {tied}"
            surplus = Counter(found) - Counter(map(settled, tied))
            assert not surplus, f"{variant}: {surplus} instead of rows of {tied}"
        assert not rows, f"{variant}: too many rows, {rows}"
        table = result.to_arrow()
        assert table.num_rows == len(result) and table.column_names == result.columns

    def on_page(self, start: int, stop: int) -> int:
        """Return how many of the rows from start to stop are on the page."""
        return max(0, (stop if self.end is None else min(stop, self.end)) - max(start, self.first))


def settled(value: Any) -> Any:
    """Return a value that is equal and hashable where answers are equal: numbers by value, to 12 digits."""
    if isinstance(value, dict):
        return tuple((name, settled(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(settled(item) for item in value)
    if isinstance(value, float):
        value = float(f"{value:.12g}")
    return (isinstance(value, bool), value)
