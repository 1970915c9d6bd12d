"""64-bit hashes of texts and integers, eight bytes at a time over a whole column.

Equal values have equal hashes; what unequal values with equal hashes could mean is said where hashes are
compared. A key makes the hashes of one load its own, so that nobody can prepare values that collide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Hashes = npt.NDArray[np.uint64]

_WORD_BYTES = 8
_MASK = (1 << 64) - 1
_SHIFT_FIRST, _SHIFT_LAST = 32, 29
_FACTOR_FIRST, _FACTOR_LAST = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
_MASK_BY_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(_WORD_BYTES + 1)], dtype=np.uint64)


def hash_values(values: pa.Array | pa.ChunkedArray, key: int = 0) -> Hashes:
    """Return one hash for each text or integer; what stands for NULL means nothing."""
    if isinstance(values, pa.ChunkedArray):
        parts = [hash_values(chunk, key) for chunk in values.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    if len(values) == 0:
        return np.zeros(0, np.uint64)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _hash_texts(values, key)
    numbers = np.asarray(pc.fill_null(values, 0).to_numpy(zero_copy_only=False))
    hashes: Hashes = numbers.astype(np.int64).view(np.uint64) ^ np.uint64(key)
    _mix(hashes)
    return hashes


def hash_value(value: str | int, key: int = 0) -> int:
    """Return the hash of one value, the same as `hash_values` gives."""
    if isinstance(value, int):
        return _mix_number((value & _MASK) ^ key)
    data = value.encode()
    hashed = _mix_number(len(data) ^ key)
    for at in range(0, len(data), _WORD_BYTES):
        hashed = _mix_number(hashed ^ int.from_bytes(data[at : at + _WORD_BYTES], "little"))
    return hashed


def _hash_texts(texts: pa.Array, key: int) -> Hashes:
    begins, lengths, words = _words(texts)
    hashes: Hashes = np.uint64(key) ^ lengths.astype(np.uint64)
    _mix(hashes)
    for at in range(0, int(lengths.max()), _WORD_BYTES):
        left = np.minimum(lengths - at, _WORD_BYTES)
        if int(left.min()) > 0:
            hashes ^= words[begins + at] & _MASK_BY_BYTES[left]
            _mix(hashes)
        else:
            rows = np.flatnonzero(left > 0)
            some = hashes[rows] ^ (words[begins[rows] + at] & _MASK_BY_BYTES[left[rows]])
            _mix(some)
            hashes[rows] = some
    return hashes


def _mix(hashes: Hashes) -> None:
    """Spread every bit over all others; no two values become one."""
    hashes *= np.uint64(_FACTOR_FIRST)
    hashes ^= hashes >> np.uint64(_SHIFT_FIRST)
    hashes *= np.uint64(_FACTOR_LAST)
    hashes ^= hashes >> np.uint64(_SHIFT_LAST)


def _mix_number(hashed: int) -> int:
    hashed = (hashed * _FACTOR_FIRST) & _MASK
    hashed ^= hashed >> _SHIFT_FIRST
    hashed = (hashed * _FACTOR_LAST) & _MASK
    return hashed ^ (hashed >> _SHIFT_LAST)


def _words(texts: pa.Array) -> tuple[Any, Any, Hashes]:
    """Return where each text begins, how long it is, and the word at every place of their bytes."""
    _, offsets, data = texts.buffers()
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    ends = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    used = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.zeros(0, np.uint8)
    return ends[:-1] - ends[0], np.diff(ends), words_of(used)


def words_of(data: npt.NDArray[np.uint8]) -> Hashes:
    """Return the eight bytes from every place on, and at the end, as one number each."""
    padded = np.zeros(len(data) + _WORD_BYTES, np.uint8)
    padded[: len(data)] = data
    # A word may begin at any byte.
    return np.ndarray((len(data) + 1,), "<u8", buffer=padded, strides=(1,))


def mask_words(words: Hashes, places: npt.NDArray[np.int64], count: int) -> Hashes:
    """Return the first so many bytes of the words at some places."""
    found: Hashes = words[places] & _MASK_BY_BYTES[count]
    return found
