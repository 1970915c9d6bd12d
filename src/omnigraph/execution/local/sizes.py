"""How much memory a column of some rows will take."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.ir.values import Constant
from omnigraph.execution.local.frame import NULL, Positions

_CHUNK_ROWS = 1 << 18
"""Rows whose lengths are summed at once."""
_MAX_ARRAY_SIZE = 2**31 - 1
"""Bytes of strings, or members of lists, that an array with 32-bit offsets can hold."""


def column_bytes(column: pa.Array, positions: Positions) -> int:
    """Return the bytes of a column at some positions; position -1 is NULL."""
    kind, rows = column.type, len(positions)
    if pa.types.is_fixed_size_list(kind):
        return rows * int(kind.list_size) * _width(kind.value_type)
    if pa.types.is_list(kind):
        members = column.values
        return 4 * rows + int(
            _sum_lengths(column, positions, np.int32) * members.nbytes / max(len(members), 1)
        )
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        wide = pa.types.is_large_string(kind)
        size = _sum_lengths(column, positions, np.int64 if wide else np.int32)
        check_fits_one_array(size, "bytes of text")
        return 4 * rows + size
    if pa.types.is_struct(kind):
        return int(rows * column.nbytes / max(len(column), 1))
    return rows * _width(kind)


def constant_bytes(value: Constant, rows: int) -> int:
    """Return the bytes of a value repeated for every row."""
    plain = value.value
    if isinstance(plain, str):
        size = rows * len(plain.encode())
        check_fits_one_array(size, "bytes of text")
        return size + 4 * rows
    return rows * 8 * (len(plain) if isinstance(plain, tuple) else 1)


def check_fits_one_array(count: int, what: str) -> None:
    """Raise ResourceLimit if a column has more bytes or members than an array can address."""
    if count > _MAX_ARRAY_SIZE:
        raise ResourceLimit(
            f"a column of the result has {count} {what}, more than one array can hold: narrow the query, "
            "or read it as a stream",
            resource="column_size",
            limit=_MAX_ARRAY_SIZE,
            actual=count,
        )


def _sum_lengths(column: pa.Array, positions: Positions, offset: type[np.signedinteger]) -> int:
    """Return the total length of the values at some positions, in bytes or members."""
    if len(column) == 0:
        return 0
    offsets = np.frombuffer(column.buffers()[1], dtype=offset)[column.offset :][: len(column) + 1]
    total = 0
    for start in range(0, len(positions), _CHUNK_ROWS):
        some = positions[start : start + _CHUNK_ROWS]
        some = some[some != NULL]
        total += int((offsets[some + 1].astype(np.int64) - offsets[some]).sum())
    return total


def _width(kind: pa.DataType) -> int:
    """Return the bytes of one value of fixed size; 1 for a boolean."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 8
