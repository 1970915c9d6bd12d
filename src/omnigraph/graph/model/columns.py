"""The physical columns of a type's table."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.compiler.types import EntityShape, PropertyType, Scalar
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
    """Return the Arrow type of a property that is not a blob, or of the map of a node or edge."""
    if type_.vector is not None:
        return pa.list_(pa.field("item", pa.float32()), type_.vector)
    scalar = _SCALARS[type_.scalar] if type_.map is None else _map_type(type_.map)
    return pa.list_(pa.field("item", scalar)) if type_.is_list else scalar


PROPERTIES = "properties"
"""The field of a map that has the properties."""


def fixed_fields(shape: EntityShape) -> list[str]:
    """Return the fields of a map beside its properties; all are strings."""
    return ["type", "id", "from", "to"] if shape.is_edge else ["type", "id"]


def property_names(shape: EntityShape) -> list[str]:
    """Return the names of the properties of a map, with their types where several have one name."""
    names = [item.name for item in shape.fields]
    shown = [replace(item.type, nullable=False, enum=None) for item in shape.fields]
    return [
        f"{name} ({type_})" if names.count(name) > 1 else name
        for name, type_ in zip(names, shown, strict=True)
    ]


def _map_type(shape: EntityShape) -> pa.DataType:
    stored = zip(property_names(shape), shape.fields, strict=True)
    properties = pa.struct([pa.field(name, arrow_type(item.type)) for name, item in stored])
    fixed = [pa.field(name, pa.string()) for name in fixed_fields(shape)]
    return pa.struct([*fixed, pa.field(PROPERTIES, properties)])


def property_field(item: Property) -> pa.Field:
    """Return the field of a property."""
    if item.type.scalar is Scalar.BLOB:
        return blob_field(item.name, item.type.nullable)
    return pa.field(item.name, arrow_type(item.type), nullable=item.type.nullable)


def is_blob_property(table: TableType, name: str) -> bool:
    """Return whether a column of a table holds blobs, which are not read with the others."""
    declared = table.by_name.get(name)
    return declared is not None and declared.type.scalar is Scalar.BLOB
