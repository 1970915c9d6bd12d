"""Sorting numbers and strings, in pieces between which a query can be cancelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import cancellation as checkpoints
from omnigraph.base.cancellation import checkpoint, chunks, is_watched

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SAMPLES_PER_PIECE = 32
"""Sampled values for each piece, to find borders between pieces of about equal size."""
_CHUNKS_SORTED_AT_ONCE = 16
"""Numbers of so many chunks are sorted without a checkpoint: that takes some 0.1 seconds."""
_MIN_PACKED_NUMBERS = 512
"""Fewer numbers are sorted by their places."""


def order_of(keys: Positions) -> Positions:
    """Return the places of numbers in ascending order; the sort is stable."""
    checkpoint()
    if not _is_long(len(keys)):
        return _stable_order(keys)
    pieces = len(keys) // checkpoints.CHUNK_ROWS + 1
    sample = np.sort(keys[:: max(1, len(keys) // (pieces * _SAMPLES_PER_PIECE))])
    borders = sample[_SAMPLES_PER_PIECE::_SAMPLES_PER_PIECE]
    numbers = np.empty(len(keys), dtype=np.int32)
    for part in chunks(len(keys)):
        numbers[part] = np.searchsorted(borders, keys[part], side="right")
    order, ends = _group_by_piece(numbers, len(borders) + 1)
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        checkpoint()
        order[first:last] = order[first:last][_stable_order(keys[order[first:last]])]
    return order


def sort_numbers(numbers: Positions) -> Positions:
    """Return numbers in ascending order."""
    checkpoint()
    if is_watched() and len(numbers) > _CHUNKS_SORTED_AT_ONCE * checkpoints.CHUNK_ROWS:
        return numbers[order_of(numbers)]
    return np.sort(numbers)


def _stable_order(keys: Positions) -> Positions:
    """Return the places of numbers in ascending order, equal ones as they stand.

    Sorting numbers is several times faster than sorting their places, so where both fit into one number
    they are sorted together.
    """
    if len(keys) < max(_MIN_PACKED_NUMBERS, 1) or keys.dtype != np.int64:
        return np.argsort(keys, kind="stable")
    low, bits = int(keys.min()), (len(keys) - 1).bit_length()
    if (int(keys.max()) - low).bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    packed = keys - low
    packed <<= bits
    packed |= np.arange(len(keys), dtype=np.int64)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def lexical_order(codes: Sequence[Positions]) -> Positions:
    """Return the places of rows in ascending order by their first code, then by the next."""
    if not _is_long(len(codes[0])):
        checkpoint()
        return np.lexsort(codes[::-1])
    order = order_of(codes[-1])
    for code in codes[-2::-1]:
        order = order[order_of(code[order])]
    return order


def distinct_rows(keys: Positions) -> tuple[Positions, Positions, Positions]:
    """Return the distinct numbers, sorted, the first place of each, and the index of each key in them."""
    order = order_of(keys)
    first = np.ones(len(keys), dtype=bool)
    for part in chunks(max(len(keys) - 1, 0)):
        ahead = slice(part.start + 1, part.stop + 1)
        first[ahead] = keys[order[ahead]] != keys[order[part]]
    numbers = np.empty(len(keys), dtype=np.int64)
    numbers[order] = np.cumsum(first) - 1
    places = order[first]
    return keys[places], places, numbers


def text_order(texts: pa.Array) -> Positions:
    """Return the places of strings in ascending order of their bytes; NULL comes last."""
    checkpoint()
    if not _is_long(len(texts)):
        return np.asarray(pc.sort_indices(texts).to_numpy(), dtype=np.int64)
    pieces = len(texts) // checkpoints.CHUNK_ROWS + 1
    every = max(1, len(texts) // (pieces * _SAMPLES_PER_PIECE))
    sample = texts.take(pa.array(np.arange(0, len(texts), every))).drop_null()
    borders = sample.take(pc.sort_indices(sample)).take(
        pa.array(np.arange(_SAMPLES_PER_PIECE, len(sample), _SAMPLES_PER_PIECE))
    )
    numbers = np.full(len(texts), len(borders) + 1, dtype=np.int32)
    for part in chunks(len(texts)):
        found = pc.search_sorted(borders, texts[part], side="right")
        valid = np.asarray(texts[part].is_valid().to_numpy(zero_copy_only=False))
        numbers[part][valid] = np.asarray(found.to_numpy(zero_copy_only=False))[valid]
    order, ends = _group_by_piece(numbers, len(borders) + 2)
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        checkpoint()
        some = order[first:last]
        order[first:last] = some[pc.sort_indices(texts.take(pa.array(some))).to_numpy().astype(np.int64)]
    return order


def _is_long(rows: int) -> bool:
    return rows > 4 * checkpoints.CHUNK_ROWS and is_watched()


def _group_by_piece(numbers: npt.NDArray[np.int32], pieces: int) -> tuple[Positions, list[int]]:
    """Return the places of rows sorted stably by the number of their piece, and where the pieces end."""
    sizes = np.zeros(pieces, dtype=np.int64)
    for part in chunks(len(numbers)):
        sizes += np.bincount(numbers[part], minlength=pieces)
    ends = np.cumsum(sizes)
    free, order = ends - sizes, np.empty(len(numbers), dtype=np.int64)
    for part in chunks(len(numbers)):
        here = np.argsort(numbers[part], kind="stable")
        counts = np.bincount(numbers[part], minlength=pieces)
        shifts = free - (np.cumsum(counts) - counts)
        order[np.arange(len(here)) + np.repeat(shifts, counts)] = here + part.start
        free += counts
    return order, ends.tolist()


def is_among(values: Positions, ascending: Positions) -> Mask:
    """Return which values are in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(values), dtype=bool)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[at] == values)
