"""Result values to JSON."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.dates import epoch_days, epoch_millis, format_date, format_datetime

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def to_json(value: Any, type_: PropertyType) -> Json:
    """Return a result value as JSON data; dates may be epoch numbers or Python's own types."""
    if value is None:
        return None
    if type_.is_vector:
        return [float(item) if item is not None and math.isfinite(item) else None for item in value]
    if type_.is_list:
        return [None if item is None else _scalar(item, type_.scalar) for item in value]
    return _scalar(value, type_.scalar)


def _scalar(value: Any, scalar: Scalar) -> Json:
    if scalar is Scalar.DATE:
        return format_date(epoch_days(value))
    if scalar is Scalar.DATETIME:
        return format_datetime(epoch_millis(value))
    if scalar is Scalar.BOOL:
        return bool(value)
    if scalar.is_float:
        return _number(float(value))
    if scalar.is_integer:
        return int(value)
    return str(value)


def _number(value: float) -> Json:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
