"""Distances and products of two vectors of one dimension; sums are rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import mul

from omnigraph.compiler.functions.numbers import check_float
from omnigraph.compiler.functions.overload import VECTOR, NoResult, Overload, gives
from omnigraph.compiler.types import PropertyType, Scalar

Components = Sequence[float]


def _dot(left: Components, right: Components) -> float:
    return _sum(map(mul, left, right))


def _l2(left: Components, right: Components) -> float:
    return math.dist(left, right)


def _cosine(left: Components, right: Components) -> float:
    """Return one minus the cosine of the angle; without a direction there is none."""
    lengths = math.hypot(*left) * math.hypot(*right)
    if lengths == 0:
        raise NoResult("a vector of zeros has no direction")
    return 1.0 - max(-1.0, min(1.0, _dot(left, right) / lengths))


def _sum(numbers: map[float]) -> float:
    try:
        return math.fsum(numbers)
    except OverflowError:
        raise NoResult("the result exceeds the range of F64") from None


def _same_dimension(types: Sequence[PropertyType]) -> bool:
    return types[0].vector == types[1].vector


def _of_two(compute: Callable[[Components, Components], float]) -> tuple[Overload, ...]:
    def compute_checked(left: Components, right: Components) -> float:
        return check_float(compute(left, right))

    return (Overload((VECTOR, VECTOR), gives(Scalar.F64), compute_checked, _same_dimension),)


VECTORS: dict[str, tuple[Overload, ...]] = {
    "cosine_distance": _of_two(_cosine),
    "l2_distance": _of_two(_l2),
    "dot_product": _of_two(_dot),
}
