"""The place of a record in its source as one integer: file number and line or row number."""

from __future__ import annotations

_FILE_SHIFT_BITS = 40
_NUMBER_MASK = (1 << _FILE_SHIFT_BITS) - 1


def pack_place(file: int, number: int) -> int:
    """Pack the number of the file, and of the line or row in it, into one integer."""
    return file << _FILE_SHIFT_BITS | number


def unpack_place(at: int) -> tuple[int, int]:
    """Return the file number and the line or row number of a place."""
    return at >> _FILE_SHIFT_BITS, at & _NUMBER_MASK
