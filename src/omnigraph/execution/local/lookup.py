"""Finding rows by an exact value: an index in memory, made once for a column of a table version."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.execution.local.frame import NULL, Positions

Hashes = npt.NDArray[np.uint64]

_MULTIPLIER = 0x9E3779B97F4A7C15
_FACTOR = np.uint64(_MULTIPLIER)
_MASK = (1 << 64) - 1
_SHIFT = np.uint64(29)
_TAILS = np.array([(1 << (8 * size)) - 1 for size in range(8)] + [_MASK], dtype=np.uint64)


class Lookup:
    """Positions by value, for texts and for integers. NULL is never found."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        present = np.flatnonzero(_valid(values)).astype(np.int64)
        hashes = hash_values(values)[present]
        self._bits = max(1, len(present).bit_length())
        buckets = (hashes >> np.uint64(64 - self._bits)).astype(np.int64)
        order = np.argsort(buckets, kind="stable")
        self._starts = np.zeros((1 << self._bits) + 1, dtype=np.int64)
        np.cumsum(np.bincount(buckets, minlength=1 << self._bits), out=self._starts[1:])
        self._hashes = hashes[order]
        self._positions = present[order]

    @property
    def nbytes(self) -> int:
        """How much memory the index takes beside its column."""
        return self._starts.nbytes + self._hashes.nbytes + self._positions.nbytes

    def find(self, value: str | int) -> Positions:
        """Return all positions of a value, in order."""
        hashed = _hash_one(value)
        bucket = hashed >> (64 - self._bits)
        first, last = self._starts[bucket], self._starts[bucket + 1]
        same: Positions = self._positions[first:last][self._hashes[first:last] == np.uint64(hashed)]
        # A position counts only when its value is the same: two values may share a hash.
        if all(self._values[int(position)].as_py() == value for position in same):
            return same
        return np.array([at for at in same if self._values[int(at)].as_py() == value], dtype=np.int64)

    def find_each(self, values: pa.Array) -> Positions:
        """Return the position of each value, and -1 where there is none; for columns without duplicates."""
        if len(values) * 8 > len(self._values):
            exact = pc.index_in(values, value_set=self._values).fill_null(NULL)
            return np.asarray(exact.to_numpy(zero_copy_only=False), dtype=np.int64)
        hashes = hash_values(values)
        buckets = (hashes >> np.uint64(64 - self._bits)).astype(np.int64)
        at, ends = self._starts[buckets], self._starts[buckets + 1]
        found = np.full(len(values), NULL, dtype=np.int64)
        active = np.flatnonzero(at < ends)
        while len(active):
            place = at[active]
            hit = self._hashes[place] == hashes[active]
            found[active[hit]] = self._positions[place[hit]]
            active = active[~hit]
            at[active] += 1
            active = active[at[active] < ends[active]]
        return self._verified(values, found)

    def _verified(self, values: pa.Array, found: Positions) -> Positions:
        stored = self._values.take(pa.array(found, mask=found == NULL))
        same = np.asarray(pc.fill_null(pc.equal(stored, values), False).to_numpy(zero_copy_only=False))
        wrong = np.flatnonzero(~same & (found != NULL))
        if len(wrong):
            exact = pc.index_in(values.take(pa.array(wrong)), value_set=self._values)
            found[wrong] = np.asarray(exact.fill_null(NULL).to_numpy(zero_copy_only=False), dtype=np.int64)
        return found


def can_look_up(type_: pa.DataType) -> bool:
    """Say whether values of this type can be found by a `Lookup`."""
    return bool(pa.types.is_string(type_) or pa.types.is_integer(type_))


def hash_values(values: pa.Array) -> Hashes:
    """Return a 64-bit hash of each value; what stands for NULL means nothing."""
    if pa.types.is_string(values.type):
        return _hash_texts(values)
    numbers = np.asarray(pc.fill_null(values, 0).to_numpy(zero_copy_only=False))
    return _mixed(numbers.astype(np.int64).view(np.uint64) + _FACTOR)


def _hash_texts(values: pa.Array) -> Hashes:
    """Hash texts eight bytes at a time, all texts at once."""
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int32)[
        values.offset : values.offset + len(values) + 1
    ]
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(values) else (0, 0)
    data = values.buffers()[2]
    padded = np.zeros(last - first + 8, dtype=np.uint8)
    if data is not None:
        padded[:-8] = np.frombuffer(data, dtype=np.uint8)[first:last]
    # A word may begin at any byte.
    words = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded.data, strides=(1,))
    starts = starts - first
    hashes = _mixed(lengths.view(np.uint64) + _FACTOR)
    active = np.flatnonzero(lengths > 0)
    done = 0
    while len(active):
        word = words[starts[active] + done] & _TAILS[np.minimum(lengths[active] - done, 8)]
        hashes[active] = _mixed(hashes[active] ^ word)
        done += 8
        active = active[lengths[active] > done]
    return hashes


def _hash_one(value: str | int) -> int:
    """Return the hash of one value, the same as `hash_values` gives."""
    if isinstance(value, int):
        return _mixed_one(((value & _MASK) + _MULTIPLIER) & _MASK)
    data = value.encode()
    hashed = _mixed_one((len(data) + _MULTIPLIER) & _MASK)
    for at in range(0, len(data), 8):
        hashed = _mixed_one(hashed ^ int.from_bytes(data[at : at + 8], "little"))
    return hashed


def _mixed(hashes: Hashes) -> Hashes:
    hashes = hashes * _FACTOR
    hashes ^= hashes >> _SHIFT
    return hashes * _FACTOR


def _mixed_one(hashed: int) -> int:
    hashed = (hashed * _MULTIPLIER) & _MASK
    hashed ^= hashed >> 29
    return (hashed * _MULTIPLIER) & _MASK


def _valid(values: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
