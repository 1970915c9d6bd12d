"""Rows of one version of a table in the columns of another, as Arrow and as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import SchemaChangeUnsupported
from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.changes.pairing import ColumnPair, pair_columns
from omnigraph.graph.model.arrow_values import rows_to_plain, to_arrow
from omnigraph.graph.model.columns import is_blob_property, table_schema
from omnigraph.storage.tables.columns import blob_array

_BYTES = pa.large_binary()


def schema_of_images(table: TableType) -> pa.Schema:
    """Return the schema of rows that are compared and checked: blobs as bytes, nothing required."""
    return pa.schema([pa.field(item.name, _type(table, item)) for item in table_schema(table)])


def migrate(rows: pa.Table, old: TableType, new: TableType) -> pa.Table:
    """Return whole rows of a version with type `old` as a version with type `new` would have them."""
    columns = {"id": rows["id"]}
    for pair in pair_columns(old, new):
        if pair.old is not None:
            found = rows[pair.old]
            columns[pair.new] = found if pair.cast is None else _cast(found, pair, new)
        elif new.by_name[pair.new].type.scalar is Scalar.BLOB:
            columns[pair.new] = pa.nulls(rows.num_rows, _BYTES)
        else:
            columns[pair.new] = pair.default_values(rows.num_rows)
    schema = schema_of_images(new)
    return pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)


def _cast(values: pa.ChunkedArray, pair: ColumnPair, new: TableType) -> pa.ChunkedArray:
    """Return values in another type; only where a wider type is taken back they may not fit."""
    try:
        return values.cast(pair.cast)
    except pa.ArrowInvalid as error:
        name = f"{new.name}.{pair.new}"
        raise SchemaChangeUnsupported(
            f"the type of {name} cannot go back to {new.by_name[pair.new].type}: stored values do not fit "
            "into it, change them first",
            migration_code=MigrationCode.TYPE_CHANGE.value,
            entity=f"{new.kind}:{name}",
        ) from error


def plain_by_id(table: TableType, rows: pa.Table) -> dict[str, dict[str, Any]]:
    """Return rows as plain values by id."""
    found = rows_to_plain(table, rows)
    return {row.pop("id"): row for row in found}


def from_plain(table: TableType, rows: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    """Return plain rows by id as rows that can be compared and checked."""
    schema = schema_of_images(table)
    columns: list[pa.Array] = []
    for field in schema:
        values: Sequence[Any] = (
            list(rows) if field.name == "id" else [row[field.name] for row in rows.values()]
        )
        declared = table.by_name.get(field.name)
        if declared is None or field.type == _BYTES:
            columns.append(pa.array(values, field.type))
        else:
            columns.append(to_arrow(values, declared.type))
    return pa.table(columns, schema=schema)


def storable(table: TableType, rows: pa.Table) -> pa.Table:
    """Return checked rows as a table of this type stores them."""
    schema = table_schema(table)
    columns = [
        blob_array(rows[field.name].to_pylist())
        if is_blob_property(table, field.name)
        else rows[field.name].combine_chunks().cast(field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _type(table: TableType, field: pa.Field) -> pa.DataType:
    return _BYTES if is_blob_property(table, field.name) else field.type
