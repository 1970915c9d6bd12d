"""The quick way through a block of lines: Arrow parses what is plainly right, by type, in native code.

It takes a block only when every line of it is beyond doubt; on any doubt it gives up, and the strict reader
reads the block again and says what is wrong. So this file decides nothing about what is allowed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.compiler.catalog.model import Catalog, NodeType, PropertyType, Scalar, TableType
from omnigraph.execution.load.reader import MOST_STRUCTURE
from omnigraph.graph.columns import arrow_type, table_schema
from omnigraph.graph.minting import mint_ids

_HEAD = r'^\s*\{\s*"(?P<kind>type|edge)"\s*:\s*"(?P<name>[A-Za-z0-9_]+)"'
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DAY_MILLIS = 86_400_000


class Doubt(Exception):
    """The block is for the strict reader."""


@dataclass(frozen=True, slots=True)
class QuickRows:
    """The rows of one table in a block, the lines they stand on, and whether their ids were given."""

    table: TableType
    rows: pa.Table
    lines: pa.Array
    explicit: pa.Array


def read_block(catalog: Catalog, data: bytes, first: int) -> Iterator[QuickRows]:
    """Yield the rows of a block, table by table, or raise Doubt before the first."""
    texts = data.split(b"\n")
    if texts and not texts[-1].strip():
        texts.pop()
    if not texts:
        return iter(())
    try:
        lines = pa.array(texts, pa.binary()).cast(pa.string())  # the cast checks that it is UTF-8
    except pa.ArrowInvalid:
        raise Doubt from None
    if pc.max(pc.binary_length(lines)).as_py() > MOST_STRUCTURE:
        raise Doubt
    if not pc.all(pc.ends_with(pc.utf8_rtrim_whitespace(lines), "}")).as_py():
        raise Doubt  # blank lines, and lines that share a value with the next
    heads = pc.extract_regex(lines, _HEAD)
    if heads.null_count:
        raise Doubt
    names = pc.binary_join_element_wise(heads.field("kind"), heads.field("name"), ":")
    found = [_rows_of(catalog, name, names, lines, texts, first) for name in pc.unique(names).to_pylist()]
    return iter(found)


def _rows_of(
    catalog: Catalog, name: str, names: pa.Array, lines: pa.Array, texts: list[bytes], first: int
) -> QuickRows:
    kind, _, type_name = name.partition(":")
    table = catalog.node(type_name) if kind == "type" else catalog.edge(type_name)
    if table is None or any(item.type.scalar is Scalar.BLOB for item in table.properties):
        raise Doubt
    chosen = pc.indices_nonzero(pc.equal(names, name))
    own = texts if len(chosen) == len(texts) else [texts[at] for at in chosen.to_pylist()]
    parsed = _parse(table, b"\n".join(own), len(own))
    numbers = pc.add(chosen.cast(pa.int64()), first)
    return _assemble(table, parsed, numbers)


def _parse(table: TableType, data: bytes, count: int) -> pa.Table:
    members = [pa.field(item.name, _json_type(item.type)) for item in table.properties]
    struct = pa.struct([*members, pa.field("id", pa.string())])
    heads = ["type"] if isinstance(table, NodeType) else ["edge", "from", "to"]
    schema = pa.schema([*(pa.field(name, pa.string()) for name in heads), pa.field("data", struct)])
    try:
        parsed = pj.read_json(
            io.BytesIO(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 1024)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise Doubt from None
    # A member that is null looks like one that is absent; the strict reader tells them apart.
    if parsed.num_rows != count or any(parsed[name].null_count for name in parsed.column_names):
        raise Doubt
    return parsed


def _json_type(type_: PropertyType) -> pa.DataType:
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return pa.list_(pa.string()) if type_.is_list else pa.string()
    if type_.is_vector or type_.scalar.is_float:
        return pa.list_(pa.float64()) if type_.is_vector or type_.is_list else pa.float64()
    return arrow_type(type_)


def _assemble(table: TableType, parsed: pa.Table, lines: pa.Array) -> QuickRows:
    data = parsed["data"].combine_chunks()
    columns: dict[str, pa.Array] = {}
    for item in table.properties:
        column = data.field(item.name)
        if column.null_count and (item.default is not None or not item.type.nullable):
            raise Doubt
        columns[item.name] = _stored(column, item.type)
    given = data.field("id")
    ids, explicit = row_ids(table, columns, given)
    columns["id"] = ids
    if table.kind == "edge":
        columns["src"], columns["dst"] = parsed["from"].combine_chunks(), parsed["to"].combine_chunks()
    schema = table_schema(table)
    rows = pa.table([columns[name] for name in schema.names], schema=schema)
    return QuickRows(table, rows, lines, explicit)


def _stored(column: pa.Array, type_: PropertyType) -> pa.Array:
    if type_.is_vector or type_.is_list:
        return _stored_list(column, type_)
    if type_.scalar is Scalar.F32:
        return column.cast(pa.float32(), safe=False)
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return _dates(column, type_.scalar)
    return column


def _stored_list(column: pa.Array, type_: PropertyType) -> pa.Array:
    members = pc.list_flatten(column)
    if members.null_count or type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        raise Doubt
    if type_.is_vector:
        lengths = pc.unique(pc.drop_null(pc.list_value_length(column))).to_pylist()
        if lengths not in ([], [type_.vector]):
            raise Doubt
    return column.cast(arrow_type(type_), safe=False)


def _dates(column: pa.Array, scalar: Scalar) -> pa.Array:
    """Take dates that are written out in full; other forms are the strict reader's."""
    if not pc.all(pc.match_substring_regex(column, _ISO_DATE)).as_py() and column.null_count < len(column):
        raise Doubt
    try:
        days = column.cast(pa.date32())
    except pa.ArrowInvalid:
        raise Doubt from None
    if scalar is Scalar.DATE:
        return days
    millis = pc.multiply(days.view(pa.int32()).cast(pa.int64()), _DAY_MILLIS)
    return millis.view(pa.date64())


def row_ids(table: TableType, columns: dict[str, pa.Array], given: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the ids of rows, from their key, as given or new, and which of them were given."""
    if isinstance(table, NodeType) and table.key is not None:
        if len(table.key) != 1:
            raise Doubt
        ids = _key_text(columns[table.key[0]], table.by_name[table.key[0]].type)
        if given.null_count < len(given) and not pc.all(pc.equal(ids, given)).as_py():
            raise Doubt
        return ids, pa.array([False] * len(ids), pa.bool_())
    explicit = pc.is_valid(given)
    if given.null_count == 0:
        return given, explicit
    return pc.coalesce(given, mint_ids(len(given))), explicit


def _key_text(column: pa.Array, type_: PropertyType) -> pa.Array:
    if type_.scalar is Scalar.STRING:
        return column
    if type_.scalar.is_integer or type_.scalar is Scalar.BOOL:
        return pc.cast(column, pa.string())
    raise Doubt
