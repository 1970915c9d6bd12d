"""Batches of columns into rows of a type, in Arrow if the columns fit; else by the strict reader."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.keys import EndTypes
from omnigraph.compiler.catalog.model import END_COLUMNS, Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.load.parse.fast_json import BlockRows, make_ids
from omnigraph.execution.load.parse.text_cells import cells_to_stored
from omnigraph.execution.load.sources.json_rows import property_names
from omnigraph.execution.load.sources.row_view import RowView
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.model.key_ids import canonical_texts
from omnigraph.graph.model.stored_columns import NeedsStrictReader, is_string, to_stored

_INTEGER_PATTERN = r"^-?[0-9]+$"
_STRING_TYPE = PropertyType(Scalar.STRING)


def table_of(catalog: Catalog, name: str) -> TableType:
    """Return the type with this name; refuse an unknown one."""
    table = catalog.node(name) or catalog.edge(name)
    if table is None:
        hint = suggest(name, [item.name for item in catalog.tables])
        raise BadInput(f"the schema has no type {name!r}" + (f": {hint}" if hint else ""), type=name)
    return table


def rows_of_batch(table: TableType, view: RowView, batch: pa.RecordBatch, end_types: EndTypes) -> BlockRows:
    """Return the rows of a batch, or raise NeedsStrictReader if the strict reader must read them."""
    names = property_names(batch.schema.names, view.mapping)
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"two columns are given for {table.name}.{twice[0]}: leave one out", property=twice[0])
    given = dict(zip(names, batch.columns, strict=True))
    ends = END_COLUMNS if table.kind == "edge" else {}
    if set(given) - set(table.by_name) - {"id", *ends}:
        raise NeedsStrictReader
    columns = {}
    for item in table.properties:
        read = cells_to_stored if item.name in view.texts else to_stored
        columns[item.name] = read(given.get(item.name, pa.nulls(batch.num_rows)), item.type)
    if any(item.default is not None and item.name not in given for item in table.properties):
        raise NeedsStrictReader
    required = (item for item in table.properties if not item.type.nullable and item.embed is None)
    if any(columns[item.name].null_count for item in required):
        raise NeedsStrictReader
    for end, column in ends.items():
        columns[column] = _end_ids(given.get(end), end_types[end], end in view.texts)
    explicit_ids = _text(given["id"]) if "id" in given else pa.nulls(batch.num_rows, pa.string())
    columns["id"], explicit = make_ids(table, columns, explicit_ids)
    schema = table_schema(table)
    rows = pa.table([columns[name] for name in schema.names], schema=schema)
    return BlockRows(table, rows, pa.array([], pa.int64()), explicit)


def _end_ids(column: pa.Array | None, type_: PropertyType, is_text: bool) -> pa.Array:
    """Return the ids of the nodes that a column names by their ids or their keys."""
    scalar = type_.scalar
    if column is None or scalar is Scalar.STRING or scalar.is_float:
        return _text(column)
    if is_string(column.type) and not is_text:
        if scalar not in (Scalar.DATE, Scalar.DATETIME):
            return _text(column)
        if pc.all(pc.match_substring_regex(column, _INTEGER_PATTERN), min_count=0).as_py():
            return _text(column)  # ids of dates are epoch numbers
    stored = (cells_to_stored if is_text else to_stored)(column, type_)
    if stored.null_count:
        raise NeedsStrictReader
    return canonical_texts(stored, type_)


def _text(column: pa.Array | None) -> pa.Array:
    if column is None:
        raise NeedsStrictReader
    text = to_stored(column, _STRING_TYPE)
    if text.null_count:
        raise NeedsStrictReader
    return text
