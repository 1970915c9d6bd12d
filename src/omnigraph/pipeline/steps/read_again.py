"""The rows of a task for more than one look: Spark gives them once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

import pyarrow as pa


class _Spooled:
    """Batches in a temporary file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._file.seek(0, 2):
            self._file.seek(0)
            yield from pa.ipc.open_stream(self._file)


@contextmanager
def read_again(batches: Iterable[pa.RecordBatch]) -> Iterator[Iterable[pa.RecordBatch]]:
    """Write batches to a temporary file, and yield what reads them as often as it is asked to."""
    writer: pa.RecordBatchStreamWriter | None = None
    with tempfile.TemporaryFile(prefix="omnigraph-rows-") as file:
        for batch in batches:
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
        yield _Spooled(file)
