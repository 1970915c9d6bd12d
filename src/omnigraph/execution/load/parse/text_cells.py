"""The cells of a column as values for the strict reader."""

from __future__ import annotations

import math
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.columns import arrow_type
from omnigraph.graph.model.stored_columns import (
    NeedsStrictReader,
    divide_down,
    is_string,
    parse_texts,
    to_stored,
)

_INTEGER_PATTERN = r"^[+-]?[0-9]{1,40}$"
_NUMBER_PATTERN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_PLAIN_INTEGER_PATTERN = r"^-?[0-9]{1,20}$"
_BOOLS = {"true": True, "false": False}


def to_python_values(column: pa.Array, type_: PropertyType | None) -> list[Any]:
    """Return the values of a column for a property of this type; None if there is no such property.

    Dates beyond the range of Python are returned as epoch numbers if the property accepts them.
    """
    if _counts_nanoseconds(column.type):
        micros: list[Any] = _as_micros(column).to_pylist()
        return micros
    if _counts_nanoseconds(getattr(column.type, "value_type", None)):
        return [to_python_values(cell.values, type_) if cell.is_valid else None for cell in column]
    has_dates = type_ is not None and type_.scalar in (Scalar.DATE, Scalar.DATETIME)
    try:
        if not (has_dates and _holds_date64(column.type)):
            values: list[Any] = column.to_pylist()
            return values
    except (OverflowError, ValueError):
        pass
    try:
        if type_ is not None and has_dates:
            return to_plain(to_stored(column, type_), type_)
    except NeedsStrictReader:
        pass
    return [_to_python(cell, type_) for cell in column]


def _holds_date64(given: pa.DataType) -> bool:
    """Return whether a column, or its lists, hold date64, whose time of day Python drops."""
    return bool(pa.types.is_date64(getattr(given, "value_type", given)))


def _counts_nanoseconds(given: pa.DataType | None) -> bool:
    """Return whether a column holds moments that Python has no type for, and pandas none for the first."""
    return given is not None and pa.types.is_timestamp(given) and given.unit == "ns"


def _as_micros(column: pa.Array) -> pa.Array:
    return divide_down(column.cast(pa.int64()), 1000).view(pa.timestamp("us", column.type.tz))


def read_texts(column: pa.Array, type_: PropertyType | None) -> list[Any]:
    """Parse strings by type; one that cannot be parsed stays as it is, for the strict reader to report."""
    texts: list[str | None] = column.to_pylist()
    return texts if type_ is None else [read_text(text, type_) for text in texts]


def cells_to_stored(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Parse a column of strings into its stored form, or raise NeedsStrictReader unless all are canonical."""
    scalar = type_.scalar
    if scalar in (Scalar.STRING, Scalar.BLOB) or pa.types.is_null(column.type):
        return to_stored(column, type_)
    if type_.is_list or type_.is_vector:
        raise NeedsStrictReader
    cells = pc.utf8_trim_whitespace(column)
    cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)
    if scalar.is_integer:
        return parse_texts(cells, _PLAIN_INTEGER_PATTERN, arrow_type(type_))
    if scalar.is_float:
        cells = parse_texts(cells, _NUMBER_PATTERN, pa.float64())
    elif scalar is Scalar.BOOL:
        return parse_texts(pc.ascii_lower(cells), "^(true|false)$", pa.bool_())
    return to_stored(cells, type_)


def read_text(text: str | None, type_: PropertyType) -> Any:
    """Parse a string by type; one that cannot be parsed stays as it is, for the strict reader to report."""
    scalar = type_.scalar
    if text is None or (scalar is Scalar.STRING and not type_.is_list):
        return text
    plain = text.strip()
    if not plain:
        return None
    if type_.is_list or type_.is_vector:
        return text
    if scalar.is_integer:
        return int(plain) if re.match(_INTEGER_PATTERN, plain, re.ASCII) else text
    if scalar.is_float:
        number = float(plain) if re.match(_NUMBER_PATTERN, plain, re.ASCII) else math.inf
        return number if math.isfinite(number) else text  # as a string, a rejected record stays JSON
    if scalar is Scalar.BOOL:
        return _BOOLS.get(plain.lower(), text)
    return plain


def _to_python(cell: pa.Scalar, type_: PropertyType | None) -> Any:
    """Return one value; what Python or a string cannot hold as something that is refused later.

    That is an epoch number for a datetime beyond Python's range, and a string with halves of surrogate pairs
    for bytes that are not UTF-8.
    """
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        if is_string(cell.type):
            return pc.cast(cell, pa.binary()).as_py().decode(errors="surrogateescape")
        if isinstance(cell, pa.ListScalar):
            return [_to_python(member, type_) for member in cell.values]
    except (OverflowError, ValueError):
        pass
    wants_datetime = type_ is not None and type_.scalar is Scalar.DATETIME
    if wants_datetime and pa.types.is_timestamp(cell.type) and cell.type.unit == "s":
        return cell.value * 1000
    return {"unreadable": str(cell.type)}  # an object, which no property accepts
