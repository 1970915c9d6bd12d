"""Rows that are staged as data files and belong to no version, read through one that nobody will see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import PinnedTable, WriteAttempt
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.columns import blob_array
from omnigraph.storage.tables.opening import open_dataset
from omnigraph.storage.tables.staging import StagedFragments, StagedTable

_ROWS_PER_BATCH = 65_536
_TABLE = "draft"


class UnpublishedRows:
    """Staged rows, in the order of their files; the version that shows them is left for the sweep."""

    def __init__(self, store: ObjectStore, table: PinnedTable, staged: StagedFragments) -> None:
        attempt = WriteAttempt(store, {_TABLE: table})
        StagedTable(attempt, _TABLE).overwrite(staged)
        self._dataset: Any = open_dataset(attempt, _TABLE)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows."""
        with translate_errors("reading staged rows", reading=True):
            return self._dataset.scanner(columns=list(names), scan_in_order=True).to_table()

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield all rows as they were given to be written, in this schema."""
        with translate_errors("reading staged rows", reading=True):
            scan = self._dataset.scanner(
                columns=schema.names,
                scan_in_order=True,
                batch_size=_ROWS_PER_BATCH,
                blob_handling="all_binary",
            )
            for batch in scan.to_batches():
                columns = [_as_given(batch.column(field.name), field) for field in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _as_given(column: pa.Array, field: pa.Field) -> pa.Array:
    if pa.types.is_large_binary(column.type) and column.type != field.type:
        return blob_array(column.to_pylist())
    return column
