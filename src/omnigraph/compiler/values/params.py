"""A JSON object to typed parameter values: what a caller may send for each declared type."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import BadInput, ParseError
from omnigraph.compiler.source import half_of_a_pair
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.compiler.values.dates import parse_date, parse_datetime
from omnigraph.compiler.values.decimals import plain_number
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.compiler.values.results import epoch_days, epoch_millis

PlainValue: TypeAlias = "str | int | float | bool | tuple[PlainValue, ...] | None"

RANGES = {**STORED_RANGES, Scalar.U64: (0, 2**63 - 1)}
"""What an integer parameter may hold; the upper half of U64 is refused, as in the first version."""

_DECIMAL = re.compile(r"[+-]?[0-9]{1,20}")


def decode_params(data: Any, declared: Sequence[tuple[str, PropertyType]]) -> dict[str, PlainValue]:
    """Return a value for every declared parameter: dates as epoch numbers, lists and vectors as tuples."""
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise _refused(f"parameters must be a JSON object, found {kind_of(data)}")
    known = {name for name, _ in declared}
    for name, value in data.items():
        if name not in known and _holds_object(value):
            raise _refused(f"parameter '{name}' is an object, which no parameter can hold")
    return {name: _decode(name, type_, data) for name, type_ in declared}


def _decode(name: str, type_: PropertyType, data: Mapping[str, Any]) -> PlainValue:
    if name not in data:
        if type_.nullable:
            return None
        raise BadInput(f"parameter '{name}' is not provided and is not nullable ({type_})", parameter=name)
    value = _plain(data[name])
    if value is None:
        if type_.nullable:
            return None
        raise _refused(f"parameter '{name}' is null and its type {type_} is not nullable")
    if type_.is_vector:
        return _vector(name, type_, value)
    if type_.is_list:
        if not isinstance(value, list | tuple):
            _wrong(name, type_, "an array (a list)", value)
        return tuple(_scalar(name, type_, _plain(item)) for item in value)
    return _scalar(name, type_, value)


def _plain(value: Any) -> Any:
    """Return a decimal as a number, and a scalar or array with a `dtype` as what Python has for it."""
    if isinstance(value, Decimal):
        return plain_number(value)
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is None or not hasattr(value, "tolist"):
        return value
    # Finer moments than milliseconds become bare numbers, and coarser ones keep their meaning.
    return (value.astype("datetime64[ms]") if kind == "M" else value).tolist()


def _vector(name: str, type_: PropertyType, value: Any) -> PlainValue:
    numbers = value if isinstance(value, list | tuple) else _wrong(name, type_, "an array of numbers", value)
    if len(numbers) != type_.vector:
        raise _refused(
            f"parameter '{name}' must have exactly {type_.vector} numbers, the dimension of {type_}, "
            f"found {len(numbers)}"
        )
    return tuple(_float(name, type_, _plain(item)) for item in numbers)


def _scalar(name: str, type_: PropertyType, value: Any) -> PlainValue:
    scalar = type_.scalar
    if scalar.is_integer:
        return _integer(name, type_, value)
    if scalar.is_float:
        return _float(name, type_, value)
    if scalar is Scalar.BOOL:
        return value if isinstance(value, bool) else _wrong(name, type_, "a boolean", value)
    if scalar is Scalar.DATE and isinstance(value, datetime.date):
        return epoch_days(value)
    if scalar is Scalar.DATETIME and isinstance(value, datetime.date):
        return epoch_millis(value)
    if not isinstance(value, str):
        _wrong(name, type_, "a string", value)
    if half_of_a_pair(value):
        raise _refused(f"parameter '{name}' is no text: a character is half of a surrogate pair")
    if scalar in (Scalar.DATE, Scalar.DATETIME):
        moment = parse_date(value) if scalar is Scalar.DATE else parse_datetime(value)
        if moment is None:
            raise BadInput(f"parameter '{name}': invalid {scalar.value} text {value[:40]!r}", parameter=name)
        return moment
    return str(value)


def _integer(name: str, type_: PropertyType, value: Any) -> int:
    whole: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        whole = value
    elif isinstance(value, str) and _DECIMAL.fullmatch(value):
        whole = int(value)
    if whole is None:
        _wrong(name, type_, "an integer", value)
    low, high = RANGES[type_.scalar]
    if not low <= whole <= high:
        shown = str(whole) if -(2**80) < whole < 2**80 else "the integer"
        raise _refused(f"parameter '{name}': {shown} exceeds the range {low} to {high} of {type_.scalar}")
    return whole


def _float(name: str, type_: PropertyType, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _wrong(name, type_, "a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if type_.scalar is Scalar.F32:
        number = round_f32(number)
    if math.isnan(number):
        raise _refused(f"parameter '{name}': NaN is no number, {type_.scalar} needs a finite one")
    if not math.isfinite(number):
        raise _refused(f"parameter '{name}': the number exceeds the range of {type_.scalar}")
    return number


def _wrong(name: str, type_: PropertyType, wanted: str, value: Any) -> NoReturn:
    raise _refused(f"parameter '{name}' must be {wanted} for type {type_}, found {kind_of(value)}")


def _refused(message: str) -> ParseError:
    return ParseError([Diagnostic(ParseError.code, message, 1, 1)], "parameters")


def _holds_object(value: Any) -> bool:
    """Say whether an object stands anywhere in a value; the nesting of JSON lists may be deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            return True
        if isinstance(item, list | tuple):
            waiting.extend(item)
    return False
