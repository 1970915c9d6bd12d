"""The rows of small files that this process has written, remembered: who reads on does not read them back.

A data file never changes and its name is random, so what was written to it is what everybody reads from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.base.lru import Lru
from omnigraph.storage.tables.file_ids import Key, files_of

_MAX_ROWS = 64
_MAX_BYTES = 1 << 16
"""Of the rows of one file; arrays that are parts of large ones would keep those in memory."""
_CACHED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The columns of a file by their numbers, which stay when a column is renamed."""

    columns: Mapping[int, pa.Array]
    nbytes: int


def _weigh(rows: WrittenRows) -> int:
    return rows.nbytes


known: Lru[Key, WrittenRows] = Lru(_CACHED_BYTES, _weigh)
"""By table and files, for all tables of this process."""


def remember_rows(table_uri: str, dataset: Any, rows: pa.Table, fragment: Any) -> None:
    """Remember the rows of a new fragment (Lance's metadata), unless they are many."""
    nbytes = rows.get_total_buffer_size()
    if not 0 < rows.num_rows == fragment.physical_rows <= _MAX_ROWS or nbytes > _MAX_BYTES:
        return
    schema, columns = dataset.schema, dict[int, pa.Array]()
    for field in dataset.lance_schema.fields():
        name = field.name()
        column = rows[name] if name in rows.column_names else None
        # What Lance stores in a form of its own is not read as it was written.
        if column is not None and column.type == schema.field(name).type and not _is_special(column.type):
            columns[int(field.id())] = column.combine_chunks()
    known.put(files_of(table_uri, fragment), WrittenRows(columns, nbytes))


def find_rows(key: Key, columns: list[int]) -> list[pa.Array] | None:
    """Return columns of a file that was written here; None unless all are known."""
    found = known.get(key)
    if found is None or not all(number in found.columns for number in columns):
        return None
    return [found.columns[number] for number in columns]


def _is_special(type_: pa.DataType) -> bool:
    return isinstance(type_, pa.BaseExtensionType)
