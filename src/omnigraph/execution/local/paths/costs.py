"""The weights of edges and sums of them, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omnigraph.execution.local.cache.exact_numbers import LIMB_BITS, ExactNumbers, Limbs, count_limbs
from omnigraph.execution.local.frame import Mask, Positions

_LIMB = 1 << LIMB_BITS


@dataclass(frozen=True)
class Weights:
    """The weights of all edges of a search, as multiples of a power of two."""

    limbs: Limbs
    exponent: int
    is_float: bool

    @staticmethod
    def of(tables: Sequence[ExactNumbers]) -> Weights:
        """Bring the weights of some tables, one after the other, to one power of two."""
        exponent = min((item.lowest for item in tables), default=0)
        count = count_limbs(max((item.highest for item in tables), default=exponent) - exponent)
        parts = [item.limbs(exponent, count) for item in tables]
        limbs = (
            parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        )
        return Weights(limbs, exponent, any(item.is_float for item in tables))

    def plain(self, edges: Positions) -> list[int]:
        """Return the weights of some edges as integers of Python."""
        return as_integers([limb[edges] for limb in self.limbs])

    def show(self, cost: int) -> int | float | None:
        """Return a sum of weights as a value; None beyond I64 or F64."""
        if not self.is_float:
            return cost if cost < 2**63 else None
        try:
            return cost / (1 << -self.exponent) if self.exponent < 0 else float(cost << self.exponent)
        except OverflowError:
            return None


def as_integers(limbs: Limbs) -> list[int]:
    """Return numbers as integers of Python."""
    found: list[int] = limbs[0].tolist()
    for place, limb in enumerate(limbs[1:], 1):
        found = [one + (more << (LIMB_BITS * place)) for one, more in zip(found, limb.tolist(), strict=True)]
    return found


def as_limbs(numbers: Sequence[int], count: int) -> Limbs:
    """Return integers of Python as limbs."""
    last = count - 1
    return [
        np.array(
            [
                (item >> (LIMB_BITS * at)) if at == last else (item >> (LIMB_BITS * at)) % _LIMB
                for item in numbers
            ],
            dtype=np.int64,
        )
        for at in range(count)
    ]


def add(left: Limbs, right: Limbs) -> Limbs:
    """Return the sums of numbers."""
    found = [one + other for one, other in zip(left, right, strict=True)]
    for place in range(len(found) - 1):
        found[place + 1] += found[place] >> LIMB_BITS
        found[place] &= _LIMB - 1
    return found


def is_less(left: Limbs, right: Limbs) -> Mask:
    """Return for each pair whether the first number is smaller."""
    found: Mask = left[0] < right[0]
    for one, other in zip(left[1:], right[1:], strict=True):
        found = (one < other) | ((one == other) & found)
    return found


def is_equal(left: Limbs, right: Limbs) -> Mask:
    """Return for each pair whether the numbers are equal."""
    found: Mask = np.logical_and.reduce([one == other for one, other in zip(left, right, strict=True)])
    return found
