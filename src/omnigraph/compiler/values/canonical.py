"""The canonical text of a value: what node ids and uniqueness tuples are made of."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from decimal import Decimal

from omnigraph.base.errors import ValidationError
from omnigraph.compiler.types import PropertyType, Scalar

_F32_DIGITS = 9


def canonical_text(value: str | int | float | bool, type_: PropertyType) -> str:
    """Return the canonical text of a stored value; dates are given as epoch numbers."""
    if not type_.is_plain:
        raise ValidationError(f"a value of type {type_} cannot be part of a key", type=str(type_))
    if type_.scalar is Scalar.STRING:
        return str(value)
    if type_.scalar is Scalar.BOOL:
        return "true" if value else "false"
    if type_.scalar.is_float:
        return _float_text(float(value), single=type_.scalar is Scalar.F32)
    return str(int(value))


def canonical_key(values: Sequence[str | int | float | bool], types: Sequence[PropertyType]) -> str:
    """Return the id of key values: one canonical text, or a JSON array of several."""
    texts = [canonical_text(value, type_) for value, type_ in zip(values, types, strict=True)]
    if len(texts) == 1:
        return texts[0]
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def round_f32(value: float) -> float:
    """Return the F32 number nearest to a value; beyond the range it is an infinity."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _float_text(value: float, single: bool) -> str:
    if not math.isfinite(value):
        raise ValidationError(f"{value} is not finite and cannot be part of a key", value=str(value))
    if value == 0:
        return "0"
    digits = _shortest_f32(value) if single else repr(value)
    text = format(Decimal(digits), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _shortest_f32(value: float) -> str:
    """Return the fewest digits that read back as the same F32 number."""
    stored = round_f32(value)
    if not math.isfinite(stored):
        raise ValidationError(f"{value} does not fit F32", value=value)
    for precision in range(1, _F32_DIGITS):
        text = f"{stored:.{precision}g}"
        if round_f32(float(text)) == stored:
            return text
    return f"{stored:.{_F32_DIGITS}g}"
