"""Which rows of a fragment are deleted: from its deletion file, at a cost that follows their number alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnigraph.base.errors import NotFound
from omnigraph.storage.format.fragments import Fragment
from omnigraph.storage.numbers import subtract

ReadFile = Callable[[str], bytes]
"""Gives the content of a file by its path below the table's folder."""

Offsets = NDArray[np.uint32]
_IN_THIS_THREAD = pa.ipc.IpcReadOptions(use_threads=False)
"""To wake another thread takes longer than to read some numbers."""
_NONE: Offsets = np.empty(0, np.uint32)


def compare_deletions(old: Any, new: Any, read: ReadFile) -> tuple[Offsets, Offsets] | None:
    """Return the offsets of rows that only the older, and that only the newer version of a fragment deletes.

    None when a file is not a plain list, as Lance writes it for up to a few thousand rows.
    """
    olds, news = read_deletions(old, read), read_deletions(new, read)
    if olds is None or news is None:
        return None
    return subtract(olds, news), subtract(news, olds)


def addresses(fragment: Any, offsets: Offsets) -> NDArray[np.uint64]:
    """Return where rows of a fragment lie, as Lance counts it over the whole table."""
    return offsets.astype(np.uint64) + (np.uint64(fragment.fragment_id) << np.uint64(32))


def read_deletions(fragment: Any, read: ReadFile) -> Offsets | None:
    """Return the offsets of the rows that a fragment deletes; None when the file is not a plain list."""
    path = fragment.deletion_file()
    if path is None:
        return _NONE
    stored = fragment.metadata.deletion_file
    if stored.file_type != "array" or stored.base_id is not None:
        return None
    return read_list(path, read)


def read_list(path: str, read: ReadFile) -> Offsets | None:
    """Return the offsets in a deletion file that is a plain list; None when it cannot be read."""
    try:
        found = pa.ipc.open_file(pa.BufferReader(read(path)), options=_IN_THIS_THREAD)
        parts = [found.get_batch(number).column(0) for number in range(found.num_record_batches)]
    except (NotFound, pa.ArrowInvalid):
        return None  # Lance says what is wrong with the file when it lists the rows
    return np.concatenate([_NONE, *(np.asarray(part.to_numpy(), np.uint32) for part in parts)])


def find_deleted(dataset: Callable[[], Any], fragment: Fragment, read: ReadFile) -> NDArray[np.int64]:
    """Return the sorted places of the deleted rows of a fragment; Lance is asked where no list tells."""
    if fragment.deletion is None:
        return np.empty(0, dtype=np.int64)
    path = fragment.deletion_list
    listed = None if path is None else read_list(path, read)
    if listed is not None:
        return np.sort(listed.astype(np.int64))
    found = dataset().get_fragment(fragment.number).scanner(columns=[], with_row_address=True).to_table()
    live = np.zeros(fragment.rows, dtype=bool)
    live[offsets_of(found)] = True
    return np.flatnonzero(~live)


def offsets_of(rows: pa.Table) -> NDArray[np.int64]:
    """Return where rows lie in their fragment: the lower half of their address."""
    return np.asarray(rows["_rowaddr"].to_numpy(), dtype=np.uint64).astype(np.uint32).astype(np.int64)
