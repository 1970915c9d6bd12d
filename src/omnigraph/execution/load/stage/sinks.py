"""Where checked rows wait for the commit: as data files of their table, or in a temporary file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.base.handed.process_folders import working_folder
from omnigraph.execution.load.keys.row_digest import NO_ROWS, Rows
from omnigraph.storage.tables.staging import StagedFragments, StagedTable

_FILE_ROWS = 1_048_576
_FILE_BYTES = 128 * 2**20
_WRITER_THREADS = 4


class RowSink(Protocol):
    """Takes the checked rows of one table."""

    def __call__(self, rows: pa.Table) -> None:
        """Take some rows."""

    def write(self) -> None:
        """Start writing the waiting rows."""

    def wait(self) -> None:
        """Wait for what is being written."""

    def collect_fragments(self) -> StagedFragments | None:
        """Return the data files of all rows; None if they are not in data files."""


class FragmentSink:
    """`RowSink`: data files of the table, written in the background; for loads that only add rows."""

    def __init__(self, table: StagedTable) -> None:
        self._table = table
        self._waiting: list[pa.Table] = []
        self._rows = self._bytes = 0
        self._writing: Future[StagedFragments] | None = None
        self._written: list[StagedFragments] = []

    def __call__(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= _FILE_ROWS or self._bytes >= _FILE_BYTES:
            self.write()

    def write(self) -> None:
        """Start writing the waiting rows; one file is written at a time."""
        self.wait()
        if self._waiting:
            rows = pa.concat_tables(self._waiting)
            self._waiting, self._rows, self._bytes = [], 0, 0
            self._writing = _threads().submit(copy_context().run, self._table.write_rows, rows)

    def wait(self) -> None:
        """Wait for what is being written."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            self._written.append(writing.result())

    def collect_fragments(self) -> StagedFragments:
        """Write the rest, and return all data files."""
        self.write()
        self.wait()
        return StagedFragments.join(self._written)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WRITER_THREADS, thread_name_prefix="omnigraph-files")


class SpoolSink:
    """`RowSink`: a temporary Arrow file, which an upsert reads once it knows what is stored."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._folder = working_folder("load")
        self._path = Path(self._folder.name, "rows.arrow")
        self._writer = pa.ipc.new_file(str(self._path), schema)

    def __call__(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def write(self) -> None:
        """Do nothing: rows are written as they come."""

    def wait(self) -> None:
        """Do nothing: nothing is written in the background."""

    def collect_fragments(self) -> None:
        """Return None: the rows are not in data files of the table."""

    def reader(self, dropped: Rows = NO_ROWS) -> pa.RecordBatchReader:
        """Return all rows except those with the given numbers."""
        self._writer.close()
        return pa.RecordBatchReader.from_batches(self._schema, without_rows(self._batches(), dropped))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self._path)) as file:
            stored = pa.ipc.open_file(file)
            for number in range(stored.num_record_batches):
                yield stored.get_batch(number)


def without_rows(batches: Iterable[pa.RecordBatch], dropped: Rows) -> Iterator[pa.RecordBatch]:
    """Yield all rows except those with the given sorted numbers."""
    start = 0
    for batch in batches:
        first, last = np.searchsorted(dropped, (start, start + batch.num_rows))
        stays = np.delete(np.arange(batch.num_rows), dropped[first:last] - start)
        start += batch.num_rows
        yield batch if len(stays) == batch.num_rows else batch.take(pa.array(stays))
