"""The cells of a column as the values that the strict reader judges."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import PropertyType, Scalar

_MILLIS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}
_DAY_MILLIS = 86_400_000


def python_values(column: pa.Array, type_: PropertyType | None) -> list[Any]:
    """Return the values of a column that is meant for a property of this type; None for no property."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):  # a date or a moment that Python has no value for
        values = [_value(cell, type_) for cell in column]
    return values


def _value(cell: pa.Scalar, type_: PropertyType | None) -> Any:
    """Return one value; a moment beyond Python's calendar as its epoch number where one may be given."""
    try:
        return cell.as_py()
    except (OverflowError, ValueError):
        pass
    scalar = type_.scalar if type_ and not type_.is_list else None
    if scalar is Scalar.DATE and pa.types.is_date32(cell.type):
        return cell.value
    if scalar is Scalar.DATETIME and pa.types.is_date32(cell.type):
        return cell.value * _DAY_MILLIS
    if scalar is Scalar.DATETIME and pa.types.is_timestamp(cell.type):
        factor, divisor = _MILLIS[cell.type.unit]
        return cell.value * factor // divisor
    return {"unreadable": str(cell.type)}  # an object, which no property takes
