"""JSON values of records into plain stored values, strictly."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from omnigraph.base.blob_text import blob_from_text, is_blob_text
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.accept import Fault, Refused, accept
from omnigraph.compiler.values.kinds import kind_of
from omnigraph.graph.write.integrity.blob_sources import read_source

_DATE_FORMS = {Scalar.DATE: "YYYY-MM-DD", Scalar.DATETIME: "ISO 8601, such as 2026-01-31T12:00:00Z"}
_REASONS = {
    Fault.NULL: "is required and has null or invalid values",
    Fault.NAN: "is not a number: only finite ones are stored",
    Fault.SURROGATE: "holds half of a surrogate pair, or bytes that are not UTF-8: neither is a character",
}


def convert(value: Any, type_: PropertyType) -> Any:
    """Return a JSON value as a property of this type stores it, or raise ValueError with the reason."""
    try:
        found = accept(value, type_)
    except Refused as refused:
        raise ValueError(_explain(refused, type_)) from None
    return _read_blob(found) if type_.scalar is Scalar.BLOB and isinstance(found, str) else found


def _explain(refused: Refused, type_: PropertyType) -> str:
    value, scalar = refused.value, type_.scalar
    match refused.fault:
        case Fault.LENGTH:
            return f"needs exactly {type_.vector} numbers, found {len(value)}"
        case Fault.RANGE:
            shown = "" if scalar.is_float else f"is {value}, which "
            return f"{shown}exceeds the range of {scalar}"
        case Fault.DATE_TEXT:
            return f"is {value[:40]!r}, which is not a {scalar}: write {_DATE_FORMS[scalar]}"
        case Fault.KIND if value is None and type_.is_list:
            return "has a null inside a list"
        case Fault.KIND if isinstance(value, datetime) and scalar is Scalar.DATE:
            return "needs a date, found a datetime"
        case Fault.KIND | Fault.ARRAY:
            return f"needs {describe_expected(type_, refused.fault)}, found {kind_of(value)}"
    return _REASONS[refused.fault]


def describe_expected(type_: PropertyType, fault: Fault = Fault.KIND) -> str:
    """Return what a value of a type is, for people."""
    if fault is Fault.ARRAY:
        return f"an array of {type_.vector} numbers" if type_.is_vector else "an array"
    if type_.scalar.is_numeric:
        return "an integer" if type_.scalar.is_integer else "a number"
    if type_.scalar in _DATE_FORMS:
        return f"a {type_.scalar} string or an epoch number"
    if type_.scalar is Scalar.BLOB:
        return "bytes or a string"
    return "true or false" if type_.scalar is Scalar.BOOL else "a string"


def _read_blob(text: str) -> bytes:
    return blob_from_text(text) if is_blob_text(text) else read_source(text)
