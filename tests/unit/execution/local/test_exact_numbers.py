"""Numbers in limbs: whatever their range, sums and comparisons are those of integers of any size."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.execution.local.cache.exact_numbers import ExactNumbers
from omnigraph.execution.local.paths.costs import Weights, add, as_integers, as_limbs, is_equal, is_less

_FLOATS = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
_COLUMNS = st.one_of(
    st.lists(_FLOATS, min_size=2, max_size=6).map(lambda values: pa.array(values, pa.float64())),
    st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=6).map(
        lambda values: pa.array(values, pa.uint64())
    ),
    st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=6).map(
        lambda values: pa.array(values, pa.int32())
    ),
)


@given(st.lists(_COLUMNS, min_size=1, max_size=3))
def test_sums_and_comparisons_are_exact(columns: list[pa.Array]) -> None:
    weights = Weights.of([ExactNumbers.of(column, None) for column in columns])
    values = [Fraction(value) for column in columns for value in column.to_pylist()]
    scale = Fraction(2) ** weights.exponent
    edges = np.arange(len(values))
    assert [number * scale for number in weights.plain(edges)] == values
    left, right = (edges[:-1], edges[1:])
    sums = add([limb[left] for limb in weights.limbs], [limb[right] for limb in weights.limbs])
    wanted = [one + other for one, other in pairwise(values)]
    assert [number * scale for number in as_integers(sums)] == wanted
    found = [limb[right] for limb in weights.limbs]
    assert is_less(sums, found).tolist() == [
        one < other for one, other in zip(wanted, values[1:], strict=True)
    ]
    assert is_equal(sums, found).tolist() == [
        one == other for one, other in zip(wanted, values[1:], strict=True)
    ]
    again = as_limbs(as_integers(sums), len(sums))
    assert all((one == other).all() for one, other in zip(again, sums, strict=True))


@pytest.mark.parametrize(
    ("column", "live", "bad"),
    [
        (pa.array([1.0, None, -0.5, float("nan"), float("inf"), -0.0]), None, [1, 2, 3, 4]),
        (pa.array([1, None, -1], pa.int64()), np.array([True, False, True]), [2]),
        (pa.array([2**64 - 1, 0], pa.uint64()), None, []),
    ],
)
def test_rows_without_a_weight_are_known(column: pa.Array, live: object, bad: list[int]) -> None:
    assert ExactNumbers.of(column, live).bad.tolist() == bad  # type: ignore[arg-type]


def test_a_sum_is_rounded_once_and_null_beyond_its_type() -> None:
    thirds = Weights.of([ExactNumbers.of(pa.array([0.1, 0.2, 0.3]), None)])
    assert thirds.show(sum(thirds.plain(np.arange(3)))) == 0.6
    large = Weights.of([ExactNumbers.of(pa.array([1.7e308, 5e-324]), None)])
    assert large.show(large.plain(np.array([0]))[0]) == 1.7e308
    assert large.show(2 * large.plain(np.array([0]))[0]) is None
    whole = Weights.of([ExactNumbers.of(pa.array([2**63 - 1], pa.int64()), None)])
    assert (whole.show(2**63 - 1), whole.show(2**63)) == (2**63 - 1, None)


def test_small_integers_take_one_limb_and_floats_of_one_magnitude_two() -> None:
    assert len(Weights.of([ExactNumbers.of(pa.array([2**31 - 1, 0], pa.int32()), None)]).limbs) == 1
    assert len(Weights.of([ExactNumbers.of(pa.array([0.1, 99.9]), None)]).limbs) == 2
