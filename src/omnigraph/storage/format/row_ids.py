"""The row ids of a fragment, and the versions that last updated its rows, as a manifest has them.

A form that is not known here gives None, and who asks has the rows listed by Lance. A test compares both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from omnigraph.storage.format.protobuf import fields

Numbers = NDArray[np.uint64]

_SEGMENTS = _RUNS = 1
_RANGE, _HOLES, _BITS, _SORTED, _ARRAY = 1, 2, 3, 4, 5
_START, _END, _PRESENT = 1, 2, 3
_RUN_SPAN, _RUN_VERSION = 1, 2
_WIDTHS = {1: "<u2", 2: "<u4"}
_BASE, _OFFSETS = 1, 2
_WIDE, _WIDE_VALUES = 3, 1
_MOST_ROWS = 1 << 20
"""Of one range; a small fragment does not have more."""


class _Unknown(Exception):
    """Raised for a form that is not read here."""


def read_row_ids(stored: bytes, rows: int) -> Numbers | None:
    """Return the row ids of so many rows in their order; None when they are kept in another form."""
    try:
        return _whole([_segment(value) for value in _messages(stored, _SEGMENTS)], rows)
    except (ValueError, _Unknown):
        return None


def read_versions(stored: bytes, rows: int) -> Numbers | None:
    """Return the version that last updated each of so many rows; None when they are kept in another form."""
    try:
        return _whole([_run(value) for value in _messages(stored, _RUNS)], rows)
    except (ValueError, _Unknown):
        return None


def _whole(parts: list[Numbers], rows: int) -> Numbers | None:
    found = np.concatenate(parts) if parts else np.empty(0, np.uint64)
    return found if len(found) == rows else None


def _run(stored: bytes) -> Numbers:
    span, version = None, 0
    for part, value, _ in fields(stored):
        if part == _RUN_SPAN and isinstance(value, bytes):
            span = value
        elif part == _RUN_VERSION and isinstance(value, int):
            version = value
    if span is None:
        raise _Unknown
    return np.full(len(_segment(span)), version, np.uint64)


def _segment(stored: bytes) -> Numbers:
    [(kind, value, _)] = fields(stored)
    if not isinstance(value, bytes):
        raise _Unknown
    if kind == _RANGE:
        return _range(value)
    if kind == _HOLES:
        [holes] = _messages(value, _PRESENT)
        every = _range(value)
        whole: Numbers = every[~np.isin(every, _array(holes))]
        return whole
    if kind == _BITS:
        [bits] = _messages(value, _PRESENT)
        every = _range(value)
        flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(every), bitorder="little")
        some: Numbers = every[flags.astype(bool)]
        return some
    if kind in (_SORTED, _ARRAY):
        return _array(value)
    raise _Unknown


def _range(stored: bytes) -> Numbers:
    said = {part: value for part, value, _ in fields(stored) if isinstance(value, int)}
    start, end = said.get(_START, 0), said.get(_END, 0)
    if end - start > _MOST_ROWS:
        raise _Unknown
    return np.arange(start, end, dtype=np.uint64)


def _array(stored: bytes) -> Numbers:
    [(kind, value, _)] = fields(stored)
    if not isinstance(value, bytes):
        raise _Unknown
    said = {part: item for part, item, _ in fields(value)}
    if kind == _WIDE:
        values = said.get(_WIDE_VALUES, b"")
        if not isinstance(values, bytes):
            raise _Unknown
        return np.frombuffer(values, "<u8").astype(np.uint64)
    base, offsets = said.get(_BASE, 0), said.get(_OFFSETS, b"")
    if kind not in _WIDTHS or not isinstance(base, int) or not isinstance(offsets, bytes):
        raise _Unknown
    found: Numbers = np.frombuffer(offsets, _WIDTHS[kind]).astype(np.uint64) + np.uint64(base)
    return found


def _messages(stored: bytes, number: int) -> Iterator[bytes]:
    for part, value, _ in fields(stored):
        if part == number:
            if not isinstance(value, bytes):
                raise _Unknown
            yield value
