"""64-bit hashes of texts, eight bytes at a time over a whole column.

The hash is keyed: every load draws its own key, so that nobody can prepare texts that collide. Equal texts
have equal hashes; what unequal texts with equal hashes could mean is said where hashes are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_WORD = 8
_SHIFT_FIRST, _SHIFT_LAST = np.uint64(32), np.uint64(29)
_FACTOR_FIRST, _FACTOR_LAST = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_KEPT = np.array([(1 << (8 * count)) - 1 for count in range(_WORD + 1)], dtype=np.uint64)


def hash_texts(texts: pa.Array | pa.ChunkedArray, key: int) -> Hashes:
    """Return one hash for each text; there must be no NULL among them."""
    if isinstance(texts, pa.ChunkedArray):
        parts = [hash_texts(chunk, key) for chunk in texts.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    if len(texts) == 0:
        return np.zeros(0, np.uint64)
    begins, lengths, words = _words(texts)
    hashes: Hashes = np.uint64(key) ^ lengths.astype(np.uint64)
    _mix(hashes)
    for at in range(0, int(lengths.max()), _WORD):
        left = np.minimum(lengths - at, _WORD)
        if int(left.min()) > 0:
            hashes ^= words[begins + at] & _KEPT[left]
            _mix(hashes)
        else:
            rows = np.flatnonzero(left > 0)
            some = hashes[rows] ^ (words[begins[rows] + at] & _KEPT[left[rows]])
            _mix(some)
            hashes[rows] = some
    return hashes


def _mix(hashes: Hashes) -> None:
    """Spread every bit over all others; no two values become one."""
    hashes *= _FACTOR_FIRST
    hashes ^= hashes >> _SHIFT_FIRST
    hashes *= _FACTOR_LAST
    hashes ^= hashes >> _SHIFT_LAST


def _words(texts: pa.Array) -> tuple[Any, Any, Hashes]:
    """Return where each text begins, how long it is, and the word at every place of their bytes."""
    texts = texts.cast(pa.string()) if not pa.types.is_string(texts.type) else texts
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    used = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.zeros(0, np.uint8)
    padded = np.zeros(len(used) + _WORD, np.uint8)
    padded[: len(used)] = used
    words: Hashes = np.ndarray((len(used) + 1,), np.uint64, buffer=padded, strides=(1,))
    return ends[:-1] - ends[0], np.diff(ends), words
