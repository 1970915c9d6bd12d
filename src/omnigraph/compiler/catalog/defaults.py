"""Check the literal of `@default` and the rule of `@merge` against a property's type."""

from __future__ import annotations

import math

from omnigraph.compiler.catalog.model import LiteralValue
from omnigraph.compiler.schema import ast
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.compiler.values.dates import format_date, format_datetime, parse_date, parse_datetime

MERGE_RULES = ("max", "sum", "union", "ours", "theirs", "manual")


class DoesNotFit(ValueError):
    """A literal does not fit a type; the text says what was expected."""


def default_value(argument: ast.Scalar | ast.ListLiteral, wanted: PropertyType) -> LiteralValue:
    """Return the literal as a value of the type, or raise DoesNotFit."""
    if isinstance(argument, ast.Word) and argument.text == "null":
        if not wanted.nullable:
            raise DoesNotFit(f"expected a value of type {wanted}, found null; the property is not nullable")
        return None
    if wanted.scalar is Scalar.BLOB:
        raise DoesNotFit("a blob property cannot have a default")
    if wanted.is_list or wanted.vector is not None:
        return _list_value(argument, wanted)
    if isinstance(argument, ast.ListLiteral):
        raise DoesNotFit(f"expected a value of type {wanted}, found a list")
    if wanted.enum is not None:
        return _enum_value(argument, wanted.enum)
    return _scalar_value(argument, wanted.scalar)


def merge_rule_problem(rule: str, wanted: PropertyType) -> str | None:
    """Say why the merge rule does not suit the type, or return None."""
    plain = wanted.is_plain and wanted.enum is None
    if rule == "max" and not (
        plain and (wanted.scalar.is_numeric or wanted.scalar in (Scalar.DATE, Scalar.DATETIME))
    ):
        return f"@merge(max) needs a numeric, Date or DateTime property, found {wanted}"
    if rule == "sum" and not (plain and wanted.scalar.is_numeric):
        return f"@merge(sum) needs a property of numeric type, found {wanted}"
    if rule == "union" and not wanted.is_list:
        return f"@merge(union) needs a list property, found {wanted}"
    return None


def _list_value(argument: ast.Scalar | ast.ListLiteral, wanted: PropertyType) -> LiteralValue:
    if not isinstance(argument, ast.ListLiteral):
        raise DoesNotFit(f"expected a list for {wanted}")
    if wanted.vector is not None and len(argument.items) != wanted.vector:
        raise DoesNotFit(f"expected {wanted.vector} numbers for {wanted}, found {len(argument.items)}")
    return tuple(_scalar_value(item, wanted.scalar) for item in argument.items)


def _enum_value(argument: ast.Scalar, allowed: tuple[str, ...]) -> str:
    value = argument.text if isinstance(argument, ast.Word) else argument.value
    if not isinstance(value, str) or value not in allowed:
        shown = ", ".join(allowed[:20]) + (", …" if len(allowed) > 20 else "")
        raise DoesNotFit(f"expected one of {shown}, found {_show(argument)}")
    return value


def _scalar_value(argument: ast.Scalar, wanted: Scalar) -> str | int | float | bool:
    if isinstance(argument, ast.Word):
        raise DoesNotFit(f"expected a literal of type {wanted}, found the word {_show(argument)}")
    value = argument.value
    if wanted is Scalar.BOOL and isinstance(value, bool):
        return value
    if wanted is Scalar.STRING and isinstance(value, str):
        return value
    if wanted in (Scalar.DATE, Scalar.DATETIME) and isinstance(value, str):
        return _date_text(value) if wanted is Scalar.DATE else _datetime_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if wanted.is_float:
            return _float_value(value, wanted)
        if wanted.is_integer and isinstance(value, int):
            low, high = STORED_RANGES[wanted]
            if low <= value <= high:
                return value
            raise DoesNotFit(f"{value} is outside the range of {wanted}")
    raise DoesNotFit(f"expected a literal of type {wanted}, found {_show(argument)}")


def _float_value(value: int | float, wanted: Scalar) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(round_f32(number) if wanted is Scalar.F32 else number):
        raise DoesNotFit(f"{str(value)[:40]} is outside the range of {wanted}")
    return number


def _date_text(text: str) -> str:
    days = parse_date(text)
    if days is None:
        raise DoesNotFit(f'expected a date such as "2024-01-31", found {text[:40]!r}')
    return format_date(days)


def _datetime_text(text: str) -> str:
    millis = parse_datetime(text)
    if millis is None:
        raise DoesNotFit(f'expected a moment such as "2024-01-31T12:00:00Z", found {text[:40]!r}')
    return format_datetime(millis)


def _show(argument: ast.Scalar) -> str:
    if isinstance(argument, ast.Word):
        return repr(argument.text[:40])
    if isinstance(argument.value, bool):
        return str(argument.value).lower()
    return repr(argument.value)[:60]
