"""Sums are rounded once, so that neither the order of rows nor their merging changes a result."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.execution.local.groups import exact_sums

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e300, max_value=1e300)
ROWS = st.lists(st.tuples(FLOATS, st.integers(0, 3), st.integers(1, 50)), max_size=60)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
WHOLE = st.lists(st.tuples(INTEGERS, st.integers(0, 3), st.integers(1, 50)), max_size=60)


@given(ROWS)
def test_sums_of_floats_are_the_nearest_to_the_true_ones(rows: list[tuple[float, int, int]]) -> None:
    _check(rows, np.float64)


@given(WHOLE)
def test_sums_of_integers_are_the_nearest_to_the_true_ones(rows: list[tuple[int, int, int]]) -> None:
    _check(rows, np.int64)


def _check(rows: list[tuple[float, int, int]], kind: type) -> None:
    numbers = np.array([row[0] for row in rows], dtype=kind)
    groups = np.array([row[1] for row in rows], dtype=np.int64)
    weights = np.array([row[2] for row in rows], dtype=np.int64)
    for times in (None, weights):
        each = [1] * len(rows) if times is None else times.tolist()
        true = [Fraction()] * 4
        for row, count in zip(rows, each, strict=True):
            true[row[1]] += Fraction(row[0]) * count
        assert exact_sums(numbers, groups, times, 4).tolist() == [float(total) for total in true]
