"""The cells of a column as the values that the strict reader judges."""

from __future__ import annotations

import math
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.load.parse.fast_json import Doubt
from omnigraph.graph.model.columns import arrow_type

_MILLIS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}
_DAY_MILLIS = 86_400_000
_INTEGER = r"^[+-]?[0-9]{1,40}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_PLAIN_INTEGER = r"^-?[0-9]{1,20}$"
_PLAIN_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PLAIN_MOMENT = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_BOOLS = {"true": True, "false": False}


def python_values(column: pa.Array, type_: PropertyType | None) -> list[Any]:
    """Return the values of a column that is meant for a property of this type; None for no property."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):  # a date or a moment that Python has no value for
        values = [_value(cell, type_) for cell in column]
    return values


def read_texts(column: pa.Array, type_: PropertyType | None) -> list[Any]:
    """Return the values that texts stand for; a text that stands for none stays, for the strict reader."""
    texts: list[str | None] = column.to_pylist()
    return texts if type_ is None else [read_text(text, type_) for text in texts]


def typed_column(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Return what a column of texts stands for, or raise Doubt when not all of them are plain."""
    scalar = type_.scalar
    if type_.is_list or type_.is_vector:
        raise Doubt
    if scalar in (Scalar.STRING, Scalar.BLOB):
        return column
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if scalar.is_integer:
        return _plain(texts, _PLAIN_INTEGER, arrow_type(type_))
    if scalar.is_float:
        return _plain(texts, _NUMBER, pa.float64())
    if scalar is Scalar.BOOL:
        return _plain(pc.ascii_lower(texts), "^(true|false)$", pa.bool_())
    if scalar is Scalar.DATETIME and pc.any(pc.match_substring(texts, ":")).as_py():
        return _plain(pc.replace_substring_regex(texts, "Z$", ""), _PLAIN_MOMENT, pa.timestamp("us"))
    return _plain(texts, _PLAIN_DATE, pa.date32())


def _plain(texts: pa.Array, form: str, wanted: pa.DataType) -> pa.Array:
    if not pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py():
        raise Doubt
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:
        raise Doubt from None


def read_text(text: str | None, type_: PropertyType) -> Any:
    """Return the value that a text stands for; one that stands for none stays, for the strict reader."""
    scalar = type_.scalar
    if text is None or (scalar is Scalar.STRING and not type_.is_list):
        return text
    plain = text.strip()
    if not plain:
        return None
    if type_.is_list or type_.is_vector:
        return text
    if scalar.is_integer:
        return int(plain) if re.match(_INTEGER, plain, re.ASCII) else text
    if scalar.is_float:
        number = float(plain) if re.match(_NUMBER, plain, re.ASCII) else math.inf
        return number if math.isfinite(number) else text  # as text, a rejected record stays JSON
    if scalar is Scalar.BOOL:
        return _BOOLS.get(plain.lower(), text)
    return plain


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
