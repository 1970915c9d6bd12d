"""Numbers, arrays and missing moments of Python's libraries as the plain values that properties hold."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from types import NoneType
from typing import Any

from omnigraph.compiler.values.dates import format_date, format_datetime

_MAX_DIGITS = 400
"""Before the decimal point; no property holds a number with more, and Python would write out every digit."""
_PLAIN = frozenset((str, int, float, bool, NoneType, list, tuple))


def plain_value(value: Any) -> Any:
    """Return a decimal as a number, and a scalar or array with a `dtype` as what Python has for it.

    A moment that is missing (NaT, of pandas as of NumPy) is NULL.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Decimal):
        return _plain_number(value)
    if isinstance(value, datetime):
        return None if value != value else value  # noqa: PLR0124 - NaT of pandas, the only one unlike itself
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is None or not hasattr(value, "tolist"):
        return value
    return _datetimes(value) if kind == "M" else value.tolist()


def _datetimes(value: Any) -> Any:
    """Return dates and datetimes of NumPy; those beyond Python's calendar as strings, not as numbers."""
    days = value.dtype == "datetime64[D]"
    show = format_date if days else format_datetime
    found = (value if days else value.astype("datetime64[ms]")).tolist()
    if isinstance(found, list):
        return [show(item) if isinstance(item, int) else item for item in found]
    return show(found) if isinstance(found, int) else found


def _plain_number(value: Decimal) -> int | float:
    """Return a decimal as the integer that it is exactly, else as the nearest float."""
    if value.is_nan():
        return math.nan
    if value.is_finite() and value.adjusted() < _MAX_DIGITS and value == value.to_integral_value():
        return int(value)
    return float(value)
