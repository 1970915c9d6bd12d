"""Sums are rounded once, so that neither the order of rows nor their merging changes a result."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.execution.exact_mean import exact_mean
from omnigraph.execution.local.exact_sums import average_exactly, sum_exactly

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


@given(st.one_of(FLOATS, INTEGERS), st.integers(1, 300))
def test_the_mean_of_equal_numbers_is_that_number(number: float, times: int) -> None:
    numbers = np.array([number] * times)
    groups, counts = np.zeros(times, dtype=np.int64), np.array([times])
    assert average_exactly(numbers, groups, None, counts).tolist() == [float(number)]


@given(st.lists(FLOATS, min_size=1, max_size=60))
def test_both_engines_round_a_mean_once(numbers: list[float]) -> None:
    local = average_exactly(
        np.array(numbers), np.zeros(len(numbers), dtype=np.int64), None, np.array([len(numbers)])
    )
    assert [exact_mean(numbers)] == local.tolist()


HUGE = {
    "two": ([1e308, 1e308], math.inf, 1e308),
    "below zero": ([-1.7e308, -1.7e308, -1.7e308], -math.inf, -1.7e308),
    "back in range": ([1.5e308, 1.5e308, -1.5e308], 1.5e308, 1.5e308 / 3),
    "the largest": ([1.7976931348623157e308] * 2, math.inf, 1.7976931348623157e308),
}


@pytest.mark.parametrize("case", HUGE)
def test_the_mean_of_huge_numbers_is_one_of_them_though_their_sum_is_infinite(
    tmp_path: Path, case: str
) -> None:
    numbers, total, mean = HUGE[case]
    graph = og.init(tmp_path / "graph", "node P { x: F64 }")
    graph.load([{"type": "P", "data": {"x": x}} for x in numbers], mode="append")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = graph.query("query q() { match { $p: P } return { sum($p.x) as s, avg($p.x) as m } }")
    assert found.to_arrow().to_pylist() == [{"s": total, "m": mean}]


def _check(rows: list[tuple[float, int, int]], kind: type) -> None:
    numbers = np.array([row[0] for row in rows], dtype=kind)
    groups = np.array([row[1] for row in rows], dtype=np.int64)
    weights = np.array([row[2] for row in rows], dtype=np.int64)
    for times in (None, weights):
        each = [1] * len(rows) if times is None else times.tolist()
        true = [Fraction()] * 4
        for row, count in zip(rows, each, strict=True):
            true[row[1]] += Fraction(row[0]) * count
        assert sum_exactly(numbers, groups, times, 4).tolist() == [float(total) for total in true]
        counts = np.bincount(groups, times, minlength=4).astype(np.int64)
        means = [float(total / max(count, 1)) for total, count in zip(true, counts.tolist(), strict=True)]
        assert average_exactly(numbers, groups, times, counts).tolist() == means
