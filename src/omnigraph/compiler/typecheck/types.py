"""When two types fit together, and how a written value takes on the type that its place asks for."""

from __future__ import annotations

import math
from dataclasses import replace

from omnigraph.compiler.ir.values import Constant, PlainValue
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.canonical import round_f32


def compatible(left: PropertyType, right: PropertyType) -> bool:
    """Say whether two types can be compared: equal shape, and the same scalar or both numeric."""
    if left.is_list != right.is_list or left.vector != right.vector:
        return False
    return fits(left.scalar, right.scalar)


def fits(left: Scalar, right: Scalar) -> bool:
    """Say whether two scalars are the same or both numeric."""
    return left is right or (left.is_numeric and right.is_numeric)


def element(type_: PropertyType) -> PropertyType:
    """Return the type of a list's members."""
    return replace(type_, is_list=False, nullable=True)


def stored(value: PlainValue, type_: PropertyType) -> PlainValue:
    """Return a value as a property of this type stores it, or raise ValueError with the reason."""
    if value is None:
        if type_.nullable:
            return None
        raise ValueError(f"null does not fit the non-nullable type {type_}")
    if type_.is_vector:
        if not isinstance(value, tuple):
            raise ValueError(f"a vector needs {type_.vector} numbers")
        if len(value) != type_.vector:
            raise ValueError(f"the vector has {len(value)} numbers, its dimension is {type_.vector}")
        return tuple(_stored_scalar(item, Scalar.F32) for item in value)
    if type_.is_list:
        if not isinstance(value, tuple):
            raise ValueError(f"{type_} needs a list")
        return tuple(_stored_scalar(item, type_.scalar) for item in value)
    return _stored_scalar(value, type_.scalar)


def _stored_scalar(value: PlainValue, scalar: Scalar) -> PlainValue:
    if isinstance(value, tuple) or value is None:
        raise ValueError(f"{'null' if value is None else 'a list'} does not fit {scalar}")
    if scalar.is_integer and not isinstance(value, str):
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(f"the fraction {value!r} does not fit the integer type {scalar}")
        low, high = STORED_RANGES[scalar]
        if not low <= value <= high:
            raise ValueError(f"{value} exceeds the range {low} to {high} of {scalar}")
        return int(value)
    if scalar.is_float and not isinstance(value, str):
        number = round_f32(float(value)) if scalar is Scalar.F32 else float(value)
        if not math.isfinite(number):
            raise ValueError(f"the number exceeds the range of {scalar}")
        return number
    return value


def compared_with(constant: Constant, type_: PropertyType) -> Constant:
    """Return a constant as it compares with a stored value: numbers are rounded for F32 only."""
    value = constant.value
    if value is None:
        return Constant(None, PropertyType(type_.scalar, nullable=True))
    if type_.scalar is not Scalar.F32 or not constant.type.scalar.is_numeric:
        return constant
    rounded = tuple(_round(item) for item in value) if isinstance(value, tuple) else _round(value)
    return Constant(rounded, replace(constant.type, scalar=Scalar.F32))


def _round(value: PlainValue) -> PlainValue:
    return round_f32(float(value)) if isinstance(value, int | float) else value
