"""Lengths of time as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

from omnigraph.base.errors import BadInput

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")
_MAX_SECONDS = timedelta.max.total_seconds()


def seconds_of(age: timedelta | str | None, what: str) -> float | None:
    """Return a length of time in seconds: a timedelta, or a text such as `30m`, `12h` or `7d`."""
    if age is None:
        return None
    if isinstance(age, timedelta):
        seconds = age.total_seconds()
    elif isinstance(age, str) and (match := _TEXT.fullmatch(age)):
        seconds = float(match[1]) * _UNITS[match[2]]
    else:
        seconds = -1.0
    if seconds < 0 or seconds > _MAX_SECONDS:
        raise BadInput(f"{what} is {age!r}: write a number and a unit (s, m, h, d, w), such as 7d")
    return seconds
