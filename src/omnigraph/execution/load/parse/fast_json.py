"""The fast path for a block of lines: Arrow parses them by type, in native code.

It accepts a block only if every line is valid beyond doubt. Otherwise it raises NeedsStrictReader: the strict
reader then reads the block again and reports the problems. So this file does not decide what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from omnigraph.compiler.catalog.model import END_COLUMNS, Catalog, NodeType, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.load.parse.strict_json import MAX_STRUCTURAL_CHARACTERS, BadRecord, parse_line
from omnigraph.execution.load.parse.uniform_lines import Form, cut_values, find_form
from omnigraph.graph.model.bulk_ids import mint_ids
from omnigraph.graph.model.columns import arrow_type, table_schema
from omnigraph.graph.model.key_ids import ids_of_columns
from omnigraph.graph.model.stored_columns import NeedsStrictReader, to_stored

__all__ = ["BlockRows", "NeedsStrictReader", "make_ids", "read_block", "read_rows"]

_HEAD_PATTERN = r'^\s*\{\s*"(?P<kind>type|edge)"\s*:\s*"(?P<name>[A-Za-z0-9_]+)"'
_NEWLINE = 10
_MAX_TABLES_BY_PREFIX = 32
_MIN_UNIFORM_LINES = 16
_NUMBER_PATTERN = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class BlockRows:
    """The rows of one table in a block, their line numbers, and whether their ids were given."""

    table: TableType
    rows: pa.Table
    lines: pa.Array
    explicit: pa.Array


def read_block(catalog: Catalog, data: bytes, first: int) -> list[BlockRows]:
    """Return the rows of a block, table by table, or raise NeedsStrictReader."""
    lines = _split_objects(data)
    if len(lines) == 0:
        return []
    return [
        _read_table(table, _take_lines(lines, chosen), chosen, first)
        for table, chosen in _split_by_table(catalog, lines)
    ]


def read_rows(table: TableType, mapping: Mapping[str, str], data: bytes, first: int) -> list[BlockRows]:
    """Return the rows of a block whose lines are the values of one type, or raise NeedsStrictReader.

    `mapping` has property names by column name; each of its columns must have a value in the block.
    """
    if _has_blobs(table):
        raise NeedsStrictReader
    lines = _split_objects(data)
    if len(lines) == 0:
        return []
    if not pc.all(pc.starts_with(pc.utf8_ltrim_whitespace(lines), "{")).as_py():
        raise NeedsStrictReader
    ends = () if isinstance(table, NodeType) else ("from", "to")
    types = {name: _json_type(item.type) for name, item in table.by_name.items()}
    types |= dict.fromkeys(("id", *ends), pa.string())
    columns = {name: name for name in types if name not in mapping}
    columns |= {name: column for column, name in mapping.items()}
    if set(columns) - set(types) or not set(mapping) <= set(columns.values()):
        raise NeedsStrictReader
    parsed = _read_json(lines, pa.schema([(column, types[name]) for name, column in columns.items()]))
    found = {name: parsed[column].combine_chunks() for name, column in columns.items()}
    if any(found[name].null_count == len(lines) for name in mapping.values()):
        raise NeedsStrictReader
    if any(end not in found or found[end].null_count for end in ends):
        raise NeedsStrictReader
    members = _Parsed(
        {name: column for name, column in found.items() if name not in ends},
        {end: found[end] for end in ends},
    )
    numbers = pa.array(np.arange(first, first + len(lines), dtype=np.int64))
    return [_assemble(table, members, numbers)]


def _split_objects(data: bytes) -> pa.StringArray:
    """Return the lines of a block, each of which ends with a closing brace; else raise NeedsStrictReader."""
    lines = _split_lines(data)
    if len(lines) == 0:
        return lines
    if pc.max(pc.binary_length(lines)).as_py() > MAX_STRUCTURAL_CHARACTERS:
        raise NeedsStrictReader
    ends = lines if pc.all(pc.ends_with(lines, "}\n")).as_py() else pc.utf8_rtrim_whitespace(lines)
    if not (ends is lines or pc.all(pc.ends_with(ends, "}")).as_py()):
        raise NeedsStrictReader  # blank lines, and values over several lines
    return lines


def _take_lines(lines: pa.StringArray, chosen: pa.Array) -> pa.StringArray:
    """Return some lines; adjacent ones are not copied."""
    begin, end = chosen[0].as_py(), chosen[-1].as_py() + 1
    return lines.slice(begin, end - begin) if end - begin == len(chosen) else lines.take(chosen)


def _split_lines(data: bytes) -> pa.StringArray:
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
        raise NeedsStrictReader from None  # not UTF-8
    return lines


def _split_by_table(catalog: Catalog, lines: pa.StringArray) -> list[tuple[TableType, pa.Array]]:
    """Return the line numbers of each table; each line must begin with its type."""
    if len(catalog.tables) <= _MAX_TABLES_BY_PREFIX:
        found, left = [], len(lines)
        for table in catalog.tables:
            chosen = _find_lines_of(table, lines)
            if len(chosen):
                found.append((table, chosen))
                left -= len(chosen)
            if not left:
                return found
    heads = pc.extract_regex(lines, _HEAD_PATTERN)
    if heads.null_count:
        raise NeedsStrictReader
    names = pc.binary_join_element_wise(heads.field("kind"), heads.field("name"), ":")
    kinds = pc.unique(names)
    if pc.count_distinct(pc.utf8_lower(kinds)).as_py() < len(kinds):
        raise NeedsStrictReader  # an edge type in two spellings: its records would be reordered
    return [
        (_find_table(catalog, name), pc.indices_nonzero(pc.equal(names, name)))
        for name in pc.unique(names).to_pylist()
    ]


def _find_lines_of(table: TableType, lines: pa.StringArray) -> pa.Array:
    kind = "type" if table.kind == "node" else "edge"
    usual = pc.or_(
        pc.starts_with(lines, f'{{"{kind}":"{table.name}"'),
        pc.starts_with(lines, f'{{"{kind}": "{table.name}"'),
    )
    return pc.indices_nonzero(usual)


def _find_table(catalog: Catalog, name: str) -> TableType:
    kind, _, type_name = name.partition(":")
    table = catalog.node(type_name) if kind == "type" else catalog.edge(type_name)
    if table is None:
        raise NeedsStrictReader
    return table


def _read_table(table: TableType, lines: pa.StringArray, chosen: pa.Array, first: int) -> BlockRows:
    if _has_blobs(table):
        raise NeedsStrictReader
    parsed = _parse_uniform(table, lines) or _parse(table, lines)
    return _assemble(table, parsed, pc.add(chosen.cast(pa.int64()), first))


def _has_blobs(table: TableType) -> bool:
    return any(item.type.scalar is Scalar.BLOB for item in table.properties)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The members of records as columns: those of `data` that occur, and the ends of edges."""

    data: Mapping[str, pa.Array]
    ends: Mapping[str, pa.Array]


