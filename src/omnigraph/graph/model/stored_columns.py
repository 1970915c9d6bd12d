"""Columns of Arrow as a property stores them: the rule of `compiler.values.accept`, for whole columns.

A column is taken only when every value of it is beyond doubt; the others are read strictly, value by value.
Numbers that are not finite stay for the rules over a batch, which say in which rows they are.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.columns import arrow_type

_PER_MILLI = {"ms": 1, "us": 1000, "ns": 1_000_000}
_PLAIN_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PLAIN_DATETIME = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"


class NeedsStrictReader(Exception):
    """Raised where the fast path cannot decide: the strict reader must read the values."""


def to_stored(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Return a column as a property of this type stores it, or raise NeedsStrictReader."""
    if type_.scalar is Scalar.BLOB:
        raise NeedsStrictReader
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), arrow_type(type_))
    if type_.is_list or type_.is_vector:
        return _lists(column, type_)
    return _scalars(column, type_.scalar)


def parse_texts(texts: pa.Array, form: str, wanted: pa.DataType) -> pa.Array:
    """Parse strings of one form, or raise NeedsStrictReader unless all of them have it."""
    if not pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py():
        raise NeedsStrictReader
    return _cast(texts, wanted)


def _lists(column: pa.Array, type_: PropertyType) -> pa.Array:
    given, wanted = column.type, arrow_type(type_)
    if not (pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given)):
        raise NeedsStrictReader
    members = column.flatten()
    if members.null_count:
        raise NeedsStrictReader
    lengths = pc.list_value_length(column)
    if type_.is_vector and not pc.all(pc.equal(lengths, type_.vector), min_count=0).as_py():
        raise NeedsStrictReader
    plain = _scalars(members, type_.scalar)
    if given == wanted:
        return column
    ends = pc.cumulative_sum(pc.fill_null(lengths, 0).cast(pa.int64()))
    offsets = _cast(pa.concat_arrays([pa.array([0], pa.int64()), ends]), pa.int32())
    listed = pa.list_(pa.field("item", plain.type))
    return _cast(pa.ListArray.from_arrays(offsets, plain, type=listed, mask=column.is_null()), wanted)


def _scalars(column: pa.Array, scalar: Scalar) -> pa.Array:
    """Return a column as it is stored, when its type says the same or plainly less; nothing else is cast."""
    given, wanted = column.type, arrow_type(PropertyType(scalar))
    if scalar is Scalar.STRING:
        return _texts(column)
    if given == wanted:
        return column
    if scalar in (Scalar.DATE, Scalar.DATETIME):
        return _dates(column, scalar)
    if scalar.is_float and pa.types.is_decimal(given):
        # Arrow's own way from decimals to floats is not always to the nearest one.
        column, fits = _cast(_cast(column, pa.string()), pa.float64()), True
    elif scalar.is_float:
        fits = pa.types.is_integer(given) or pa.types.is_floating(given)
    else:
        fits = scalar.is_integer and (pa.types.is_integer(given) or pa.types.is_decimal(given))
    if not fits:
        raise NeedsStrictReader
    return _cast(column, wanted)


def _texts(column: pa.Array) -> pa.Array:
    """Return strings; Arrow takes bytes that are not UTF-8 for them, and no table with such could be read."""
    if not is_string(column.type):
        raise NeedsStrictReader
    texts = _cast(column, pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise NeedsStrictReader from None
    return texts


def is_string(given: pa.DataType) -> bool:
    """Return whether a column of this type holds strings."""
    if pa.types.is_dictionary(given):
        given = given.value_type
    return bool(pa.types.is_string(given) or pa.types.is_large_string(given))


def _dates(column: pa.Array, scalar: Scalar) -> pa.Array:
    if is_string(column.type):
        column = _parse_dates(_cast(column, pa.string()), scalar)
    given = column.type
    if pa.types.is_date32(given):
        return _cast(column, arrow_type(PropertyType(scalar)))
    if scalar is Scalar.DATE or not pa.types.is_timestamp(given):
        raise NeedsStrictReader
    if given.unit == "s":
        return _cast(column, pa.timestamp("ms", given.tz)).cast(pa.int64()).view(pa.date64())
    return divide_down(column.cast(pa.int64()), _PER_MILLI[given.unit]).view(pa.date64())


def _parse_dates(texts: pa.Array, scalar: Scalar) -> pa.Array:
    """Return dates and datetimes that are written out in full; other forms are the strict reader's."""
    if scalar is Scalar.DATETIME and pc.any(pc.match_substring(texts, ":")).as_py():
        return parse_texts(pc.replace_substring_regex(texts, "Z$", ""), _PLAIN_DATETIME, pa.timestamp("us"))
    return parse_texts(texts, _PLAIN_DATE, pa.date32())


def divide_down(numbers: pa.Array, divisor: int) -> pa.Array:
    """Divide, rounding down: Arrow rounds towards zero, which moves what is before 1970 forward."""
    if divisor == 1:
        return numbers
    quotient = pc.divide(numbers, divisor)
    short = pc.less(numbers, pc.multiply(quotient, divisor))
    return pc.subtract(quotient, short.cast(pa.int64()))


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    try:
        return column if column.type == wanted else pc.cast(column, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise NeedsStrictReader from None
