"""Stored columns as Spark types, and back: unsigned numbers and dates are encoded as signed numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_arrow, to_plain
from omnigraph.graph.model.columns import arrow_type

_SQL_TYPES = {
    Scalar.STRING: "string",
    Scalar.BOOL: "boolean",
    Scalar.I32: "int",
    Scalar.I64: "bigint",
    Scalar.U32: "bigint",
    Scalar.U64: "decimal(20,0)",
    Scalar.F32: "float",
    Scalar.F64: "double",
    Scalar.DATE: "int",
    Scalar.DATETIME: "bigint",
    Scalar.BLOB: "boolean",
}
_ARROW_TYPES = {
    Scalar.U32: pa.int64(),
    Scalar.U64: pa.decimal128(20, 0),
    Scalar.DATE: pa.int32(),
    Scalar.DATETIME: pa.int64(),
}
_DISPLAY_TYPES = {Scalar.DATE: "date", Scalar.DATETIME: "timestamp"}


def sql_type(type_: PropertyType) -> str:
    """Return the SQL type of an encoded column."""
    if type_.is_vector:
        return "array<float>"
    return f"array<{_SQL_TYPES[type_.scalar]}>" if type_.is_list else _SQL_TYPES[type_.scalar]


def encode(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Encode a stored column; of a blob only whether there is one."""
    if type_.scalar is Scalar.BLOB:
        return pc.if_else(column.is_valid(), True, pa.scalar(None, pa.bool_()))
    if type_.is_vector:
        return column.cast(pa.list_(pa.float32()))
    encoded_type = _ARROW_TYPES.get(type_.scalar)
    if encoded_type is None:
        return column.cast(arrow_type(type_))
    if type_.is_list:
        return pa.array(to_plain(column, type_), pa.list_(encoded_type))
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return column.view(encoded_type)
    return column.cast(encoded_type)


def decode(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Decode a column to its stored form."""
    if type_.scalar is Scalar.BLOB:
        return column
    if type_.is_list and type_.scalar in _ARROW_TYPES:
        return to_arrow(
            [None if item is None else list(map(int, item)) for item in column.to_pylist()], type_
        )
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return column.cast(_ARROW_TYPES[type_.scalar]).view(arrow_type(type_))
    return column.cast(arrow_type(type_))


def display_sql(name: str, type_: PropertyType) -> str:
    """Return the SQL expression of an encoded column for users."""
    wanted = _DISPLAY_TYPES.get(type_.scalar)
    if wanted is None:
        return name
    made = "date_from_unix_date({})" if wanted == "date" else "timestamp_millis({})"
    return f"transform({name}, x -> {made.format('x')})" if type_.is_list else made.format(name)
