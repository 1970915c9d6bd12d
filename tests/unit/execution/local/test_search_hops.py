"""The searches over several hops find the same, however they keep what was reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.settings import Settings
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.steps import search_hops
from omnigraph.execution.local.steps.search_hops import search_marked, search_one_by_one, search_together

NODES = 9
PAIRS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)


def reach_by_hand(
    starts: list[int], pairs: list[tuple[int, int]], low: int, high: int, at_start: bool
) -> set[tuple[int, int, int]]:
    """Follow the rules: a node counts when it is first reached; a loop on a node of the frontier reports
    that node at that hop, unless it was reported before (backwards: the loop of the start)."""
    found: set[tuple[int, int, int]] = set()
    for origin, start in enumerate(starts):
        seen, reported, frontier = {start}, set[int](), {start}
        for hop in range(1, high + 1):
            fresh = {far for near, far in pairs if near in frontier} - seen
            if at_start:
                loops = set(frontier) if (start, start) in pairs else set[int]()
            else:
                loops = {node for node in frontier if (node, node) in pairs}
            if hop >= low:
                news = fresh | (loops - reported)
                reported |= news
                found |= {(origin, node, hop) for node in news}
            seen |= fresh
            frontier = fresh
    return found


@given(
    PAIRS, st.sets(st.integers(0, NODES - 1), min_size=1), st.integers(1, 4), st.integers(0, 3), st.booleans()
)
def test_all_searches_find_what_the_rules_say(
    pairs: list[tuple[int, int]], starts: set[int], low: int, more: int, at_start: bool
) -> None:
    near, far = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    neighbours = Neighbours.distinct(near, far, NODES)
    expected = reach_by_hand(sorted(starts), pairs, low, low + more, at_start)
    for marks in (1, 2 * NODES + 5, 1 << 20):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(search_hops, "_MAX_MARKS", marks)
            for search in (search_one_by_one, search_together, search_marked):
                found = search(
                    np.array(sorted(starts)), neighbours, low, low + more, QueryBudget(Settings()), at_start
                )
                rows = list(zip(*(column.tolist() for column in found), strict=True))
                assert len(rows) == len(set(rows)) and set(rows) == expected, search.__name__
