"""The places of a source's records as numbers, as columns hold them."""

from __future__ import annotations

_FILE_SHIFT_BITS = 40
_NUMBER_MASK = (1 << _FILE_SHIFT_BITS) - 1


def pack_place(file: int, number: int) -> int:
    """Return a place as one number: the file's in the source, and the line's or row's in the file."""
    return file << _FILE_SHIFT_BITS | number


def unpack_place(at: int) -> tuple[int, int]:
    """Return what a place was made of."""
    return at >> _FILE_SHIFT_BITS, at & _NUMBER_MASK
