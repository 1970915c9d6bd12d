"""Digests of rows: two records are the same if their digests are."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

CONTENT_COLUMN = "_content"
"""The column of digests, beside the keys of records that may be repeated."""
_DIGEST_BYTES = 16
CONTENT_TYPE = pa.binary(_DIGEST_BYTES)

Rows = npt.NDArray[np.int64]
"""Row numbers, sorted."""
NO_ROWS: Rows = np.zeros(0, np.int64)


def digest_rows(rows: pa.Table) -> pa.Array:
    """Return the digest of each row, its id included."""
    columns = [_as_numbers(column).to_pylist() for column in rows.columns]
    encoded = (repr(values).encode() for values in zip(*columns, strict=True))
    return pa.array([blake2b(text, digest_size=_DIGEST_BYTES).digest() for text in encoded], CONTENT_TYPE)


def pack_digests(column: pa.ChunkedArray) -> bytes:
    """Return a column of digests as bytes."""
    return b"".join(column.to_pylist())


def unpack_digests(data: bytes) -> pa.Array:
    """Return the digests that `pack_digests` packed."""
    return pa.FixedSizeBinaryArray.from_buffers(
        CONTENT_TYPE, len(data) // _DIGEST_BYTES, [None, pa.py_buffer(data)]
    )


def first_of_each(column: pa.ChunkedArray) -> Rows:
    """Return the first row with each digest."""
    codes = column.combine_chunks().dictionary_encode().indices.to_numpy()
    return np.sort(np.unique(codes, return_index=True)[1]).astype(np.int64)


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates and datetimes as numbers: Python has no value for some that can be stored."""
    wanted = _without_calendar(column.type)
    return column if column.type == wanted else column.cast(wanted)


def _without_calendar(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_date(type_):
        return pa.int32() if pa.types.is_date32(type_) else pa.int64()
    return pa.list_(_without_calendar(type_.value_type)) if pa.types.is_list(type_) else type_
