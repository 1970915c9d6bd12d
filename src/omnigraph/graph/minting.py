"""Many new ids at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.base import clock
from omnigraph.base.ids import ULID_LENGTH, new_ulid

_LETTERS = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
_RANDOM_BYTES = 10


def mint_ids(count: int) -> pa.Array:
    """Return `count` new ULIDs of this moment, as fast as randomness comes."""
    noise = np.frombuffer(clock.current().random_bytes(_RANDOM_BYTES * count), dtype=np.uint8)
    bits = np.unpackbits(noise.reshape(count, _RANDOM_BYTES), axis=1).reshape(count, 16, 5)
    digits = bits @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)
    texts = np.empty((count, ULID_LENGTH), dtype=np.uint8)
    texts[:, :10] = np.frombuffer(new_ulid()[:10].encode(), dtype=np.uint8)
    texts[:, 10:] = _LETTERS[digits]
    offsets = np.arange(count + 1, dtype=np.int32) * ULID_LENGTH
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(texts))
