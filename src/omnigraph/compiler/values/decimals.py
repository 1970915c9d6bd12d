"""Decimals of Python as the numbers that properties and parameters hold."""

from __future__ import annotations

import math
from decimal import Decimal

_MOST_DIGITS = 400
"""Before the point; no property holds a number with more, and Python would write out every digit."""


def plain_number(value: Decimal) -> int | float:
    """Return a decimal as the integer that it is exactly, else as the nearest float."""
    if value.is_nan():
        return math.nan
    if value.is_finite() and value.adjusted() < _MOST_DIGITS and value == value.to_integral_value():
        return int(value)
    return float(value)
