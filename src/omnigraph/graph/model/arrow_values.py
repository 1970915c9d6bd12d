"""Plain Python values to Arrow arrays and back: dates are epoch numbers, lists and vectors are tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.columns import arrow_type, table_schema
from omnigraph.storage.tables.columns import blob_array

_EPOCHS = {Scalar.DATE: (pa.int32(), pa.date32()), Scalar.DATETIME: (pa.int64(), pa.date64())}

Row = Mapping[str, Any]


def to_arrow(values: Sequence[Any], type_: PropertyType) -> pa.Array:
    """Return plain values as the array that a property of this type is stored as."""
    if type_.scalar is Scalar.BLOB:
        return blob_array(values)
    if type_.scalar not in _EPOCHS:
        try:
            return pa.array(values, arrow_type(type_))
        except pa.ArrowInvalid:
            if not (type_.is_list and type_.scalar.is_float):
                raise
            # Arrow takes integers of more digits than a float for wrong, others for floats.
            return pa.array([_as_floats(value) for value in values], arrow_type(type_))
    numbers, dates = _EPOCHS[type_.scalar]
    if not type_.is_list:
        return pa.array(values, numbers).view(dates)
    lists = pa.array(values, pa.list_(pa.field("item", numbers)))
    return _with_members(lists, lists.values.view(dates), dates)


def _as_floats(members: Any) -> Any:
    return None if members is None else [None if item is None else float(item) for item in members]


def to_plain(column: pa.Array | pa.ChunkedArray, type_: PropertyType) -> list[Any]:
    """Return a stored column as plain values; a date64 read by Arrow itself would lose its time of day."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.offset and type_.is_list:
        array = pa.concat_arrays([array, array.slice(0, 0)])  # Arrow cannot give a slice other members
    if type_.scalar in _EPOCHS:
        numbers, _ = _EPOCHS[type_.scalar]
        array = (
            _with_members(array, array.values.view(numbers), numbers)
            if type_.is_list
            else array.view(numbers)
        )
    plain: list[Any] = array.to_pylist()
    if type_.is_list or type_.is_vector:
        return [None if value is None else tuple(value) for value in plain]
    return plain


def rows_to_arrow(table: TableType, rows: Sequence[Row]) -> pa.Table:
    """Return plain rows, with ids and endpoints, as a table of this type."""
    schema = table_schema(table)
    fixed = [
        pa.array([row[name] for row in rows], pa.string()) for name in schema.names[: _count_fixed(table)]
    ]
    columns = [to_arrow([row[item.name] for row in rows], item.type) for item in table.properties]
    return pa.table([*fixed, *columns], schema=schema)


def rows_to_plain(table: TableType, rows: pa.Table) -> list[dict[str, Any]]:
    """Return stored rows as plain ones; only the columns that are there."""
    names, columns = rows.column_names, []
    for name in names:
        declared = table.by_name.get(name)
        columns.append(to_plain(rows[name], declared.type) if declared else rows[name].to_pylist())
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _count_fixed(table: TableType) -> int:
    return 1 if table.kind == "node" else 3


def _with_members(lists: pa.ListArray, members: pa.Array, member_type: pa.DataType) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        lists.offsets, members, type=pa.list_(pa.field("item", member_type)), mask=lists.is_null()
    )
