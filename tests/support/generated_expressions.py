"""Random expressions over the values that a query has bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.generated_conditions import Conditions, Scope, Value

_INTEGERS = ("I32", "I64", "U32", "U64")
_FLOATS = ("F32", "F64")
_OPERAND = ("2", "3", "-7", "0", "9223372036854775807", "1.5")


def expression(draw: Conditions, scope: Scope) -> tuple[str, str, bool] | None:
    """Return the text of an expression, its type, and whether it is a list; None if nothing fits."""
    known = [item for item in (*draw.properties(scope), *draw.plain_values(scope)) if item.base != "Map"]
    if not known:
        return None
    value: Value = draw.pick(known)
    makers: list[Callable[[Conditions, Value, list[Value]], tuple[str, str, bool] | None]] = [
        _of_vector
        if value.base.startswith("Vector")
        else _of_list
        if value.is_list
        else _KINDS.get(value.base, _of_any),
        _of_any,
    ]
    return draw.pick(makers)(draw, value, known)


def _of_integer(draw: Conditions, value: Value, known: list[Value]) -> tuple[str, str, bool]:
    same = [other.text for other in known if other.base in _INTEGERS and not other.is_shaped]
    right = draw.pick(same) if draw.chance(3) else draw.pick(_OPERAND)
    operator = draw.pick(["+", "-", "*", "/", "%"])
    base = "F64" if operator == "/" or "." in right.split("$")[0] else "I64"
    if draw.chance(4):
        function = draw.pick(["abs", "to_string", "to_float", "-"])
        base = {"to_string": "String", "to_float": "F64"}.get(function, "I64")
        return (f"(-{value.text})" if function == "-" else f"{function}({value.text})"), base, False
    if draw.chance(4):
        return f"({value.text} + 1) * 2 - {value.text} {operator} {right}", base, False
    return f"{value.text} {operator} {right}", base, False


def _of_float(draw: Conditions, value: Value, _known: list[Value]) -> tuple[str, str, bool]:
    if draw.chance(3):
        return f"{draw.pick(['floor', 'ceil', 'round', 'abs'])}({value.text})", "F64", False
    return f"{value.text} {draw.pick(['+', '-', '*', '/', '%'])} {draw.pick(['2', '0.5', '0'])}", "F64", False


def _of_text(draw: Conditions, value: Value, _known: list[Value]) -> tuple[str, str, bool]:
    text, base, is_list = draw.pick(
        [
            ("upper({})", "String", False),
            ("lower({})", "String", False),
            ("trim({})", "String", False),
            ("length({})", "I64", False),
            ('{} + "-"', "String", False),
            ("substring({}, 1)", "String", False),
            ("substring({}, 1, 2)", "String", False),
            ('replace({}, "o", "0")', "String", False),
            ('split({}, " ")', "String", True),
            ('size(split({}, "o"))', "I64", False),
            ('ends_with({}, "g")', "Bool", False),
            ("to_integer({})", "I64", False),
            ('matches({}, "^[a-m].*o")', "Bool", False),
            ('matches({}, "(?i)D|g$")', "Bool", False),
            ('any($w in split({0}, " ") where length($w) > 2 and $w != {0})', "Bool", False),
        ]
    )
    return text.format(value.text), base, is_list


def _of_date(draw: Conditions, value: Value, _known: list[Value]) -> tuple[str, str, bool]:
    text, base = draw.pick(
        [
            ("year({})", "I64"),
            ("month({})", "I64"),
            ("day({})", "I64"),
            ("{} + 30", "Date"),
            ("{} - {}", "I64"),
        ]
    )
    return text.format(value.text, value.text), base, False


def _of_datetime(draw: Conditions, value: Value, _known: list[Value]) -> tuple[str, str, bool]:
    text, base = draw.pick(
        [("hour({})", "I64"), ("minute({})", "I64"), ("to_date({})", "Date"), ("{} + 1000", "DateTime")]
    )
    return text.format(value.text), base, False


def _of_list(draw: Conditions, value: Value, known: list[Value]) -> tuple[str, str, bool]:
    if draw.chance(3):
        quantifier, constant = draw.pick(["any", "all", "none"]), draw.constant(value.base)
        same = [other.text for other in known if other.base == value.base and not other.is_shaped]
        right = draw.pick(same) if same and draw.chance(3) else constant
        operator = draw.pick(["=", "!=", "<", ">="])
        return f"{quantifier}($w in {value.text} where $w {operator} {right})", "Bool", False
    if draw.chance(3):
        return f"{value.text}[{draw.pick(['0', '1'])}]", value.base, False
    if draw.chance(3):
        return f"slice({value.text}, 1)", value.base, True
    return f"size({value.text})", "I64", False


def _of_vector(draw: Conditions, value: Value, known: list[Value]) -> tuple[str, str, bool]:
    same = [other.text for other in known if other.base == value.base]
    other = draw.pick(same) if draw.chance(2) else draw.vector(value.base)
    # Others than this distance hang on the last digits.
    return f"round(l2_distance({value.text}, {other}) * 1000)", "F64", False


def _made_list(draw: Conditions, value: Value, known: list[Value]) -> tuple[str, str, bool]:
    """Return a list of values that are alike, or what is asked of one."""
    same = [other.text for other in known if other.base == value.base and not other.is_shaped]
    base, items = value.base, [value.text]
    for _ in range(2):
        kind = draw.pick(["same", "null", "number", "none"])
        if kind == "number" and value.base in (*_INTEGERS, *_FLOATS):
            items.append(draw.pick(["2", "0.5", "9007199254740993"]))
            base = "F64" if value.base in _FLOATS or items[-1] == "0.5" or base == "F64" else "I64"
        elif kind in ("same", "null"):
            items.append(draw.pick(same) if kind == "same" else "null")
    text = f"[{', '.join(items)}]"
    other = draw.pick(same)
    return draw.pick(
        [
            (text, base, True),
            (f"{text}[{draw.pick(['0', '1', '2'])}]", base, False),
            (f"size({text})", "I64", False),
            (f"({other} in {text})", "Bool", False),
            (f"(not {text} contains {other})", "Bool", False),
            (f"{draw.pick(['any', 'all', 'none'])}($w in {text} where $w != {other})", "Bool", False),
        ]
    )


def _of_any(draw: Conditions, value: Value, known: list[Value]) -> tuple[str, str, bool] | None:
    if value.is_shaped:
        return None
    if draw.chance(3):
        return _made_list(draw, value, known)
    constant = draw.constant(value.base)
    if constant == "null" or value.base in (*_INTEGERS, *_FLOATS) or value.base.startswith("enum"):
        return f"({value.text} is null)", "Bool", False
    if draw.chance(3):
        return f"case when {value.text} != {constant} then {value.text} end", value.base, False
    if draw.chance(2):
        return f"case when {value.text} is null then {constant} else {value.text} end", value.base, False
    return f"coalesce({value.text}, {constant})", value.base, False


_KINDS = {
    **dict.fromkeys(_INTEGERS, _of_integer),
    **dict.fromkeys(_FLOATS, _of_float),
    "String": _of_text,
    "Date": _of_date,
    "DateTime": _of_datetime,
}
