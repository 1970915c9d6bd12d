"""Comparing numbers of different types by value, exactly: no integer is rounded to a float."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.compiler.ir.conditions import Comparator

Numbers = np.ndarray[Any, np.dtype[Any]]
Mask = npt.NDArray[np.bool_]


def compare_by_value(comparator: Comparator, left: Numbers, right: Numbers) -> Mask:
    """Compare numbers pair by pair; NaN is different from everything."""
    less, greater, unlike = _compare_pairs(left, right)
    match comparator:
        case Comparator.LT:
            return less
        case Comparator.GT:
            return greater
        case Comparator.LE:
            return ~(greater | unlike)
        case Comparator.GE:
            return ~(less | unlike)
        case Comparator.NE:
            return less | greater | unlike
    return ~(less | greater | unlike)


def _compare_pairs(left: Numbers, right: Numbers) -> tuple[Mask, Mask, Mask]:
    """Return where the left number is less, where it is greater, and where either is NaN."""
    if left.dtype.kind == "f" and right.dtype.kind == "f":
        a, b = left.astype(np.float64), right.astype(np.float64)
        return a < b, a > b, np.isnan(a) | np.isnan(b)
    if right.dtype.kind == "f":
        return _compare_with_floats(left, right.astype(np.float64))
    if left.dtype.kind == "f":
        less, greater, unlike = _compare_with_floats(right, left.astype(np.float64))
        return greater, less, unlike
    none = np.zeros(len(left), dtype=bool)
    if left.dtype == np.uint64 and right.dtype != np.uint64:
        less, greater, _ = _compare_pairs(right, left)
        return greater, less, none
    if right.dtype == np.uint64 and left.dtype != np.uint64:
        below = left < 0 if left.dtype.kind == "i" else none
        whole = np.where(below, 0, left).astype(np.uint64)
        return below | (whole < right), ~below & (whole > right), none
    wide = np.uint64 if left.dtype == np.uint64 else np.int64
    a, b = left.astype(wide), right.astype(wide)
    return a < b, a > b, none


def _compare_with_floats(numbers: Numbers, floats: npt.NDArray[np.float64]) -> tuple[Mask, Mask, Mask]:
    """Compare integers with the floors of floats and, where those are equal, with the remainder."""
    unsigned = numbers.dtype == np.uint64
    low, high = (0.0, 2.0**64) if unsigned else (-(2.0**63), 2.0**63)
    above, below = floats >= high, floats < low
    inside = ~(above | below | np.isnan(floats))
    whole = np.floor(np.where(inside, floats, 0.0))
    integers = whole.astype(np.uint64 if unsigned else np.int64)
    mine = numbers if unsigned else numbers.astype(np.int64)
    less = inside & ((mine < integers) | ((mine == integers) & (np.where(inside, floats, 0.0) > whole)))
    greater = inside & (mine > integers)
    return above | less, below | greater, np.isnan(floats)
