"""Conversions between types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from omnigraph.compiler.functions.moments import check_date
from omnigraph.compiler.functions.numbers import check_float
from omnigraph.compiler.functions.overload import (
    BOOLEAN,
    DATE,
    DATETIME,
    FLOAT,
    INTEGER,
    NUMBER,
    TEXT,
    Kind,
    NoResult,
    Overload,
    check_integer,
    gives,
)
from omnigraph.compiler.types import Scalar
from omnigraph.compiler.values.dates import (
    DAY_MILLIS,
    format_date,
    format_datetime,
    parse_date,
    parse_datetime,
)

_MAX_SHOWN_CHARACTERS = 40
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_NUMBER_TEXT = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


def _refuse(text: str, wanted: str) -> NoResult:
    return NoResult(f"{text[:_MAX_SHOWN_CHARACTERS]!r} is not {wanted}")


def _read_integer(text: str) -> int:
    if not _INTEGER_TEXT.fullmatch(text.strip()):
        raise _refuse(text, "an integer of I64")
    return check_integer(int(text))


def _read_float(text: str) -> float:
    if not _NUMBER_TEXT.fullmatch(text.strip()):
        raise _refuse(text, "a number")
    return check_float(float(text))


def _read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise _refuse(text, "true or false")
    return text == "true"


def _read_moment(parse: Callable[[str], int | None], wanted: str, text: str) -> int:
    found = parse(text)
    if found is None:
        raise _refuse(text, wanted)
    return found


def _casts(scalar: Scalar, *forms: tuple[Kind, Callable[[Any], Any]]) -> tuple[Overload, ...]:
    return tuple(Overload((kind,), gives(scalar), compute) for kind, compute in forms)


CASTS: dict[str, tuple[Overload, ...]] = {
    "to_string": _casts(
        Scalar.STRING,
        (TEXT, str),
        (INTEGER, str),
        (FLOAT, repr),
        (BOOLEAN, lambda value: "true" if value else "false"),
        (DATE, format_date),
        (DATETIME, format_datetime),
    ),
    "to_integer": _casts(
        Scalar.I64,
        (INTEGER, check_integer),
        (FLOAT, lambda value: check_integer(int(check_float(value)))),
        (BOOLEAN, int),
        (TEXT, _read_integer),
    ),
    "to_float": _casts(Scalar.F64, (NUMBER, float), (TEXT, _read_float)),
    "to_bool": _casts(Scalar.BOOL, (BOOLEAN, bool), (TEXT, _read_bool)),
    "to_date": _casts(
        Scalar.DATE,
        (DATE, int),
        (DATETIME, lambda millis: check_date(millis // DAY_MILLIS)),
        (TEXT, lambda text: _read_moment(parse_date, "a date", text)),
    ),
    "to_datetime": _casts(
        Scalar.DATETIME,
        (DATETIME, int),
        (DATE, lambda days: check_integer(days * DAY_MILLIS)),
        (TEXT, lambda text: _read_moment(parse_datetime, "a datetime", text)),
    ),
}
