"""What expressions mean, written again for the reference evaluator."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from omnigraph.compiler.ir import values as val
from omnigraph.compiler.ir.computed import Call, Case, ConditionTruth, ListOf

_EPOCH = date(1970, 1, 1)
_DAY_MILLIS = 86_400_000


def compute(
    node: val.Computed, value: Callable[[val.Value], Any], truth: Callable[[Any], bool | None]
) -> Any:
    """Return the value of an expression; None where there is none."""
    match node:
        case ConditionTruth():
            return truth(node.condition)
        case Case():
            chosen = [branch.value for branch in node.branches if truth(branch.condition) is True]
            return _typed(value((chosen or [node.otherwise])[0]), node)
        case ListOf():
            members = tuple(_typed(value(item), node) for item in node.items)
            return None if node.type.is_vector and None in members else members
        case Call(function="coalesce"):
            given = (value(item) for item in node.arguments)
            return _typed(next((item for item in given if item is not None), None), node)
        case Call():
            arguments = [value(item) for item in node.arguments]
            if any(item is None for item in arguments):
                return None
            moments = [item.type.scalar.value for item in node.arguments]
            found = _call(node.function, arguments, moments)
            return _typed(_fitting(found, node.type.scalar.value), node)
    raise AssertionError(f"no reference for {node}")


def _typed(found: Any, node: Call | Case | ListOf) -> Any:
    if isinstance(found, tuple):
        return tuple(_typed(item, node) for item in found)
    if node.type.scalar.value == "I64" and type(found) is int:
        return _fitting(found, "I64")
    return float(found) if node.type.scalar.is_float and type(found) is int else found


def _fitting(found: Any, scalar: str) -> Any:
    """Return a number that its type can hold; None for another."""
    if scalar == "Date" and isinstance(found, int):
        return found if -(2**31) <= found < 2**31 else None
    if type(found) is int:
        return found if -(2**63) <= found < 2**63 else None
    return found if not isinstance(found, float) or math.isfinite(found) else None


def _call(function: str, arguments: list[Any], types: list[str]) -> Any:
    first, *more = arguments
    if function in ("+", "-", "*", "/", "%") and more and not isinstance(first, str):
        return _arithmetic(function, first, more[0])
    if function in ("year", "month", "day"):
        return getattr(
            _EPOCH + timedelta(days=first if types[0] == "Date" else first // _DAY_MILLIS), function
        )
    if function == "weekday":
        return (_EPOCH + timedelta(days=first if types[0] == "Date" else first // _DAY_MILLIS)).isoweekday()
    if function == "millisecond":
        return first % 1000
    if function == "to_datetime" and types[0] == "Date":
        return first * _DAY_MILLIS
    if function == "hour":
        return first % _DAY_MILLIS // 3_600_000
    if function == "second":
        return first % 60_000 // 1000
    if function == "minute":
        return first % 3_600_000 // 60_000
    return _OTHERS[function](first, *more)


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if operator in "/%" and right == 0:
        return None
    if operator == "/":
        if isinstance(left, int) and isinstance(right, int):
            return float(Fraction(left, right))
        return _finite(lambda: float(left) / float(right))
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if operator == "%":
            return math.fmod(left, right)
    elif operator == "%":
        return int(math.copysign(1, left)) * (abs(left) % abs(right))
    return left + right if operator == "+" else left - right if operator == "-" else left * right


def _finite(compute: Callable[[], float]) -> float | None:
    try:
        return compute()
    except OverflowError:
        return None


def _round(number: float) -> float:
    if abs(number) >= 2**53:
        return number
    whole = math.floor(abs(Fraction(number)) + Fraction(1, 2))
    return float(whole if number >= 0 else -whole)


def _float(given: str | float) -> float | None:
    try:
        return float(given)
    except ValueError:
        return None


def _integer(text: str | float) -> int | None:
    if not isinstance(text, str):
        return math.trunc(text)
    digits = text.strip().removeprefix("-").removeprefix("+")
    return int(text) if digits.isascii() and digits.isdigit() else None


def _cosine(left: tuple[float, ...], right: tuple[float, ...]) -> float | None:
    lengths = math.sqrt(sum(x * x for x in left)) * math.sqrt(sum(x * x for x in right))
    return 1 - sum(x * y for x, y in zip(left, right, strict=True)) / lengths if lengths else None


_OTHERS: dict[str, Callable[..., Any]] = {
    "cosine_distance": _cosine,
    "l2_distance": lambda left, right: math.sqrt(sum((x - y) ** 2 for x, y in zip(left, right, strict=True))),
    "dot_product": lambda left, right: sum(x * y for x, y in zip(left, right, strict=True)),
    "+": lambda left, right: f"{left}{right}",
    "div": lambda left, right: math.trunc(Fraction(left, right)) if right else None,
    "negative": lambda number: -number,
    "abs": abs,
    "floor": lambda number: float(math.floor(number)),
    "ceil": lambda number: float(math.ceil(number)),
    "round": _round,
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "length": len,
    "size": len,
    "substring": lambda text, start, count=None: "".join(
        letter for at, letter in enumerate(text) if start <= at and (count is None or at < start + count)
    ),
    "replace": lambda text, old, new: new.join(text.split(old)),
    "split": lambda text, separator: tuple(text.split(separator)),
    "ends_with": lambda text, end: text[len(text) - len(end) :] == end if len(end) <= len(text) else False,
    "slice": lambda members, start, count=None: tuple(
        member for at, member in enumerate(members) if start <= at and (count is None or at < start + count)
    ),
    "item": lambda members, at: members[at] if at < len(members) else None,
    "to_string": str,
    "to_float": _float,
    "to_bool": lambda given: {"true": True, "false": False}.get(given) if isinstance(given, str) else given,
    "to_datetime": lambda given: given if isinstance(given, int) else None,
    "to_integer": _integer,
    "to_date": lambda millis: millis // _DAY_MILLIS,
}
