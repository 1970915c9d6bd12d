"""Rows of one type as a file: NDJSON records, or Parquet with the columns that a load accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.base.errors import Unavailable
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.columns import arrow_type
from omnigraph.graph.model.json_rows import properties_of

Record: TypeAlias = dict[str, Any]
Format: TypeAlias = Literal["ndjson", "parquet"]

_GROUP_ROWS = 65_536
_GROUP_BYTES = 64 * 2**20
_DATETIME_TYPE = pa.timestamp("ms", "UTC")
_END_NAMES = {column: end for end, column in END_COLUMNS.items()}


def write_rows(file: IO[bytes], format: Format, table: TableType, pieces: Iterable[pa.Table]) -> int:
    """Write stored rows, blobs as bytes, and return how many there were."""
    if format == "parquet":
        return _write_parquet(file, table, pieces)
    count = 0
    for rows in pieces:
        for record in records_of(table, rows):
            file.write(record_line(record))
        count += rows.num_rows
    return count


def records_of(table: TableType, rows: pa.Table) -> Iterator[Record]:
    """Yield stored rows, blobs as bytes, as records that a load accepts."""
    ids = rows["id"].to_pylist()
    data = [{"id": id_, **values} for id_, values in zip(ids, properties_of(table, rows), strict=True)]
    if table.kind == "node":
        for values in data:
            yield {"type": table.name, "data": values}
    else:
        ends = zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)
        for values, (source, target) in zip(data, ends, strict=True):
            yield {"edge": table.name, "from": source, "to": target, "data": values}


def record_line(record: Record) -> bytes:
    """Return a record as a line of NDJSON."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def column_schema(table: TableType) -> pa.Schema:
    """Return the exported columns of a type: datetimes are timestamps, ends are `from` and `to`."""
    fixed = ("id",) if table.kind == "node" else ("id", *END_COLUMNS)
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in fixed),
            *(pa.field(item.name, _column_type(item.type), item.type.nullable) for item in table.properties),
        ]
    )


def as_columns(table: TableType, rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return stored rows, blobs as bytes, in (some of) the columns of `column_schema`."""
    stored = {_END_NAMES.get(name, name): name for name in rows.column_names}
    columns = [_export_column(rows[stored[item.name]], item, table) for item in schema]
    return pa.table(columns, schema=schema) if columns else rows.select([])


def _column_type(type_: PropertyType) -> pa.DataType:
    if type_.scalar is Scalar.BLOB:
        return pa.large_binary()
    if type_.scalar is Scalar.DATETIME:
        return pa.list_(pa.field("item", _DATETIME_TYPE)) if type_.is_list else _DATETIME_TYPE
    return arrow_type(type_)


def _export_column(column: pa.ChunkedArray, field: pa.Field, table: TableType) -> Any:
    declared = table.by_name.get(field.name)
    if declared is None or declared.type.scalar is not Scalar.DATETIME:
        return column
    if declared.type.is_list:
        return pa.array(to_plain(column, declared.type), pa.list_(pa.field("item", pa.int64()))).cast(
            field.type
        )
    # Through integers: Arrow would truncate a date64 to its day.
    return pa.chunked_array(
        [chunk.view(pa.int64()).view(_DATETIME_TYPE) for chunk in column.chunks], _DATETIME_TYPE
    )


def _write_parquet(file: IO[bytes], table: TableType, pieces: Iterable[pa.Table]) -> int:
    schema, count = column_schema(table), 0
    try:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for rows in _fill_row_groups(as_columns(table, rows, schema) for rows in pieces):
                writer.write_table(rows, row_group_size=_GROUP_ROWS)
                count += rows.num_rows
    except pa.ArrowException as error:
        raise Unavailable(f"{table.name} cannot be written as Parquet: {error}", type=table.name) from error
    return count


def _fill_row_groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield rows in pieces that are large enough for a row group."""
    held: list[pa.Table] = []
    rows = size = 0
    for piece in pieces:
        held.append(piece)
        rows, size = rows + piece.num_rows, size + piece.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.concat_tables(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_tables(held)
