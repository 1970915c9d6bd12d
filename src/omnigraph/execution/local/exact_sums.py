"""Sums and means of groups that are rounded once, so that they depend on no order and no size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from omnigraph.base.cancellation import chunks
from omnigraph.execution.local.frame import Positions

_MAX_EXACT_INTEGER = 2**53
_MAX_SAFE_SUM = 2.0**1020
"""No intermediate result of a sum below it exceeds the range of F64."""
_SUMS_PER_CHECKPOINT = 1 << 14
"""Sums that are computed in Python between two checkpoints."""


def average_exactly(
    numbers: np.ndarray[tuple[int], np.dtype[np.generic]],
    groups: Positions,
    weights: Positions | None,
    counts: Positions,
) -> npt.NDArray[np.float64]:
    """Return the mean of each group, rounded once: that of equal numbers is this number."""
    each = np.maximum(counts, 1)
    if len(numbers) == 0 or _sums_are_whole(numbers, weights):
        return sum_exactly(numbers, groups, weights, len(counts)) / each
    if _can_be_split(numbers, weights):
        return _split(numbers.astype(np.float64), groups, weights, len(counts)).means(each)
    exact = _sum_fractions(numbers, groups, weights, len(counts))
    sums = zip(exact, each.tolist(), strict=True)
    return np.array([float(total / count) for total, count in sums], dtype=np.float64)


def _sums_are_whole(numbers: np.ndarray[tuple[int], np.dtype[np.generic]], weights: Positions | None) -> bool:
    """Return whether all sums are integers that F64 holds exactly."""
    largest, times = _sizes(numbers, weights)
    return numbers.dtype.kind in "iu" and largest * times * max(len(numbers), 1) < _MAX_EXACT_INTEGER


def _can_be_split(numbers: np.ndarray[tuple[int], np.dtype[np.generic]], weights: Positions | None) -> bool:
    """Return whether sums of the halves of mantissas are exact, and no sum is near the range of F64."""
    largest, times = _sizes(numbers, weights)
    rows = times * len(numbers)
    return numbers.dtype.kind not in "iu" and rows < 2**26 and largest * rows < _MAX_SAFE_SUM


def _sizes(
    numbers: np.ndarray[tuple[int], np.dtype[np.generic]], weights: Positions | None
) -> tuple[float, float]:
    """Return the largest absolute number, and the largest weight."""
    largest = float(np.abs(numbers.astype(np.float64)).max(initial=0.0))
    return largest, 1.0 if weights is None else float(weights.max(initial=1))


def sum_exactly(
    numbers: np.ndarray[tuple[int], np.dtype[np.generic]],
    groups: Positions,
    weights: Positions | None,
    count: int,
) -> npt.NDArray[np.float64]:
    """Return the sum of each group, rounded once at the end, so that it does not depend on the order.

    A sum beyond the range of F64 is infinite.
    """
    if len(numbers) == 0:
        return np.zeros(count)
    if _sums_are_whole(numbers, weights):
        each = numbers.astype(np.float64)
        return np.bincount(groups, each if weights is None else each * weights, minlength=count).astype(
            np.float64
        )
    if not _can_be_split(numbers, weights):
        totals = _sum_fractions(numbers, groups, weights, count)
        return np.array([_round_to_float(total) for total in totals], dtype=np.float64)
    return _split(numbers.astype(np.float64), groups, weights, count).sums()


@dataclass(frozen=True)
class _SplitSums:
    """For each group and exponent the exact sums of the halves of mantissas, as whole numbers."""

    tops: npt.NDArray[np.float64]
    rests: npt.NDArray[np.float64]
    exponents: npt.NDArray[np.int64]

    def sums(self) -> npt.NDArray[np.float64]:
        """Return the sum of each group, rounded once."""
        tops, rests = np.ldexp(self.tops, self.exponents - 26), np.ldexp(self.rests, self.exponents - 53)
        totals = np.empty(len(tops), dtype=np.float64)
        for part in chunks(len(tops), _SUMS_PER_CHECKPOINT):
            pairs = zip(tops[part], rests[part], strict=True)
            totals[part] = [math.fsum([*top, *rest]) for top, rest in pairs]
        return totals

    def means(self, counts: Positions) -> npt.NDArray[np.float64]:
        """Return the mean of each group, rounded once: a quotient of integers."""
        least = int(self.exponents.min(initial=0)) - 53
        up, down = max(least, 0), max(-least, 0)
        shifts = (self.exponents - self.exponents.min(initial=0)).tolist()
        means = np.empty(len(counts), dtype=np.float64)
        for part in chunks(len(counts), _SUMS_PER_CHECKPOINT):
            found = zip(self.tops[part], self.rests[part], counts[part].tolist(), strict=True)
            means[part] = [
                (_join_halves(top, rest, shifts) << up) / (count << down) for top, rest, count in found
            ]
        return means


def _join_halves(tops: npt.NDArray[np.float64], rests: npt.NDArray[np.float64], shifts: list[int]) -> int:
    """Return the exact sum of halves of mantissas, in units of the last bit of the least exponent."""
    total = 0
    for at in np.flatnonzero((tops != 0) | (rests != 0)).tolist():
        total += ((int(tops[at]) << 27) + int(rests[at])) << shifts[at]
    return total


def _split(
    numbers: npt.NDArray[np.float64], groups: Positions, weights: Positions | None, count: int
) -> _SplitSums:
    """Sum the halves of mantissas by exponent, which is exact."""
    mantissas, exponents = np.frexp(numbers)
    scaled = np.ldexp(mantissas, 53)
    high = np.floor(scaled / 2**27)
    low = scaled - high * 2**27
    least = int(exponents.min(initial=0))
    levels = np.arange(least, int(exponents.max(initial=0)) + 1)
    if count * len(levels) > max(1 << 20, 4 * len(numbers)):
        levels, exponents = np.unique(exponents, return_inverse=True)
        least = 0
    place = groups * len(levels) + (exponents - least)
    size = count * max(len(levels), 1)
    if weights is not None:
        high, low = high * weights, low * weights
    tops = np.bincount(place, high, minlength=size).reshape(count, -1)
    rests = np.bincount(place, low, minlength=size).reshape(count, -1)
    return _SplitSums(tops.astype(np.float64), rests.astype(np.float64), levels.astype(np.int64))


def _sum_fractions(
    numbers: np.ndarray[tuple[int], np.dtype[np.generic]],
    groups: Positions,
    weights: Positions | None,
    count: int,
) -> list[Fraction]:
    """Return the exact sum of each group, slowly."""
    totals = [Fraction(0)] * count
    each = np.ones(len(numbers), dtype=np.int64) if weights is None else weights
    for part in chunks(len(numbers), _SUMS_PER_CHECKPOINT):
        some = zip(numbers[part].tolist(), groups[part].tolist(), each[part].tolist(), strict=True)
        for number, at, times in some:
            totals[at] += Fraction(number) * times
    return totals


def _round_to_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
