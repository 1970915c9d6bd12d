"""A column in two arrays: the rows that are expected to stay, which versions share, and those added since.

The latter come in the pieces that they were written in, and are joined when many rows are asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.execution.local.frame import NULL, Positions

_FEW_ROWS = 16
"""So many rows are taken one by one, from pieces that were not joined yet."""
_Arrays: TypeAlias = tuple[tuple[pa.Array, ...], tuple[int, ...]]
"""Arrays one after the other, and where each begins."""


class PartedColumn:
    """The arrays of a column one after the other. No row is copied when a version adds some."""

    def __init__(
        self, pieces: Sequence[pa.Array], nbytes: int, join: Callable[[], Sequence[pa.Array]] | None = None
    ) -> None:
        """Take arrays, at least one, their memory, and what gives their rows in fewer arrays."""
        self._pieces = _place(pieces)
        self._join = join
        self.nbytes = nbytes
        """How much memory the arrays take."""

    @staticmethod
    def of(parts: Sequence[pa.Array]) -> PartedColumn:
        """Join arrays of one type, at least one."""
        return PartedColumn(parts, sum(int(part.nbytes) for part in parts))

    @property
    def first(self) -> pa.Array:
        """The first array."""
        return self._pieces[0][0]

    @property
    def parts(self) -> tuple[pa.Array, ...]:
        """The arrays."""
        return self._join_once()[0]

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each array begins."""
        return self._join_once()[1]

    def __len__(self) -> int:
        pieces, starts = self._pieces
        return starts[-1] + len(pieces[-1])

    def value(self, position: int) -> object:
        """Return the value of a row."""
        pieces, starts = self._pieces
        if position < 0:
            raise IndexError(position)
        at = bisect_right(starts, position) - 1
        return pieces[at][position - starts[at]].as_py()

    def take(self, positions: Positions, nulls: bool = False) -> pa.Array:
        """Return the values of some rows; if there may be `nulls`, position -1 gives NULL."""
        pieces, _ = self._pieces
        if len(pieces) == 1:
            return _take(pieces[0], positions, nulls)
        if 0 < len(positions) <= _FEW_ROWS and (not nulls or positions.min() != NULL):
            return self._take_each(positions.tolist())
        if len(self.parts) == 1:
            return _take(self.parts[0], positions, nulls)
        split = self.split(positions)
        found = [_take(part, rows, nulls) for part, rows, _ in split]
        if len(found) == 1:
            return found[0]
        order = np.empty(len(positions), dtype=np.int64)
        order[np.concatenate([places for _, _, places in split])] = np.arange(len(positions), dtype=np.int64)
        return pa.concat_arrays(found).take(pa.array(order))

    def split(self, positions: Positions) -> list[tuple[pa.Array, Positions, Positions]]:
        """Return each array that has some of the rows, their places in it, and in the input."""
        parts, starts = self._join_once()
        number = np.searchsorted(np.array(starts), positions, side="right") - 1
        number[positions == NULL] = 0
        found = []
        for at, (part, start) in enumerate(zip(parts, starts, strict=True)):
            here = np.flatnonzero(number == at)
            if len(here) == len(positions):
                return [(part, positions - start if start else positions, here)]
            if len(here):
                found.append((part, positions[here] - start, here))
        return found

    def _take_each(self, positions: list[int]) -> pa.Array:
        pieces, starts = self._pieces
        found = []
        for position in positions:
            at = bisect_right(starts, position) - 1
            found.append(_narrow(pieces[at].slice(position - starts[at], 1)))
        return found[0] if len(found) == 1 else pa.concat_arrays(found)

    def _join_once(self) -> _Arrays:
        join = self._join
        if join is not None:  # two threads may both join: they get the same
            self._pieces, self._join = _place(join()), None
        return self._pieces


def _place(arrays: Sequence[pa.Array]) -> _Arrays:
    starts = accumulate((len(part) for part in arrays[:-1]), initial=0)
    return tuple(arrays), tuple(starts)


def _take(part: pa.Array, positions: Positions, nulls: bool) -> pa.Array:
    places = pa.array(positions, mask=positions == NULL) if nulls else pa.array(positions)
    return _narrow(part.take(places))


def _narrow(found: pa.Array) -> pa.Array:
    return found.cast(pa.string()) if pa.types.is_large_string(found.type) else found
