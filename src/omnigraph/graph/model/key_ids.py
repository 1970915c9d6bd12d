"""The ids that keys make, for whole columns: the rule of `compiler.catalog.keys`."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.keys import id_of_key, key_types
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.stored_columns import NeedsStrictReader

_ESCAPED_IN_JSON = r'["\\\x00-\x1f]'


def ids_of_columns(table: TableType, columns: Mapping[str, pa.Array]) -> pa.Array:
    """Return the ids that the key columns of rows make, or raise NeedsStrictReader in doubt."""
    assert table.key is not None
    types = key_types(table)
    texts = [canonical_texts(columns[name], type_) for name, type_ in zip(table.key, types, strict=True)]
    if len(texts) == 1:
        return texts[0]
    if any(pc.any(pc.match_substring_regex(text, _ESCAPED_IN_JSON)).as_py() for text in texts):
        raise NeedsStrictReader
    members = pc.binary_join_element_wise(*texts, '","', null_handling="emit_null")
    return pc.binary_join_element_wise('["', members, '"]', "", null_handling="emit_null")


def ids_of_rows(table: TableType, rows: pa.Table) -> pa.Array:
    """Return the ids that the keys of stored rows make; null where a member of the key is null."""
    assert table.key is not None
    columns = {name: rows[name].combine_chunks() for name in table.key}
    try:
        return ids_of_columns(table, columns)
    except NeedsStrictReader:
        types = key_types(table)
        plain = [to_plain(columns[name], type_) for name, type_ in zip(table.key, types, strict=True)]
        made = [
            None if None in values else id_of_key(table, dict(zip(table.key, values, strict=True)))
            for values in zip(*plain, strict=True)
        ]
        return pa.array(made, pa.string())


def canonical_texts(column: pa.Array, type_: PropertyType) -> pa.Array:
    """Return the canonical texts of stored values, or raise NeedsStrictReader for those of floats."""
    if type_.scalar is Scalar.STRING:
        return column
    if type_.scalar is Scalar.DATE:
        return pc.cast(column.view(pa.int32()), pa.string())
    if type_.scalar is Scalar.DATETIME:
        return pc.cast(column.view(pa.int64()), pa.string())
    if type_.scalar.is_integer or type_.scalar is Scalar.BOOL:
        return pc.cast(column, pa.string())
    raise NeedsStrictReader
