"""Values of any Python program as JSON: in the form that a load takes, where it takes such a value at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from omnigraph.base.blob_text import blob_to_text
from omnigraph.compiler.values.plain import plain_value

_MAX_INTEGER_BITS = 12_000
"""In bits; Python writes no longer ones in decimal."""


def as_json(value: Any) -> Any:
    """Return a value as JSON data; what JSON and the load format have no form for becomes a text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() < _MAX_INTEGER_BITS else f"{value:#x}"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _no_number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return blob_to_text(value)
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else _text(name): as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [as_json(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return as_json(python_value(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, date):
        return _moment(value) if value == value else None  # noqa: PLR0124 - NaT of pandas is unlike itself
    return _text(value)


def python_value(value: np.generic | np.ndarray[Any, Any]) -> Any:
    """Return a value of NumPy as the plain value that it stands for."""
    if value.dtype.kind != "M":
        return value.tolist()
    days = value.dtype == "datetime64[D]"
    found = value.astype("datetime64[D]" if days else "datetime64[us]").tolist()
    members = found if isinstance(found, list) else [found]
    # Beyond Python's calendar they are bare numbers, of days or microseconds.
    return plain_value(value) if any(isinstance(item, int) for item in members) else found


def _no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> int | float | str:
    if not value.is_finite() or abs(value.adjusted()) > 300:
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def _moment(value: date) -> str:
    try:
        if isinstance(value, datetime) and value.tzinfo is not None:
            # Offsets of the past have seconds, which no load reads.
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return value.isoformat()
    except (OverflowError, ValueError):
        return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"a Python {type(value).__name__}"
