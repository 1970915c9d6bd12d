"""Sets of row numbers as Roaring bitmaps, in the portable form in which Lance reads lists of deleted rows."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_COOKIE_WITHOUT_RUNS = 12_346
_LONGEST_LIST = 4_096
"""A container with more rows is a bitmap of its 65,536 rows, which is shorter then."""
_ROWS_IN_CONTAINER_BITS = 16


def encode_bitmap(rows: NDArray[np.uint32]) -> bytes:
    """Return sorted and distinct row numbers as a bitmap."""
    keys, starts = np.unique(rows >> np.uint32(_ROWS_IN_CONTAINER_BITS), return_index=True)
    parts = np.split(rows.astype("<u2"), starts[1:]) if len(keys) else []
    bodies = [_encode_container(part) for part in parts]
    header = struct.pack("<II", _COOKIE_WITHOUT_RUNS, len(keys))
    header += b"".join(
        struct.pack("<HH", int(key), len(part) - 1) for key, part in zip(keys, parts, strict=True)
    )
    first = len(header) + 4 * len(bodies)
    places = first + np.cumsum([0, *(len(body) for body in bodies)])[:-1]
    return b"".join([header, places.astype("<u4").tobytes(), *bodies])


def _encode_container(rows: NDArray[np.uint16]) -> bytes:
    if len(rows) <= _LONGEST_LIST:
        return rows.tobytes()
    bits = np.zeros(1 << _ROWS_IN_CONTAINER_BITS, np.uint8)
    bits[rows] = 1
    return np.packbits(bits, bitorder="little").tobytes()
