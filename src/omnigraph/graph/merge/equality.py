"""Typed equality of plain values: what a diff and the feed tell apart, a merge tells apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def same(one: Any, two: Any) -> bool:
    """Return whether two plain values, rows or images are the same, as `equal_values` does for columns.

    They are when Python finds them equal, but for the two zeros of floats, which are two values.
    """
    if one != two:
        return False
    if isinstance(one, float):
        return math.copysign(1, one) == math.copysign(1, two)
    if isinstance(one, Mapping):
        return all(same(value, two[name]) for name, value in one.items())
    if isinstance(one, tuple | list):
        return all(map(same, one, two))
    return True
