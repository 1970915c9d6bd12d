"""Sets of numbers, by sorting: `np.unique` and its kin hash, which can take 1,000 times as long."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

_Numbers = TypeVar("_Numbers", bound=NDArray[Any])


def unite(*parts: _Numbers) -> _Numbers:
    """Return each number of some arrays once, in ascending order."""
    return drop_repeated(cast("_Numbers", np.sort(parts[0] if len(parts) == 1 else np.concatenate(parts))))


def subtract(numbers: _Numbers, removed: _Numbers) -> _Numbers:
    """Return each number once that only the first array has, in ascending order."""
    return cast("_Numbers", np.setdiff1d(unite(numbers), unite(removed), assume_unique=True))


def drop_repeated(ordered: _Numbers) -> _Numbers:
    """Return each of some sorted numbers once."""
    return ordered if len(ordered) < 2 else cast("_Numbers", ordered[is_first(ordered)])


def is_first(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each of some sorted numbers whether it is the first of its equals."""
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first
