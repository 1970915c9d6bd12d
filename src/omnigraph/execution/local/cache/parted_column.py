"""A column in two arrays: the rows that are expected to stay, which versions share, and those added since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pyarrow as pa

from omnigraph.execution.local.frame import NULL, Positions


@dataclass(frozen=True)
class PartedColumn:
    """The arrays of a column one after the other. No row is copied when a version adds some."""

    parts: tuple[pa.Array, ...]
    starts: tuple[int, ...]

    @staticmethod
    def of(parts: Sequence[pa.Array]) -> PartedColumn:
        """Join arrays of one type, at least one."""
        starts = accumulate((len(part) for part in parts[:-1]), initial=0)
        return PartedColumn(tuple(parts), tuple(starts))

    def __len__(self) -> int:
        return self.starts[-1] + len(self.parts[-1])

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(int(part.nbytes) for part in self.parts)

    def value(self, position: int) -> object:
        """Return the value of a row."""
        for part, start in zip(reversed(self.parts), reversed(self.starts), strict=True):
            if position >= start:
                return part[position - start].as_py()
        raise IndexError(position)

    def take(self, positions: Positions, nulls: bool = False) -> pa.Array:
        """Return the values of some rows; if there may be `nulls`, position -1 gives NULL."""
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
        number = np.searchsorted(np.array(self.starts), positions, side="right") - 1
        number[positions == NULL] = 0
        found = []
        for at, (part, start) in enumerate(zip(self.parts, self.starts, strict=True)):
            here = np.flatnonzero(number == at)
            if len(here) == len(positions):
                return [(part, positions - start if start else positions, here)]
            if len(here):
                found.append((part, positions[here] - start, here))
        return found


def _take(part: pa.Array, positions: Positions, nulls: bool) -> pa.Array:
    places = pa.array(positions, mask=positions == NULL) if nulls else pa.array(positions)
    found = part.take(places)
    return found.cast(pa.string()) if pa.types.is_large_string(found.type) else found
