"""What a value of a property type may be, and how it is stored: the one rule for Python values.

Callers add the forms that only they take, and word the reasons for what is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from enum import Enum, auto
from functools import partial
from typing import Any, TypeAlias

from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.compiler.values.dates import epoch_days, epoch_millis, parse_date, parse_datetime
from omnigraph.compiler.values.plain import plain_value

Forms: TypeAlias = Mapping[Scalar, Callable[[Any], Any]]
"""By scalar, functions that convert a form that only one caller accepts."""
_NO_FORMS: Forms = {}


class Fault(Enum):
    """Why a value is refused."""

    NULL = auto()
    ARRAY = auto()
    """A list or a vector needs an array."""
    LENGTH = auto()
    """A vector has another number of members."""
    KIND = auto()
    """The value is of another kind, such as a string for a number, or a null inside a list."""
    RANGE = auto()
    NAN = auto()
    DATE_TEXT = auto()
    """A string is not a date or a datetime."""
    SURROGATE = auto()
    """A string holds half of a surrogate pair, which no file or table can hold."""


class Refused(ValueError):
    """A value, or a member of a list, is not valid for a type."""

    def __init__(self, fault: Fault, value: Any) -> None:
        super().__init__(fault, value)
        self.fault, self.value = fault, value


def accept(value: Any, type_: PropertyType, forms: Forms = _NO_FORMS) -> Any:
    """Return a value as a property of this type stores it, or raise Refused.

    Dates become epoch days, datetimes epoch milliseconds, lists and vectors tuples; a blob is bytes, or
    the string that names them.
    Enums are apart (`find_outside_enum`), since a write checks them for all of its rows at once.
    """
    value = plain_value(value)
    if value is None:
        if type_.nullable:
            return None
        raise Refused(Fault.NULL, value)
    judge = _JUDGES[type_.scalar]
    if form := forms.get(type_.scalar):
        judge = partial(_judge_form, judge, form)
    if not type_.is_list and type_.vector is None:
        return judge(value)
    if not isinstance(value, list | tuple):
        raise Refused(Fault.ARRAY, value)
    if type_.vector is not None and len(value) != type_.vector:
        raise Refused(Fault.LENGTH, value)
    return tuple(judge(plain_value(item)) for item in value)


def find_outside_enum(values: Iterable[Any], type_: PropertyType) -> list[Any]:
    """Return the values that an enum does not name."""
    return [] if type_.enum is None else [value for value in values if value not in type_.enum]


def _judge_form(judge: Callable[[Any], Any], form: Callable[[Any], Any], value: Any) -> Any:
    return judge(form(value))


def _integer(low: int, high: int, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(Fault.KIND, value)
    if not low <= value <= high:
        raise Refused(Fault.RANGE, value)
    return value


def _float(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Refused(Fault.KIND, value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Refused(Fault.NAN if math.isnan(number) else Fault.RANGE, value)
    return number


def _single(value: Any) -> float:
    number = round_f32(_float(value))
    if math.isinf(number):
        raise Refused(Fault.RANGE, value)
    return number


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused(Fault.KIND, value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused(Fault.KIND, value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refused(Fault.SURROGATE, value) from None
    return str.__str__(value)  # a member of a StrEnum is its string, not its name


def _blob(value: Any) -> bytes | str:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else _text(value)


def _date(value: Any) -> int:
    if isinstance(value, str):
        return _require_date(parse_date(value), value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return epoch_days(value)
    return _integer(*STORED_RANGES[Scalar.I32], value)


def _datetime(value: Any) -> int:
    if isinstance(value, str):
        return _require_date(parse_datetime(value), value)
    if isinstance(value, date):
        return epoch_millis(value)
    return _integer(*STORED_RANGES[Scalar.I64], value)


def _require_date(found: int | None, text: str) -> int:
    if found is None:
        raise Refused(Fault.DATE_TEXT, _text(text))
    return found


_JUDGES: dict[Scalar, Callable[[Any], Any]] = {
    **{scalar: partial(_integer, low, high) for scalar, (low, high) in STORED_RANGES.items()},
    Scalar.F32: _single,
    Scalar.F64: _float,
    Scalar.BOOL: _bool,
    Scalar.DATE: _date,
    Scalar.DATETIME: _datetime,
    Scalar.STRING: _text,
    Scalar.BLOB: _blob,
}
