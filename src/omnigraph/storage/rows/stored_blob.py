"""The bytes of one blob, read in ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.tables.table import Table


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob of one table version; nothing is read before it is asked for."""

    size: int
    _file: Any

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes of a range that lies inside the blob."""
        if not length:
            return b""
        with translate_errors("reading a blob", reading=True):
            return bytes(self._file.read_range(offset, length))


def open_blob(table: Table, row: int, column: str) -> StoredBlob | None:
    """Return the blob of a row; None when it is null."""
    with translate_errors("opening a blob", reading=True):
        (found,) = table.dataset.take_blobs(column, ids=pa.array([row], pa.uint64()), buffer_size=0)
        return None if found is None else StoredBlob(int(found.size()), found)
