"""Floors: what they hold, and how a proposal and a name meet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import (
    Floor,
    claim,
    complete_floor,
    decode_floor,
    read_floor,
    runs_of,
    write_floor,
)
from omnigraph.storage.objects import open_store

CHAIN = "ABCDEFGHJKMN"


@given(st.sets(st.integers(1, 60)), st.integers(61, 70))
def test_runs_hold_exactly_what_they_were_made_of(kept: set[int], below: int) -> None:
    floor = Floor(CHAIN, "main", None, below, 0, runs_of(sorted(kept)))
    for seq in range(1, 80):
        there = seq in kept or seq >= below
        assert floor.holds(seq) == there
        lower = [number for number in (*kept, *range(below, seq + 1)) if number <= seq]
        assert floor.highest(seq) == max(lower, default=None)
    assert list(floor.numbers(75)) == [*sorted(kept), *range(below, 76)]
    assert decode_floor(floor.encode(), layout.floor_path(floor.incarnation)) == floor


def test_a_floor_that_has_ended_holds_nothing() -> None:
    floor = Floor(CHAIN, "main", None, 9, 0, ((2, 3),), ended=True)
    assert [seq for seq in range(12) if floor.holds(seq)] == []


@pytest.mark.parametrize(("seq", "vetoed"), [(3, True), (9, False)])
def test_who_names_a_commit_vetoes_the_proposal_to_drop_it(seq: int, vetoed: bool) -> None:
    store = open_store(f"memory://floors-{seq}")
    proposed = Floor(CHAIN, "main", None, 9, 0)
    standing = write_floor(store, replace(complete_floor(CHAIN, "main", None), proposed=proposed), None)
    assert standing is not None
    assert claim(store, CHAIN, seq)
    now = read_floor(store, CHAIN)
    assert now is not None
    assert (now.floor.proposed is None) == vetoed
    # The cleanup whose proposal was vetoed cannot make it the floor any more.
    assert (write_floor(store, proposed, standing) is None) == vetoed


def test_a_proposal_that_is_made_again_after_a_veto_is_another_one(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "root"))  # where an object's tag tells its content
    complete, proposed = complete_floor(CHAIN, "main", None), Floor(CHAIN, "main", None, 9, 0)
    first = write_floor(store, replace(complete, proposed=proposed, proposal="one"), None)
    assert claim(store, CHAIN, 3)
    vetoed = read_floor(store, CHAIN)
    assert vetoed is not None
    assert write_floor(store, replace(vetoed.floor, proposed=proposed, proposal="two"), vetoed)
    assert write_floor(store, proposed, first) is None


def test_what_a_floor_has_dropped_cannot_be_claimed() -> None:
    store = open_store("memory://floors-dropped")
    write_floor(store, Floor(CHAIN, "main", None, 9, 0, tables={"t": 12}), None)
    assert not claim(store, CHAIN, 3)
    assert claim(store, CHAIN, 10)
    assert not claim(store, CHAIN, 10, ["t"])
