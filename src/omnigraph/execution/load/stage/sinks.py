"""Where checked rows wait for the commit: as data files of their table, or in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

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
        """Begin to write what waits for that."""

    def wait(self) -> None:
        """Wait for what is being written."""

    def collect_fragments(self) -> StagedFragments | None:
        """Return the data files of all rows; None where they wait elsewhere."""


class FragmentSink:
    """`RowSink`: data files of the table, written beside other work; who only adds rows needs no copy."""

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
        """Begin to write what waits; one file is written at a time."""
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
        """Return all that was written."""
        self.write()
        self.wait()
        return StagedFragments.join(self._written)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WRITER_THREADS, thread_name_prefix="omnigraph-files")


class SpoolSink:
    """`RowSink`: a temporary Arrow file; an upsert reads it when it knows what is stored."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._folder = tempfile.TemporaryDirectory(prefix="omnigraph-load-")
        self._path = Path(self._folder.name, "rows.arrow")
        self._writer = pa.ipc.new_file(str(self._path), schema)

    def __call__(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def write(self) -> None:
        """Do nothing: what is taken is written."""

    def wait(self) -> None:
        """Do nothing: nothing is written beside other work."""

    def collect_fragments(self) -> None:
        """Return nothing: the rows are not in data files of the table."""

    def reader(self, dropped: Rows = NO_ROWS) -> pa.RecordBatchReader:
        """Return all rows but those with the given numbers."""
        self._writer.close()
        return pa.RecordBatchReader.from_batches(self._schema, without_rows(self._batches(), dropped))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self._path)) as file:
            stored = pa.ipc.open_file(file)
            for number in range(stored.num_record_batches):
                yield stored.get_batch(number)


def without_rows(batches: Iterable[pa.RecordBatch], dropped: Rows) -> Iterator[pa.RecordBatch]:
    """Yield rows but those with the given numbers, which are in order."""
    start = 0
    for batch in batches:
        first, last = np.searchsorted(dropped, (start, start + batch.num_rows))
        stays = np.delete(np.arange(batch.num_rows), dropped[first:last] - start)
        start += batch.num_rows
        yield batch if len(stays) == batch.num_rows else batch.take(pa.array(stays))