def _parse_uniform(table: TableType, lines: pa.StringArray) -> _Parsed | None:
    """Return the members of lines that all have one form; None for other lines, or in doubt."""
    if len(lines) < _MIN_UNIFORM_LINES:
        return None
    try:
        parse_line(line := lines[0].as_py().encode())
    except BadRecord:
        return None
    form = find_form(line, ("type" if table.kind == "node" else "edge",))
    if form is None or (types := _types_of_form(table, form)) is None:
        return None
    found = cut_values(lines, _bytes_of(lines), form)
    if found is None:
        return None
    members: dict[str, dict[str, pa.Array]] = {"": {}, "data": {}}
    for value, type_, texts in zip(form.values, types, found, strict=True):
        column = texts if value.is_text else _parse_bare(texts, type_)
        if column is None:
            return None
        members["data" if len(value.path) == 2 else ""][value.path[-1]] = column
    return _Parsed(members["data"], members[""])


def _types_of_form(table: TableType, form: Form) -> list[pa.DataType] | None:
    """Return the types of the values of a form; None if it does not fit this table."""
    ends = () if isinstance(table, NodeType) else ("from", "to")
    if {value.path[0] for value in form.values if len(value.path) == 1} != set(ends):
        return None
    found = []
    for value in form.values:
        name = value.path[-1]
        if len(value.path) == 1 or (value.path[0] == "data" and name == "id"):
            type_ = pa.string()
        elif value.path[0] == "data" and name in table.by_name:
            type_ = _json_type(table.by_name[name].type)
        else:
            return None
        if value.is_text != pa.types.is_string(type_):
            return None
        found.append(type_)
    return found


