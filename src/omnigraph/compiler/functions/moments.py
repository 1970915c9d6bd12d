"""Functions of dates and datetimes: a Date counts in days, a DateTime in milliseconds, both in UTC."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, sub

from omnigraph.compiler.functions.overload import (
    DATE,
    DATETIME,
    INTEGER,
    NoResult,
    Overload,
    check_integer,
    gives,
)
from omnigraph.compiler.types import STORED_RANGES, Scalar
from omnigraph.compiler.values.dates import DAY_MILLIS, civil_date

_DATE, _DATETIME, _COUNT = gives(Scalar.DATE), gives(Scalar.DATETIME), gives(Scalar.I64)


def check_date(days: int) -> int:
    """Return days that a Date can hold, or raise NoResult."""
    low, high = STORED_RANGES[Scalar.I32]
    if not low <= days <= high:
        raise NoResult("the result exceeds the range of Date")
    return days


def _move(operation: Callable[[int, int], int]) -> tuple[Overload, ...]:
    return (
        Overload((DATE, INTEGER), _DATE, lambda days, by: check_date(operation(days, by))),
        Overload((DATETIME, INTEGER), _DATETIME, lambda millis, by: check_integer(operation(millis, by))),
    )


def _part_of_date(part: int) -> tuple[Overload, ...]:
    return (
        Overload((DATE,), _COUNT, lambda days: civil_date(days)[part]),
        Overload((DATETIME,), _COUNT, lambda millis: civil_date(millis // DAY_MILLIS)[part]),
    )


def _part_of_time(unit_millis: int, units: int) -> tuple[Overload, ...]:
    return (Overload((DATETIME,), _COUNT, lambda millis: millis // unit_millis % units),)


def _weekday(days: int) -> int:
    """Return 1 for Monday to 7 for Sunday; the first day of 1970 was a Thursday."""
    return (days + 3) % 7 + 1


MOMENTS: dict[str, tuple[Overload, ...]] = {
    "+": _move(add),
    "-": (
        *_move(sub),
        Overload((DATE, DATE), _COUNT, sub),
        Overload((DATETIME, DATETIME), _COUNT, lambda left, right: check_integer(left - right)),
    ),
    "year": _part_of_date(0),
    "month": _part_of_date(1),
    "day": _part_of_date(2),
    "weekday": (
        Overload((DATE,), _COUNT, _weekday),
        Overload((DATETIME,), _COUNT, lambda millis: _weekday(millis // DAY_MILLIS)),
    ),
    "hour": _part_of_time(3_600_000, 24),
    "minute": _part_of_time(60_000, 60),
    "second": _part_of_time(1000, 60),
    "millisecond": _part_of_time(1, 1000),
}
