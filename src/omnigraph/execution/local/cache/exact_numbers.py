"""The numbers of a column as integers of any size, so that no sum of them is rounded.

A number is the sum of its limbs, each times a power of 2**LIMB_BITS, times a power of two that all share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow.types import is_floating

from omnigraph.execution.local.frame import Mask, Positions
from omnigraph.storage.numbers import unite

LIMB_BITS = 56
_MASK = (1 << LIMB_BITS) - 1
_MANTISSA_BITS = 53
_ROOM_BITS = 25
"""With the seven bits above a limb, what the highest limb needs for sums of 2**32 numbers."""

Limbs = list[Positions]
"""The limbs of some numbers, the lowest first."""
_Unsigned = npt.NDArray[np.uint64]


@dataclass
class ExactNumbers:
    """The numbers of the live rows of a column; zero for a row that has no number or a negative one."""

    mantissas: _Unsigned
    exponents: Positions
    bad: Positions
    """The live rows without a number, or with one that is negative or not finite."""
    is_float: bool
    _kept: tuple[int, int, Limbs] | None = None

    @staticmethod
    def of(column: pa.Array, live: Mask | None) -> ExactNumbers:
        """Read a column of numbers."""
        absent = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        numbers: npt.NDArray[Any] = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
        if is_floating(column.type):
            numbers = numbers.astype(np.float64)
            wrong = absent | ~np.isfinite(numbers) | (numbers < 0)
        else:
            wrong = absent | (numbers < 0)
        bad = np.flatnonzero(wrong if live is None else wrong & live)
        if wrong.any():
            numbers = np.where(wrong, numbers.dtype.type(0), numbers)
        if numbers.dtype.kind == "f":
            return ExactNumbers(*_take_apart(numbers), bad, True)
        return ExactNumbers(numbers.astype(np.uint64), np.zeros(len(numbers), dtype=np.int64), bad, False)

    @cached_property
    def lowest(self) -> int:
        """The smallest exponent of a number that is not zero."""
        return int(self.exponents[self.mantissas > 0].min(initial=0))

    @cached_property
    def highest(self) -> int:
        """The place above the highest bit of all numbers."""
        bits = np.frexp(self.mantissas.astype(np.float64))[1].astype(np.int64) + self.exponents
        return int(bits[self.mantissas > 0].max(initial=self.lowest))

    def limbs(self, exponent: int, count: int) -> Limbs:
        """Return the numbers as multiples of a power of two that divides them all."""
        kept = self._kept
        if kept is None or kept[:2] != (exponent, count):
            # Another combination of types has another power of two; one is kept.
            kept = self._kept = (exponent, count, self._make_limbs(exponent, count))
        return kept[2]

    def _make_limbs(self, exponent: int, count: int) -> Limbs:
        found = [np.zeros(len(self.mantissas), dtype=np.int64) for _ in range(count)]
        shifts = np.where(self.mantissas > 0, self.exponents - exponent, 0)
        first, offsets = shifts // LIMB_BITS, (shifts % LIMB_BITS).astype(np.uint64)
        kept = np.uint64(LIMB_BITS) - offsets
        low = (self.mantissas & ((np.uint64(1) << kept) - np.uint64(1))) << offsets
        rest = self.mantissas >> kept
        parts = (low, rest & np.uint64(_MASK), rest >> np.uint64(LIMB_BITS))
        for above, part in enumerate(parts):
            for number in unite(first[part > 0]).tolist():
                chosen = (first == number) & (part > 0)
                found[number + above][chosen] += part[chosen].astype(np.int64)
        return found

    @property
    def nbytes(self) -> int:
        """How much memory the numbers take."""
        kept = () if self._kept is None else self._kept[2]
        own = int(self.mantissas.nbytes) + self.exponents.nbytes + self.bad.nbytes
        return own + sum(limb.nbytes for limb in kept)


def count_limbs(bits: int) -> int:
    """Return how many limbs sums of numbers of so many bits need."""
    return max(1, -(-(bits + _ROOM_BITS) // LIMB_BITS))


def _take_apart(numbers: npt.NDArray[np.float64]) -> tuple[_Unsigned, Positions]:
    """Return odd integers, or zero, and the powers of two that they are multiplied with."""
    fractions, exponents = np.frexp(numbers)
    mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
    lowest = mantissas & -mantissas
    spare = np.maximum(np.frexp(lowest.astype(np.float64))[1].astype(np.int64) - 1, 0)
    return (mantissas >> spare).astype(np.uint64), exponents.astype(np.int64) - _MANTISSA_BITS + spare
