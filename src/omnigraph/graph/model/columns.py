"""The physical columns of a type's table."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.storage.tables.columns import blob_field

_SCALARS = {
    Scalar.STRING: pa.string(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.date64(),
}


def table_schema(table: TableType) -> pa.Schema:
    """Return the Arrow schema of a table: id, endpoints of an edge, then properties by name."""
    names = ("id",) if table.kind == "node" else ("id", "src", "dst")
    fixed = [pa.field(name, pa.string(), nullable=False) for name in names]
    return pa.schema([*fixed, *(property_field(item) for item in table.properties)])


def arrow_type(type_: PropertyType) -> pa.DataType:
    """Return the Arrow type of a property that is not a blob."""
    if type_.vector is not None:
        return pa.list_(pa.field("item", pa.float32()), type_.vector)
    scalar = _SCALARS[type_.scalar]
    return pa.list_(pa.field("item", scalar)) if type_.is_list else scalar


def property_field(item: Property) -> pa.Field:
    """Return the field of a property."""
    if item.type.scalar is Scalar.BLOB:
        return blob_field(item.name, item.type.nullable)
    return pa.field(item.name, arrow_type(item.type), nullable=item.type.nullable)


def is_blob_property(table: TableType, name: str) -> bool:
    """Return whether a column of a table holds blobs, which are not read with the others."""
    declared = table.by_name.get(name)
    return declared is not None and declared.type.scalar is Scalar.BLOB
