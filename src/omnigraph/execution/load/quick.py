"""The quick way through a block of lines: Arrow parses what is plainly right, by type, in native code.

It takes a block only when every line of it is beyond doubt; on any doubt it gives up, and the strict reader
reads the block again and says what is wrong. So this file decides nothing about what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
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
_NEWLINE = 10
_FEW_TABLES = 32
_PARSED_AT_ONCE = 2**20


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
    lines = _split(data)
    if len(lines) == 0:
        return iter(())
    if pc.max(pc.binary_length(lines)).as_py() > MOST_STRUCTURE:
        raise Doubt
    ends = lines if pc.all(pc.ends_with(lines, "}\n")).as_py() else pc.utf8_rtrim_whitespace(lines)
    if not (ends is lines or pc.all(pc.ends_with(ends, "}")).as_py()):
        raise Doubt  # blank lines, and lines that share a value with the next
    found = [
        _rows_of(table, lines.take(chosen), chosen, first) for table, chosen in _by_table(catalog, lines)
    ]
    return iter(found)


def _split(data: bytes) -> pa.StringArray:
    """Return the lines of a block, each with its end, without copying them."""
    if not data.endswith(b"\n"):
        data += b"\n"
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE)
    offsets = np.zeros(len(ends) + 1, dtype=np.int32)
    offsets[1:] = ends + 1
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        raise Doubt from None  # not UTF-8
    return lines


def _by_table(catalog: Catalog, lines: pa.StringArray) -> list[tuple[TableType, pa.Array]]:
    """Return the numbers of the lines of each table; every line must say plainly which it is of."""
    if len(catalog.tables) <= _FEW_TABLES:
        found = [(table, _numbers_of(table, lines)) for table in catalog.tables]
        if sum(len(chosen) for _, chosen in found) == len(lines):
            return [(table, chosen) for table, chosen in found if len(chosen)]
    heads = pc.extract_regex(lines, _HEAD)
    if heads.null_count:
        raise Doubt
    names = pc.binary_join_element_wise(heads.field("kind"), heads.field("name"), ":")
    kinds = pc.unique(names)
    if pc.count_distinct(pc.utf8_lower(kinds)).as_py() < len(kinds):
        raise Doubt  # an edge type in two spellings: its records would change places
    return [
        (_named(catalog, name), pc.indices_nonzero(pc.equal(names, name)))
        for name in pc.unique(names).to_pylist()
    ]


def _numbers_of(table: TableType, lines: pa.StringArray) -> pa.Array:
    kind = "type" if table.kind == "node" else "edge"
    usual = pc.or_(
        pc.starts_with(lines, f'{{"{kind}":"{table.name}"'),
        pc.starts_with(lines, f'{{"{kind}": "{table.name}"'),
    )
    return pc.indices_nonzero(usual)


def _named(catalog: Catalog, name: str) -> TableType:
    kind, _, type_name = name.partition(":")
    table = catalog.node(type_name) if kind == "type" else catalog.edge(type_name)
    if table is None:
        raise Doubt
    return table


def _rows_of(table: TableType, lines: pa.StringArray, chosen: pa.Array, first: int) -> QuickRows:
    if any(item.type.scalar is Scalar.BLOB for item in table.properties):
        raise Doubt
    parsed = _parse(table, lines)
    return _assemble(table, parsed, pc.add(chosen.cast(pa.int64()), first))


def _parse(table: TableType, lines: pa.StringArray) -> pa.Table:
    members = [pa.field(item.name, _json_type(item.type)) for item in table.properties]
    struct = pa.struct([*members, pa.field("id", pa.string())])
    heads = ["type"] if isinstance(table, NodeType) else ["edge", "from", "to"]
    schema = pa.schema([*(pa.field(name, pa.string()) for name in heads), pa.field("data", struct)])
    try:
        parsed = pj.read_json(
            pa.BufferReader(lines.buffers()[2]),
            read_options=pj.ReadOptions(block_size=_PARSED_AT_ONCE),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise Doubt from None
    # A member that is null looks like one that is absent; the strict reader tells them apart.
    if parsed.num_rows != len(lines) or any(parsed[name].null_count for name in heads):
        raise Doubt
    absent = pc.is_null(parsed["data"].combine_chunks())
    if pc.any(pc.match_substring(lines.filter(absent), '"data"')).as_py():
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
        column = pc.struct_field(data, item.name)
        may_miss = item.default is None and (item.type.nullable or item.embed is not None)
        if column.null_count and not may_miss:
            raise Doubt
        columns[item.name] = _stored(column, item.type)
    given = pc.struct_field(data, "id")
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
    if column.null_count == len(column):
        return pa.nulls(len(column), arrow_type(type_))
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
        return ids, pa.array(np.zeros(len(ids), dtype=bool))
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
