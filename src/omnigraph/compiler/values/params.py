"""A JSON object to typed parameter values: what a caller may send for each declared type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from omnigraph.base.errors import ParameterError
from omnigraph.compiler.source import make_printable, suggest
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.accept import Fault, Refused, accept
from omnigraph.compiler.values.kinds import kind_of, show_integer

PlainValue: TypeAlias = "str | bytes | int | float | bool | tuple[PlainValue, ...] | None"

RANGES = {**STORED_RANGES, Scalar.U64: (0, 2**63 - 1)}
"""What an integer parameter may hold; the upper half of U64 is refused, as in the first version."""

_MAX_SHOWN_NAMES = 8
_MAX_SHOWN_CHARACTERS = 100
_DECIMAL = re.compile(r"[+-]?[0-9]{1,20}")


def decode_params(data: Any, declared: Sequence[tuple[str, PropertyType]]) -> dict[str, PlainValue]:
    """Return a value for every declared parameter: dates as epoch numbers, lists and vectors as tuples."""
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise ParameterError(f"parameters must be a JSON object (a dictionary), found {kind_of(data)}")
    known = [name for name, _ in declared]
    for name in data:
        if name not in known:
            raise _unknown(name, data, known)
    return {name: _decode(name, type_, data) for name, type_ in declared}


def _unknown(name: Any, data: Mapping[str, Any], known: list[str]) -> ParameterError:
    """Return the error about a parameter that the query does not declare; what is missing is meant first."""
    if not isinstance(name, str):
        return ParameterError(f"the name of a parameter is a string, found {kind_of(name)}")
    missing = [item for item in known if item not in data]
    shown = make_printable(name[:_MAX_SHOWN_CHARACTERS])
    bare = name.removeprefix("$")
    hint = f"write {bare!r} without the $" if bare != name and bare in known else None
    hint = hint or suggest(name, missing) or suggest(name, known)
    if hint is None:
        names = ", ".join(known[:_MAX_SHOWN_NAMES]) + (", …" if len(known) > _MAX_SHOWN_NAMES else "")
        hint = f"it declares {names}" if known else "it declares none"
    found = f"parameter '{shown}'" + (", which holds an object" if _holds_object(data[name]) else "")
    return ParameterError(f"the query declares no {found}: {hint}", parameter=name)


def _decode(name: str, type_: PropertyType, data: Mapping[str, Any]) -> PlainValue:
    if name not in data:
        if type_.nullable:
            return None
        raise ParameterError(
            f"parameter '{name}' is not provided and is not nullable ({type_})", parameter=name
        )
    try:
        value: PlainValue = accept(data[name], type_, _FORMS)
    except Refused as refused:
        raise _explain(name, type_, refused) from None
    return value


def _read_integer(value: Any) -> Any:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and value > RANGES[Scalar.U64][1]:
        raise Refused(Fault.RANGE, value)
    return value


def _refuse_epoch(value: Any) -> Any:
    if isinstance(value, int):
        raise Refused(Fault.KIND, value)
    return value


_FORMS = dict.fromkeys(STORED_RANGES, _read_integer)
_FORMS |= {Scalar.DATE: _refuse_epoch, Scalar.DATETIME: _refuse_epoch}


def _explain(name: str, type_: PropertyType, refused: Refused) -> ParameterError:
    """Return the error about a parameter whose value was refused."""
    value, scalar = refused.value, type_.scalar
    match refused.fault:
        case Fault.DATE_TEXT:
            return ParameterError(f"parameter '{name}': invalid {scalar} text {value[:40]!r}", parameter=name)
        case Fault.NULL:
            reason = f" is null and its type {type_} is not nullable"
        case Fault.LENGTH:
            wanted = f"exactly {type_.vector} numbers, the dimension of {type_}"
            reason = f" must have {wanted}, found {len(value)}"
        case Fault.RANGE if scalar.is_integer:
            low, high = RANGES[scalar]
            reason = f": {show_integer(value)} exceeds the range {low} to {high} of {scalar}"
        case Fault.RANGE:
            reason = f": the number exceeds the range of {scalar}"
        case Fault.NAN:
            reason = f": NaN is not allowed, {scalar} needs a finite number"
        case Fault.KIND if scalar is Scalar.DATE and isinstance(value, datetime):
            reason = " needs a date, found a datetime: the time would be lost, give its .date()"
        case Fault.SURROGATE:
            reason = " is not a valid string: a character is half of a surrogate pair"
        case _:
            reason = (
                f" must be {_describe_wanted(type_, refused.fault)} for type {type_}, found {kind_of(value)}"
            )
    return ParameterError(f"parameter '{name}'{reason}", parameter=name)


def _describe_wanted(type_: PropertyType, fault: Fault) -> str:
    if fault is Fault.ARRAY:
        return "an array of numbers" if type_.is_vector else "an array (a list)"
    if type_.scalar.is_numeric:
        return "an integer" if type_.scalar.is_integer else "a number"
    if type_.scalar is Scalar.BLOB:
        return "bytes or a string"
    return "a boolean" if type_.scalar is Scalar.BOOL else "a string"


def _holds_object(value: Any) -> bool:
    """Return whether a value contains an object anywhere; JSON lists may be nested deeply."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            return True
        if isinstance(item, list | tuple):
            waiting.extend(item)
    return False
