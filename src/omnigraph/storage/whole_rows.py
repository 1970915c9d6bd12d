"""All rows of a table version, blobs included, in pieces that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.storage.changes import blob_sizes, is_blob, take_rows
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.tables import Table

_ROWS = 1_024
_BLOB_BYTES = 16 * 1024 * 1024


def whole_rows(table: Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield all rows in the order in which they are stored; blobs as bytes."""
    blobs = [name for name in columns if is_blob(table, name)]
    if not blobs:
        for batch in table.batches(columns):
            yield pa.Table.from_batches([batch])
        return
    with translated("listing rows", reading=True):
        rows = table.dataset.to_table(columns=[], with_row_id=True)["_rowid"].to_numpy()
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        sizes = sum((blob_sizes(table, part, name) for name in blobs), np.zeros(len(part), np.uint64))
        groups = np.cumsum(sizes) // np.uint64(_BLOB_BYTES)
        for group in np.unique(groups):
            yield take_rows(table, part[groups == group], columns)
