"""Stored columns as types that Spark has, and back: unsigned numbers and dates travel as signed numbers."""

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
    """Return the name of the type that a column travels as."""
    if type_.is_vector:
        return "array<float>"
    return f"array<{_SQL_TYPES[type_.scalar]}>" if type_.is_list else _SQL_TYPES[type_.scalar]


def encode(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Return a stored column as it travels; of a blob only whether there is one."""
    if type_.scalar is Scalar.BLOB:
        return pc.if_else(column.is_valid(), True, pa.scalar(None, pa.bool_()))
    if type_.is_vector:
        return column.cast(pa.list_(pa.float32()))
    travelling = _ARROW_TYPES.get(type_.scalar)
    if travelling is None:
        return column.cast(arrow_type(type_))
    if type_.is_list:
        return pa.array(to_plain(column, type_), pa.list_(travelling))
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return column.view(travelling)
    return column.cast(travelling)


def decode(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Return a column that has travelled as it is stored."""
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
    """Return the expression that makes a travelling column one that people read."""
    wanted = _DISPLAY_TYPES.get(type_.scalar)
    if wanted is None:
        return name
    made = "date_from_unix_date({})" if wanted == "date" else "timestamp_millis({})"
    return f"transform({name}, x -> {made.format('x')})" if type_.is_list else made.format(name)
