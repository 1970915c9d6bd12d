"""Typed equality of stored columns, value by value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def equal_values(old: pa.Array, new: pa.Array) -> Mask:
    """Say for every place whether two arrays of one type hold the same value there.

    Null equals only null, and floats are the same when their bits are: a change of any kind is a change.
    """
    valid = _mask(old.is_valid()), _mask(new.is_valid())
    both = valid[0] & valid[1]
    same: Mask = valid[0] == valid[1]
    places = np.flatnonzero(both)
    if len(places) == 0:
        return same
    if len(places) < len(both):
        old, new = old.take(pa.array(places)), new.take(pa.array(places))
    same[places] = _equal_valid(old, new)
    return same


def _equal_valid(old: pa.Array, new: pa.Array) -> Mask:
    if pa.types.is_fixed_size_list(old.type):
        return _equal_vectors(old, new)
    if pa.types.is_list(old.type) or pa.types.is_large_list(old.type):
        return _equal_lists(old, new)
    bits = _BITS.get(old.type)
    return _mask(pc.equal(old.view(bits), new.view(bits)) if bits else pc.equal(old, new))


def _equal_vectors(old: pa.Array, new: pa.Array) -> Mask:
    members = equal_values(old.flatten(), new.flatten())
    same: Mask = np.all(members.reshape(len(old), old.type.list_size), axis=1)
    return same


def _equal_lists(old: pa.Array, new: pa.Array) -> Mask:
    lengths = _lengths(old), _lengths(new)
    same: Mask = lengths[0] == lengths[1]
    filled = np.flatnonzero(same & (lengths[0] > 0))
    if len(filled) == 0:
        return same
    taken = pa.array(filled)
    members = equal_values(old.take(taken).flatten(), new.take(taken).flatten())
    starts = np.concatenate([[0], np.cumsum(lengths[0][filled])[:-1]])
    same[filled] = np.logical_and.reduceat(members, starts)
    return same


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.list_value_length(lists).to_numpy(zero_copy_only=False), np.int64)


def _mask(values: pa.BooleanArray) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_).copy()
