"""Dates and times: ISO 8601 text to and from epoch days and epoch milliseconds, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

DAY_MILLIS = 86_400_000
"""Milliseconds in a day."""

_DATE = r"(?P<year>[+-][0-9]{4,9}|[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
_OFFSET = r"(?P<zone>[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
_DATE_TEXT = re.compile(_DATE)
_DATETIME_TEXT = re.compile(rf"{_DATE}(?:[Tt ]{_TIME}{_OFFSET})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_date(text: str) -> int | None:
    """Return the days since 1970-01-01 of `YYYY-MM-DD`, or None when the string is not a date."""
    found = _DATE_TEXT.fullmatch(text)
    days = _days(found) if found else None
    return days if days is not None and -(2**31) <= days < 2**31 else None


def parse_datetime(text: str) -> int | None:
    """Return the milliseconds since 1970-01-01 UTC of an ISO 8601 string, or None when it is not one.

    Without an offset the text is UTC; a date alone is its midnight; digits beyond milliseconds are cut.
    """
    found = _DATETIME_TEXT.fullmatch(text)
    days = _days(found) if found else None
    if found is None or days is None:
        return None
    if found["hour"] is None:
        return _check_range(days * DAY_MILLIS)
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    offset = _offset(found["zone"])
    if hour > 23 or minute > 59 or second > 59 or offset is None:
        return None
    millis = int(((found["fraction"] or "") + "000")[:3])
    return _check_range(days * DAY_MILLIS + ((hour * 60 + minute - offset) * 60 + second) * 1000 + millis)


def format_date(days: int) -> str:
    """Return epoch days as `YYYY-MM-DD`."""
    year, month, day = civil_date(days)
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{month:02d}-{day:02d}"


def format_datetime(millis: int) -> str:
    """Return epoch milliseconds as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    days, rest = divmod(millis, DAY_MILLIS)
    seconds, milli = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{format_date(days)}T{hour:02d}:{minute:02d}:{second:02d}.{milli:03d}Z"


def epoch_days(value: Any) -> int:
    """Return a date, or epoch days, as epoch days."""
    if isinstance(value, datetime):
        value = value.date()
    return (value - _EPOCH.date()).days if isinstance(value, date) else int(value)


def epoch_millis(value: Any) -> int:
    """Return a datetime, a date, or epoch milliseconds, as epoch milliseconds."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=value.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
    return epoch_days(value) * DAY_MILLIS if isinstance(value, date) else int(value)


def _check_range(millis: int) -> int | None:
    """Return the milliseconds, or None when they cannot be stored."""
    return millis if -(2**63) <= millis < 2**63 else None


def _offset(zone: str | None) -> int | None:
    """Return an offset in minutes."""
    if zone is None or zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def _days(found: re.Match[str]) -> int | None:
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    if not 1 <= month <= 12:
        return None
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _MONTH_DAYS[month - 1] + leap:
        return None
    # Count years from March, so that the leap day is the last day of its year.
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil_date(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of epoch days."""
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
