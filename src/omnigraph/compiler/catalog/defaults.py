"""Check the literal of `@default` and the rule of `@merge` against a property's type."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import LiteralValue
from omnigraph.compiler.schema import ast
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.accept import Fault, Refused, accept, find_outside_enum
from omnigraph.compiler.values.dates import format_date, format_datetime

MERGE_RULES = ("max", "sum", "union", "ours", "theirs", "manual")
_DATE_EXAMPLES = {
    Scalar.DATE: 'a date such as "2024-01-31"',
    Scalar.DATETIME: 'a datetime such as "2024-01-31T12:00:00Z"',
}


class DoesNotFit(ValueError):
    """A literal does not fit a type; the text says what was expected."""


def default_value(argument: ast.Scalar | ast.ListArgument, wanted: PropertyType) -> LiteralValue:
    """Return the literal as a value of the type, or raise DoesNotFit."""
    if isinstance(argument, ast.Word) and argument.text == "null":
        if not wanted.nullable:
            raise DoesNotFit(f"expected a value of type {wanted}, found null; the property is not nullable")
        return None
    if wanted.scalar is Scalar.BLOB:
        raise DoesNotFit("a blob property cannot have a default")
    several = wanted.is_list or wanted.is_vector
    if isinstance(argument, ast.ListArgument) != several:
        found = (
            f"expected a list for {wanted}" if several else f"expected a value of type {wanted}, found a list"
        )
        raise DoesNotFit(found)
    if isinstance(argument, ast.ListArgument):
        if wanted.is_vector and len(argument.items) != wanted.vector:
            raise DoesNotFit(f"expected {wanted.vector} numbers for {wanted}, found {len(argument.items)}")
        return tuple(_scalar_value(item, PropertyType(wanted.scalar)) for item in argument.items)
    return _enum_value(argument, wanted) if wanted.enum is not None else _scalar_value(argument, wanted)


def merge_rule_problem(rule: str, wanted: PropertyType) -> str | None:
    """Return why the merge rule does not suit the type, or None."""
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


def _enum_value(argument: ast.Scalar, wanted: PropertyType) -> str:
    value = argument.text if isinstance(argument, ast.Word) else argument.value
    if not isinstance(value, str) or find_outside_enum([value], wanted):
        allowed = wanted.enum or ()
        shown = ", ".join(allowed[:20]) + (", …" if len(allowed) > 20 else "")
        raise DoesNotFit(f"expected one of {shown}, found {_show(argument)}")
    return value


def _scalar_value(argument: ast.Scalar, wanted: PropertyType) -> str | int | float | bool:
    """Return a literal as the catalog stores it: dates as strings, floats as they were written."""
    scalar = wanted.scalar
    if isinstance(argument, ast.Word):
        raise DoesNotFit(f"expected a literal of type {scalar}, found the word {_show(argument)}")
    if scalar in _DATE_EXAMPLES and not isinstance(argument.value, str):
        raise DoesNotFit(f"expected a literal of type {scalar}, found {_show(argument)}")
    try:
        value: str | int | float | bool = accept(argument.value, wanted)
    except Refused as refused:
        raise DoesNotFit(_explain(refused, argument, scalar)) from None
    if scalar in _DATE_EXAMPLES:
        return format_date(int(value)) if scalar is Scalar.DATE else format_datetime(int(value))
    return float(argument.value) if scalar.is_float else value


def _explain(refused: Refused, argument: ast.Literal, scalar: Scalar) -> str:
    match refused.fault:
        case Fault.RANGE:
            return f"{str(argument.value)[:40]} is outside the range of {scalar}"
        case Fault.DATE_TEXT:
            return f"expected {_DATE_EXAMPLES[scalar]}, found {refused.value[:40]!r}"
    return f"expected a literal of type {scalar}, found {_show(argument)}"


def _show(argument: ast.Scalar) -> str:
    if isinstance(argument, ast.Word):
        return repr(argument.text[:40])
    if isinstance(argument.value, bool):
        return str(argument.value).lower()
    return repr(argument.value)[:60]
