"""Key columns as hashes, which is all that the screen of rules between records needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType, TableType
from omnigraph.graph.model.hashing import Hashes, hash_values
from omnigraph.graph.write.integrity.uniqueness import tuple_texts
from omnigraph.storage.numbers import drop_repeated


def column_name(table_key: str, column: str) -> str:
    """Return the name of the hashes of a column."""
    return f"{table_key}/{column}"


def unique_name(group: Sequence[str]) -> str:
    """Return the name of the column for a unique group."""
    return f"unique({','.join(group)})"


def has_key(table: TableType) -> bool:
    """Return whether the ids of a table come from its key; other ids are given or minted."""
    return table.key is not None


def hash_keys(table: TableType, keys: pa.Table, explicit: pa.Array, key: int) -> dict[str, Hashes]:
    """Return the sorted hashes of ids that may be stored already, of ends, and of whole unique tuples."""
    ids = keys["id"].combine_chunks()
    columns = {"id": ids if has_key(table) else ids.filter(explicit)}
    if not isinstance(table, NodeType):
        columns |= {end: keys[end].combine_chunks() for end in ("src", "dst")}
    for group in table.uniques:
        columns[unique_name(group)] = pc.drop_null(tuple_texts(table, keys, group))
    counted = isinstance(table, EdgeType) and not table.cardinality.is_default
    found: dict[str, Hashes] = {}
    for name, texts in columns.items():
        if len(texts):
            ordered = np.sort(hash_values(texts, key))
            once = name in ("src", "dst") and not counted
            found[column_name(table.table_key, name)] = drop_repeated(ordered) if once else ordered
    return found


def hash_pairs(table: TableType, rows: pa.Table, columns: Sequence[str], key: int) -> tuple[Hashes, Hashes]:
    """Return the hashes of ids and of a group of columns, or of ids only; rows with a NULL are left out."""
    texts = tuple_texts(table, rows, columns) if columns else rows["id"]
    if texts.null_count:
        present = pc.is_valid(texts)
        rows, texts = rows.filter(present), texts.filter(present)
    hashes = hash_values(texts, key)
    has_ids = bool(columns) and "id" in rows.column_names
    return hash_values(rows["id"], key) if has_ids else hashes, hashes
