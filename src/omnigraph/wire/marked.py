"""Values that callers give, as JSON that says which of our types each is: dates, bytes, infinite floats.

A value that JSON has no form for is an object with one member, whose name says what it is.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from omnigraph.base.errors import BadInput

_MAP = "@map"
_EPOCH_YEAR = 1970
_READERS: Mapping[str, Callable[[str], Any]] = {
    "@bytes": base64.b64decode,
    "@date": date.fromisoformat,
    "@datetime": datetime.fromisoformat,
    "@decimal": Decimal,
    "@float": float,
}


def mark(value: Any) -> Any:
    """Return a value as JSON data from which `unmark` makes the same value."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"@float": repr(float(value))}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"@bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        if value != value:  # noqa: PLR0124 - NaT of pandas, the only one unlike itself, is NULL
            return None
        return {"@datetime": value.isoformat()}
    if isinstance(value, date):
        return {"@date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"@decimal": str(value)}
    if isinstance(value, Mapping):
        return {_MAP: {str(name): mark(item) for name, item in value.items()}}
    if isinstance(value, list | tuple):
        return [mark(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        is_moment = getattr(getattr(value, "dtype", None), "kind", None) == "M"
        return mark(_moments(value) if is_moment else value.tolist())
    raise BadInput(f"a {type(value).__name__} cannot be sent to a server: use a string, a number or a list")


def _moments(value: Any) -> Any:
    """Return dates and datetimes of NumPy; those beyond Python's calendar as strings and numbers."""
    if value.dtype != "datetime64[D]":  # others may count nanoseconds, which Python shows as bare numbers
        return value.astype("datetime64[ms]").tolist()
    found = value.tolist()
    if isinstance(found, list):
        return [_moments(item) for item in value]
    if not isinstance(found, int):
        return found
    year = int(value.astype("datetime64[Y]").astype(int)) + _EPOCH_YEAR
    return f"{year:+05d}{str(value)[-len('-01-01') :]}"


def unmark(data: Any) -> Any:
    """Return the value that marked JSON data stands for."""
    if isinstance(data, list):
        return [unmark(item) for item in data]
    if not isinstance(data, Mapping):
        return data
    if len(data) == 1:
        ((name, held),) = data.items()
        if name == _MAP and isinstance(held, Mapping):
            return {key: unmark(item) for key, item in held.items()}
        if name in _READERS and isinstance(held, str):
            try:
                return _READERS[name](held)
            except (ValueError, ArithmeticError):
                raise BadInput(f"{held!r} cannot be read as {name.removeprefix('@')}") from None
    return {key: unmark(item) for key, item in data.items()}
