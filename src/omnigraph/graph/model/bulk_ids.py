"""Many new ids at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.base import clock
from omnigraph.base.ids import ULID_LENGTH, new_ulid

_LETTERS = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
_RANDOM_LETTERS = 16


def mint_ids(count: int) -> pa.Array:
    """Return `count` new ULIDs of this moment, as fast as randomness comes."""
    # Five bits of each random byte are one letter: using all eight takes longer than drawing more bytes.
    noise = np.frombuffer(clock.current().random_bytes(_RANDOM_LETTERS * count), dtype=np.uint8)
    texts = np.empty((count, ULID_LENGTH), dtype=np.uint8)
    texts[:, :-_RANDOM_LETTERS] = np.frombuffer(new_ulid()[:-_RANDOM_LETTERS].encode(), dtype=np.uint8)
    texts[:, -_RANDOM_LETTERS:] = _LETTERS[noise.reshape(count, _RANDOM_LETTERS) & 31]
    offsets = np.arange(count + 1, dtype=np.int32) * ULID_LENGTH
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(texts))