def _parse_bare(texts: pa.StringArray, type_: pa.DataType) -> pa.Array | None:
    """Parse numbers and booleans; return None unless all are in their canonical spelling."""
    if pc.any(pc.equal(texts, "null")).as_py():
        texts = pc.if_else(pc.equal(texts, "null"), pa.scalar(None, pa.string()), texts)
    try:
        values = texts.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if pa.types.is_floating(type_):
        plain = pc.and_(pc.match_substring_regex(texts, _NUMBER_PATTERN), pc.is_finite(values))
    else:
        plain = pc.equal(values.cast(pa.string()), texts)  # only the canonical spelling
    return values if pc.all(plain, min_count=0).as_py() else None


def _parse(table: TableType, lines: pa.StringArray) -> _Parsed:
    members = [pa.field(item.name, _json_type(item.type)) for item in table.properties]
    struct = pa.struct([*members, pa.field("id", pa.string())])
    heads = ["type"] if isinstance(table, NodeType) else ["edge", "from", "to"]
    schema = pa.schema([*(pa.field(name, pa.string()) for name in heads), pa.field("data", struct)])
    parsed = _read_json(lines, schema)
    # Arrow does not distinguish a null member from an absent one; the strict reader does.
    if any(parsed[name].null_count for name in heads):
        raise NeedsStrictReader
    absent = pc.is_null(parsed["data"].combine_chunks())
    if pc.any(pc.match_substring(lines.filter(absent), '"data"')).as_py():
        raise NeedsStrictReader
    data = parsed["data"].combine_chunks()
    return _Parsed(
        {name: pc.struct_field(data, name) for name in (*table.by_name, "id")},
        {name: parsed[name].combine_chunks() for name in heads[1:]},
    )


def _read_json(lines: pa.StringArray, schema: pa.Schema) -> pa.Table:
    """Parse lines with a schema; raise NeedsStrictReader on other members, or unless each line is one row."""
    block = _bytes_of(lines)
    try:
        parsed = pj.read_json(
            pa.BufferReader(block),
            # Blocks are read in parallel already, and a single piece need not be concatenated.
            read_options=pj.ReadOptions(use_threads=False, block_size=block.size + 1),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise NeedsStrictReader from None
    if parsed.num_rows != len(lines):
        raise NeedsStrictReader
    return parsed


def _bytes_of(lines: pa.StringArray) -> pa.Buffer:
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return data.slice(int(ends[0]), int(ends[-1] - ends[0]))


def _json_type(type_: PropertyType) -> pa.DataType:
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return pa.list_(pa.string()) if type_.is_list else pa.string()
    if type_.is_vector or type_.scalar.is_float:
        return pa.list_(pa.float64()) if type_.is_vector or type_.is_list else pa.float64()
    return arrow_type(type_)


def _assemble(table: TableType, parsed: _Parsed, lines: pa.Array) -> BlockRows:
    columns: dict[str, pa.Array] = {}
    for item in table.properties:
        column = parsed.data.get(item.name)
        if column is None:
            column = pa.nulls(len(lines), _json_type(item.type))
        may_miss = item.default is None and (item.type.nullable or item.embed is not None)
        if column.null_count and not may_miss:
            raise NeedsStrictReader
        columns[item.name] = to_stored(column, item.type)
    if table.kind == "edge":
        columns |= {column: parsed.ends[end] for end, column in END_COLUMNS.items()}
    given = parsed.data.get("id")
    columns["id"], explicit = make_ids(
        table, columns, given if given is not None else pa.nulls(len(lines), pa.string())
    )
    schema = table_schema(table)
    rows = pa.table([columns[name] for name in schema.names], schema=schema)
    return BlockRows(table, rows, lines, explicit)


def make_ids(table: TableType, columns: dict[str, pa.Array], given: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the ids of rows (from their key, given or minted), and which of them were given."""
    if table.key is not None:
        ids = ids_of_columns(table, columns)
        if given.null_count < len(given) and not pc.all(pc.equal(ids, given)).as_py():
            raise NeedsStrictReader
        return ids, pa.array(np.zeros(len(ids), dtype=bool))
    explicit = pc.is_valid(given)
    if given.null_count == 0:
        return given, explicit
    return pc.coalesce(given, mint_ids(len(given))), explicit
