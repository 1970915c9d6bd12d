"""Up to which size the fragments of a table are joined."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.graph.write import compact_on_write as tidy
from omnigraph.graph.write.compact_on_write import TIERS, target_rows


def test_few_fragments_are_left_alone() -> None:
    assert target_rows([], 16) is None
    assert target_rows([1] * 16, 16) is None


def test_one_more_than_the_limit_in_a_tier_is_joined_up_to_the_tiers_size() -> None:
    assert target_rows([1] * 17, 16) == TIERS[0]
    assert target_rows([TIERS[0]] * 17, 16) == TIERS[1]
    assert target_rows([TIERS[1]] * 17, 16) == TIERS[2]


def test_the_largest_fragments_are_never_joined() -> None:
    assert target_rows([TIERS[-1]] * 1000, 16) is None


def test_fragments_of_different_tiers_do_not_add_up() -> None:
    assert target_rows([1] * 16 + [TIERS[0]] * 16 + [TIERS[1]] * 16, 16) is None


def test_the_largest_crowded_tier_decides() -> None:
    assert target_rows([1] * 17 + [TIERS[1]] * 17, 16) == TIERS[2]


@given(st.lists(st.integers(0, 2 * TIERS[-1]), max_size=80), st.integers(0, 20))
def test_something_is_joined_exactly_when_a_tier_is_crowded(fragments: list[int], limit: int) -> None:
    lower = 0
    crowded = []
    for upper in TIERS:
        if sum(lower <= rows < upper for rows in fragments) > limit:
            crowded.append(upper)
        lower = upper
    assert target_rows(fragments, limit) == (crowded[-1] if crowded else None)


def test_a_write_leaves_files_alone_that_are_not_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_SMALL_FRAGMENTS", "3")
    graph = og.init(tmp_path / "graph", "node Person { name: String @key }")

    def after(names: str) -> int:
        for name in names:
            graph.load([{"type": "Person", "data": {"name": name}}], mode="append")
        return len(graph.snapshot().table("node:Person").fragments())

    assert after("abcdefgh") <= 4
    monkeypatch.setattr(tidy, "_SMALL_BYTES", 1)
    assert after("ijklmnop") > 8
