"""Sets of hashes answer as plain counters of the same numbers do."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.execution.load.keys.keys_in_memory import HashSet

PARTS = st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=4)


def _set(parts: list[list[int]]) -> HashSet:
    return HashSet([[np.array(sorted(part), dtype=np.uint64) for part in parts]])


def _counts(parts: list[list[int]]) -> Counter[int]:
    return Counter(number for part in parts for number in part)


def _members(keys: HashSet) -> set[int]:
    return {int(number) for column in keys.columns for part in column for number in part}


@given(PARTS, PARTS, PARTS)
def test_sets_are_cut_and_joined_as_sets(
    one: list[list[int]], two: list[list[int]], three: list[list[int]]
) -> None:
    others = set(_counts(two)) | set(_counts(three))
    joined = _set(two).plus(_set(three))
    assert _members(joined) == others
    assert _members(_set(one).outside(joined)) == set(_counts(one)) - others
    assert _members(_set(one).within(joined)) == set(_counts(one)) & others
    assert joined.flags(np.arange(7, dtype=np.uint64)).tolist() == [number in others for number in range(7)]


@given(PARTS, PARTS, st.integers(0, 3), st.none() | st.integers(1, 4))
def test_occurrences_are_counted_over_all_parts(
    one: list[list[int]], two: list[list[int]], low: int, high: int | None
) -> None:
    counts = _counts(one) + _counts(two)
    keys = _set(one).plus(_set(two))
    assert keys.is_empty() == (not counts)
    assert keys.has_repeats() == any(count > 1 for count in counts.values())
    assert _set(one).has_repeats() == any(count > 1 for count in _counts(one).values())
    assert keys.occur_between(low, high) == all(low <= count <= (high or count) for count in counts.values())
