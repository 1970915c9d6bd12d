"""JSON values of records into plain stored values, strictly."""

from __future__ import annotations

import base64
import binascii
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.compiler.values.dates import parse_date, parse_datetime
from omnigraph.compiler.values.decimals import plain_number
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.graph.write.integrity.json_values import python_value

_BASE64 = "base64:"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = STORED_RANGES[Scalar.I32]
_MILLIS = STORED_RANGES[Scalar.I64]


def convert(value: Any, type_: PropertyType) -> Any:
    """Return a JSON value as a property of this type stores it, or raise ValueError with the reason."""
    value = _plain(value)
    if value is None:
        if type_.nullable:
            return None
        raise ValueError("is required and has null or invalid values")
    if type_.vector is not None:
        return _vector(value, type_.vector)
    if type_.is_list:
        if not isinstance(value, list | tuple):
            raise ValueError(f"needs an array, found {kind_of(value)}")
        return tuple(_scalar(_plain(item), type_.scalar) for item in value)
    return _scalar(value, type_.scalar)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return plain_number(value)
    return python_value(value) if isinstance(value, np.generic | np.ndarray) else value


def _vector(value: Any, dimension: int) -> tuple[float, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"needs an array of {dimension} numbers, found {kind_of(value)}")
    if len(value) != dimension:
        raise ValueError(f"needs exactly {dimension} numbers, found {len(value)}")
    return tuple(_float(_plain(item), Scalar.F32) for item in value)


def _scalar(value: Any, scalar: Scalar) -> Any:
    if value is None:
        raise ValueError("has a null inside a list")
    if scalar.is_integer:
        return _integer(value, scalar)
    if scalar.is_float:
        return _float(value, scalar)
    if scalar is Scalar.BOOL:
        if not isinstance(value, bool):
            raise ValueError(f"needs true or false, found {kind_of(value)}")
        return value
    if scalar in (Scalar.DATE, Scalar.DATETIME):
        return _moment(value, scalar)
    if isinstance(value, bytes) and scalar is Scalar.BLOB:
        return value
    if not isinstance(value, str):
        raise ValueError(f"needs a string, found {kind_of(value)}")
    return _blob(value) if scalar is Scalar.BLOB else checked_text(value)


def checked_text(value: str) -> str:
    """Return a text that can be stored, or raise ValueError."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half of a surrogate pair, which is no character") from None
    return value


def _integer(value: Any, scalar: Scalar) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"needs an integer, found {kind_of(value)}")
    low, high = STORED_RANGES[scalar]
    if not low <= value <= high:
        raise ValueError(f"is {value}, which exceeds the range of {scalar}")
    return value


def _float(value: Any, scalar: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"needs a number, found {kind_of(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if scalar is Scalar.F32:
        number = round_f32(number)
    if math.isnan(number):
        raise ValueError("is no number: only finite ones are stored")
    if not math.isfinite(number):
        raise ValueError(f"exceeds the range of {scalar}")
    return number


def _moment(value: Any, scalar: Scalar) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = _DAYS if scalar is Scalar.DATE else _MILLIS
        if not low <= value <= high:
            raise ValueError(f"is {value}, which exceeds the range of {scalar}")
        return value
    if isinstance(value, date):
        return _from_date(value, scalar)
    if not isinstance(value, str):
        raise ValueError(f"needs a {scalar} text or an epoch number, found {kind_of(value)}")
    found = parse_date(value) if scalar is Scalar.DATE else parse_datetime(value)
    if found is None:
        form = "YYYY-MM-DD" if scalar is Scalar.DATE else "ISO 8601, such as 2026-01-31T12:00:00Z"
        raise ValueError(f"is {value[:40]!r}, which is no {scalar}: write {form}")
    return found


def _from_date(value: date, scalar: Scalar) -> int:
    if scalar is Scalar.DATE:
        if isinstance(value, datetime):
            raise ValueError("needs a date, found a moment")
        return (value - _EPOCH.date()).days
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)


def _blob(value: str) -> bytes:
    if not value.startswith(_BASE64):
        raise ValueError("names an external source, which no policy allows: inline the bytes as base64:…")
    try:
        return base64.b64decode(value[len(_BASE64) :], validate=True)
    except binascii.Error as error:
        raise ValueError(f"is not valid base64: {error}") from None
