"""Arithmetic: integers are exact and fit I64, floats are finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from operator import add, mul, sub

from omnigraph.compiler.functions.overload import (
    FLOAT,
    INTEGER,
    NUMBER,
    NoResult,
    Overload,
    check_integer,
    gives,
)
from omnigraph.compiler.types import Scalar

_WHOLE, _FLOAT = gives(Scalar.I64), gives(Scalar.F64)


def check_float(value: float) -> float:
    """Return a float that is finite, or raise NoResult."""
    if not math.isfinite(value):
        raise NoResult("the result exceeds the range of F64")
    return value


def _whole(operation: Callable[[int, int], int]) -> Overload:
    return Overload((INTEGER, INTEGER), _WHOLE, lambda left, right: check_integer(operation(left, right)))


def _real(operation: Callable[[float, float], float]) -> Overload:
    return Overload(
        (NUMBER, NUMBER), _FLOAT, lambda left, right: check_float(operation(float(left), float(right)))
    )


def _divide(left: float, right: float) -> float:
    if right == 0:
        raise NoResult("division by zero")
    try:
        return check_float(left / right)
    except OverflowError:
        raise NoResult("the result exceeds the range of F64") from None


def _divide_whole(left: int, right: int) -> int:
    """Return the quotient without its fraction: it is rounded towards zero."""
    if right == 0:
        raise NoResult("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """Return what division by whole numbers leaves: it has the sign of the left number."""
    return left - right * _divide_whole(left, right)


def _float_remainder(left: float, right: float) -> float:
    if right == 0:
        raise NoResult("division by zero")
    return math.fmod(left, right)


def _round_half_up(value: float) -> float:
    return float(Decimal(value).quantize(Decimal(1), ROUND_HALF_UP)) if abs(value) < 2**52 else value


def _rounding(operation: Callable[[float], float]) -> tuple[Overload, ...]:
    whole = Overload((INTEGER,), _WHOLE, check_integer)
    return whole, Overload((FLOAT,), _FLOAT, lambda value: float(operation(value)))


NUMBERS: dict[str, tuple[Overload, ...]] = {
    "+": (_whole(add), _real(add)),
    "-": (_whole(sub), _real(sub)),
    "*": (_whole(mul), _real(mul)),
    "/": (Overload((NUMBER, NUMBER), _FLOAT, _divide),),
    "%": (_whole(_remainder), _real(_float_remainder)),
    "negative": (
        Overload((INTEGER,), _WHOLE, lambda value: check_integer(-value)),
        Overload((FLOAT,), _FLOAT, lambda value: -value),
    ),
    "div": (_whole(_divide_whole),),
    "abs": (
        Overload((INTEGER,), _WHOLE, lambda value: check_integer(abs(value))),
        Overload((FLOAT,), _FLOAT, abs),
    ),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "round": _rounding(_round_half_up),
}
