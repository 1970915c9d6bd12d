"""Rows of a table version, blobs included, in pieces that fit into memory: all of them, or of a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.storage.filters import Filter, all_as_sql
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.numbers import unite
from omnigraph.storage.tables.table import Table
from omnigraph.storage.versions.changes import blob_sizes, is_blob, take_rows

_ROWS_PER_BATCH = 1_024
_BLOB_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class ScanPart:
    """The rows of some fragments that pass all filters; they can be asked for in another process."""

    fragments: tuple[int, ...]
    """By their numbers in the table version."""
    rows: int
    filters: tuple[Filter, ...] = ()


def parts_of(table: Table, rows: int, filters: Sequence[Filter] = ()) -> list[ScanPart]:
    """Cut a table into groups of successive fragments with about so many rows each; at least one group."""
    found: list[ScanPart] = []
    taken: list[int] = []
    held = 0
    for fragment in table.fragments():
        taken.append(fragment.number)
        held += fragment.rows
        if held >= rows:
            found.append(ScanPart(tuple(taken), held, tuple(filters)))
            taken, held = [], 0
    if taken or not found:
        found.append(ScanPart(tuple(taken), held, tuple(filters)))
    return found


def whole_rows(table: Table, columns: Sequence[str], part: ScanPart | None = None) -> Iterator[pa.Table]:
    """Yield rows in the order in which they are stored; blobs as bytes."""
    if part is not None and not part.fragments:
        return
    chosen = _choose_rows(table, part)
    blobs = [name for name in columns if is_blob(table, name)]
    if not blobs:
        with translate_errors("scanning rows", reading=True):
            for batch in table.dataset.scanner(columns=list(columns), **chosen).to_batches():
                yield pa.Table.from_batches([batch])
        return
    with translate_errors("listing rows", reading=True):
        found = table.dataset.scanner(columns=[], with_row_id=True, **chosen).to_table()
    rows = found["_rowid"].to_numpy()
    for start in range(0, len(rows), _ROWS_PER_BATCH):
        some = rows[start : start + _ROWS_PER_BATCH]
        sizes = sum((blob_sizes(table, some, name) for name in blobs), np.zeros(len(some), np.uint64))
        groups = np.cumsum(sizes) // np.uint64(_BLOB_BYTES)
        for group in unite(groups):
            yield take_rows(table, some[groups == group], columns)


def _choose_rows(table: Table, part: ScanPart | None) -> dict[str, Any]:
    """Return what tells Lance's scanner which rows are meant."""
    if part is None:
        return {}
    fragments = [table.dataset.get_fragment(number) for number in part.fragments]
    return {"fragments": fragments, "filter": all_as_sql(part.filters)}
