"""Batches of columns into rows of a type: native where the columns plainly fit, else by the strict reader."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.load.parse.fast_json import Doubt, QuickRows, row_ids
from omnigraph.execution.load.parse.text_cells import typed_column
from omnigraph.execution.load.sources.json_rows import named_columns
from omnigraph.execution.load.sources.row_view import RowView
from omnigraph.graph.model.columns import arrow_type, table_schema

_DAY_MILLIS = 86_400_000
_PER_MILLI = {"ms": 1, "us": 1000, "ns": 1_000_000}


def table_of(catalog: Catalog, name: str) -> TableType:
    """Return the type whose columns a source has."""
    table = catalog.node(name) or catalog.edge(name)
    if table is None:
        hint = suggest(name, [item.name for item in catalog.tables])
        raise BadInput(f"the schema has no type {name!r}" + (f": {hint}" if hint else ""), type=name)
    return table


def rows_of_batch(table: TableType, view: RowView, batch: pa.RecordBatch) -> QuickRows:
    """Return the rows of a batch, or raise Doubt when the strict reader must look at each."""
    names = named_columns(batch.schema.names, view.mapping)
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"two columns are given for {table.name}.{twice[0]}: leave one out", property=twice[0])
    given = dict(zip(names, batch.columns, strict=True))
    given |= {item.name: typed_column(given[item.name], item.type) for item in table.properties
              if item.name in given and item.name in view.texts}  # fmt: skip
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
    if column is None or not _is_text(column.type):
        raise Doubt
    text = _cast(column, pa.string())
    if text.null_count:
        raise Doubt
    return text


def _stored(column: pa.Array | None, type_: PropertyType, rows: int) -> pa.Array:
    if type_.scalar is Scalar.BLOB:
        raise Doubt
    if column is None or pa.types.is_null(column.type):
        return pa.nulls(rows, arrow_type(type_))
    if type_.is_list or type_.is_vector:
        return _lists(column, type_)
    return _scalars(column, type_.scalar)


def _lists(column: pa.Array, type_: PropertyType) -> pa.Array:
    if not (pa.types.is_list(column.type) or _is_long_or_fixed(column.type)):
        raise Doubt
    members = column.flatten()
    if members.null_count:
        raise Doubt
    lengths = pc.list_value_length(column)
    if type_.is_vector and not pc.all(pc.equal(lengths, type_.vector), min_count=0).as_py():
        raise Doubt
    wanted = arrow_type(type_)
    if column.type == wanted:
        return column
    plain = _scalars(members, Scalar.F32 if type_.is_vector else type_.scalar)
    ends = pc.cumulative_sum(pc.fill_null(lengths, 0).cast(pa.int64()))
    offsets = _cast(pa.concat_arrays([pa.array([0], pa.int64()), ends]), pa.int32())
    listed = pa.list_(pa.field("item", plain.type))
    return _cast(pa.ListArray.from_arrays(offsets, plain, type=listed, mask=column.is_null()), wanted)


def _is_long_or_fixed(type_: pa.DataType) -> bool:
    return bool(pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def _scalars(column: pa.Array, scalar: Scalar) -> pa.Array:
    """Return a column as it is stored, when its type says the same or plainly less; nothing else is cast."""
    given, wanted = column.type, arrow_type(PropertyType(scalar))
    if scalar is Scalar.STRING:
        fits = _is_text(given)
    elif scalar.is_integer:
        fits = pa.types.is_integer(given) or pa.types.is_decimal(given)
    elif scalar.is_float and pa.types.is_decimal(given):
        # Arrow's own way from decimals to floats is not always to the nearest one.
        return _cast(_cast(_cast(column, pa.string()), pa.float64()), wanted)
    elif scalar.is_float:
        fits = pa.types.is_integer(given) or pa.types.is_floating(given)
    elif scalar is Scalar.DATETIME:
        return _moments(column)
    else:
        fits = given == wanted
    if not fits:
        raise Doubt
    return _cast(column, wanted)


def _is_text(given: pa.DataType) -> bool:
    if pa.types.is_dictionary(given):
        given = given.value_type
    return bool(pa.types.is_string(given) or pa.types.is_large_string(given))


def _moments(column: pa.Array) -> pa.Array:
    if column.type == pa.date64():
        return column
    if pa.types.is_date32(column.type):
        return _times(column.cast(pa.int32()).cast(pa.int64()), _DAY_MILLIS).view(pa.date64())
    if not pa.types.is_timestamp(column.type):
        raise Doubt
    numbers, unit = column.cast(pa.int64()), column.type.unit
    millis = _times(numbers, 1000) if unit == "s" else _floored(numbers, _PER_MILLI[unit])
    return millis.view(pa.date64())


def _times(numbers: pa.Array, factor: int) -> pa.Array:
    try:
        return pc.multiply_checked(numbers, pa.scalar(factor, pa.int64()))
    except pa.ArrowInvalid:
        raise Doubt from None


def _floored(numbers: pa.Array, divisor: int) -> pa.Array:
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
        raise Doubt from None
