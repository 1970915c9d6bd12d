"""The places of a source's records as numbers, as columns hold them."""

from __future__ import annotations

_FILE_SHIFT = 40
_NUMBER = (1 << _FILE_SHIFT) - 1


def pack_place(file: int, number: int) -> int:
    """Return a place as one number: the file's in the source, and the line's or row's in the file."""
    return file << _FILE_SHIFT | number


def unpack_place(at: int) -> tuple[int, int]:
    """Return what a place was made of."""
    return at >> _FILE_SHIFT, at & _NUMBER
