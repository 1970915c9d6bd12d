"""Batches of columns into rows of a type: native where the columns plainly fit, else by the strict reader."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog, PropertyType, Scalar, TableType
from omnigraph.execution.load.quick import Doubt, QuickRows, row_ids
from omnigraph.execution.load.sources import TableSource
from omnigraph.graph.columns import arrow_type, table_schema


def table_of(catalog: Catalog, source: TableSource) -> TableType:
    """Return the type whose columns a source has."""
    table = catalog.node(source.table) or catalog.edge(source.table)
    if table is None:
        raise BadInput(f"the schema has no type {source.table!r}", type=source.table)
    return table


def rows_of_batch(catalog: Catalog, source: TableSource, batch: pa.RecordBatch) -> QuickRows:
    """Return the rows of a batch, or raise Doubt when the strict reader must look at each."""
    table = table_of(catalog, source)
    names = [source.mapping.get(name, name) for name in batch.schema.names]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"two columns are given for {table.name}.{twice[0]}: leave one out", property=twice[0])
    given = dict(zip(names, batch.columns, strict=True))
    ends = {"from": "src", "to": "dst"} if table.kind == "edge" else {}
    if set(given) - set(table.by_name) - {"id", *ends}:
        raise Doubt
    columns = {
        item.name: _stored(given.get(item.name), item.type, batch.num_rows) for item in table.properties
    }
    if any(item.default is not None and item.name not in given for item in table.properties):
        raise Doubt
    required = (item for item in table.properties if not item.type.nullable and item.embed is None)
    if any(columns[item.name].null_count for item in required):
        raise Doubt
    for end, column in ends.items():
        columns[column] = _text(given.get(end))
    explicit_ids = _text(given["id"]) if "id" in given else pa.nulls(batch.num_rows, pa.string())
    columns["id"], explicit = row_ids(table, columns, explicit_ids)
    return QuickRows(table, _assembled(table, columns), pa.array([], pa.int64()), explicit)


def _assembled(table: TableType, columns: dict[str, pa.Array]) -> pa.Table:
    schema = table_schema(table)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _text(column: pa.Array | None) -> pa.Array:
    if column is None or column.null_count:
        raise Doubt
    return _cast(column, pa.string())


def _stored(column: pa.Array | None, type_: PropertyType, rows: int) -> pa.Array:
    if type_.scalar is Scalar.BLOB:
        raise Doubt
    if column is None:
        return pa.nulls(rows, arrow_type(type_))
    if type_.is_list or type_.is_vector:
        if column.type != arrow_type(type_):
            raise Doubt
        return column
    if type_.scalar is Scalar.DATETIME:
        if not pa.types.is_timestamp(column.type):
            raise Doubt
        return pc.cast(column, pa.timestamp("ms"), safe=False).view(pa.int64()).view(pa.date64())
    if type_.scalar is Scalar.DATE and column.type != pa.date32():
        raise Doubt
    if pa.types.is_floating(column.type) and not type_.scalar.is_float:
        raise Doubt
    if pa.types.is_string(column.type) != (type_.scalar is Scalar.STRING):
        raise Doubt
    return _cast(column, arrow_type(type_))


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    try:
        return column if column.type == wanted else pc.cast(column, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise Doubt from None
