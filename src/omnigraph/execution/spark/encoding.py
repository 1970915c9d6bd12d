"""Stored columns as Spark types, and back: unsigned numbers and dates are encoded as signed numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import EntityShape, PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_arrow, to_plain
from omnigraph.graph.model.columns import PROPERTIES, arrow_type, fixed_fields, property_names
from omnigraph.graph.model.entity_maps import convert_maps

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


_NUMBERED = [f"a{number}" for number in range(4096)]
"""The names of the fields of encoded maps, as SQL cannot write every name of a property."""


def sql_type(type_: PropertyType) -> str:
    """Return the SQL type of an encoded column."""
    if type_.is_vector:
        return "array<float>"
    kind = _SQL_TYPES[type_.scalar] if type_.map is None else _map_sql(type_.map)
    return f"array<{kind}>" if type_.is_list else kind


def encode(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Encode a stored column; of a blob only whether there is one."""
    if type_.map is not None:
        return convert_maps(column, type_, encode, _NUMBERED)
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
    if type_.map is not None:
        return convert_maps(column, type_, decode).cast(arrow_type(type_))
    if type_.scalar is Scalar.BLOB:
        return column
    if type_.vector is not None:
        return _fix_size(column, type_.vector)
    if type_.is_list and type_.scalar in _ARROW_TYPES:
        return to_arrow(
            [item and [None if part is None else int(part) for part in item] for item in column.to_pylist()],
            type_,
        )
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return column.cast(_ARROW_TYPES[type_.scalar]).view(arrow_type(type_))
    return column.cast(arrow_type(type_))


def _fix_size(lists: pa.Array, size: int) -> pa.Array:
    """Return lists as vectors; Arrow's cast crashes on some NULLs."""
    vectors = pa.FixedSizeListArray.from_arrays(lists.drop_null().flatten().cast(pa.float32()), size)
    present = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False))
    places = np.cumsum(present) - 1
    return vectors.take(pa.array(places, mask=~present))


def display_sql(name: str, type_: PropertyType) -> str:
    """Return the SQL expression of an encoded column for users."""
    if type_.map is not None:
        shown = _display_map("x" if type_.is_list else name, type_.map)
        return f"transform({name}, x -> {shown})" if type_.is_list else shown
    wanted = _DISPLAY_TYPES.get(type_.scalar)
    if wanted is None:
        return name
    made = "date_from_unix_date({})" if wanted == "date" else "timestamp_millis({})"
    return f"transform({name}, x -> {made.format('x')})" if type_.is_list else made.format(name)


def _map_sql(shape: EntityShape) -> str:
    properties = ", ".join(f"a{at}: {sql_type(item.type)}" for at, item in enumerate(shape.fields))
    fixed = len(fixed_fields(shape))
    parts = [*(f"a{at}: string" for at in range(fixed)), f"a{fixed}: struct<{properties}>"]
    return f"struct<{', '.join(parts)}>"


def _display_map(name: str, shape: EntityShape) -> str:
    fixed = fixed_fields(shape)
    inner = f"{name}.a{len(fixed)}"
    shown = zip(property_names(shape), shape.fields, strict=True)
    properties = ", ".join(
        f"'{called}', {display_sql(f'{inner}.a{at}', item.type)}" for at, (called, item) in enumerate(shown)
    )
    parts = [*(f"'{called}', {name}.a{at}" for at, called in enumerate(fixed))]
    whole = ", ".join([*parts, f"'{PROPERTIES}', named_struct({properties})"])
    return f"if({name} is null, null, named_struct({whole}))"
