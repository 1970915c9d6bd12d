"""When two types can be compared, and how values are converted to a property's type."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir.values import Constant, PlainValue
from omnigraph.compiler.types import STORED_RANGES, PropertyType, Scalar
from omnigraph.compiler.values.accept import Fault, Refused, accept
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.compiler.values.kinds import kind_of, show_integer


def are_comparable(left: PropertyType, right: PropertyType) -> bool:
    """Return whether two types can be compared: equal shape, and the same scalar or both numeric."""
    if left.is_list != right.is_list or left.vector != right.vector:
        return False
    return are_alike(left.scalar, right.scalar)


def are_alike(left: Scalar, right: Scalar) -> bool:
    """Return whether two scalars are the same or both numeric."""
    return left is right or (left.is_numeric and right.is_numeric)


def unite_types(left: PropertyType, right: PropertyType) -> PropertyType | None:
    """Return the type that has the values of two types, or None; integers and floats give a float.

    Beyond one number for one number nothing is converted: lists, vectors and maps have to be the same.
    """
    nullable = left.nullable or right.nullable
    alike = replace(left, nullable=nullable, enum=None), replace(right, nullable=nullable, enum=None)
    if alike[0] == alike[1]:
        return replace(alike[0], enum=left.enum if left.enum == right.enum else None)
    if not (left.is_plain and right.is_plain and left.scalar.is_numeric and right.scalar.is_numeric):
        return None
    scalar = _wider_number(left.scalar, right.scalar)
    return None if scalar is None else PropertyType(scalar, nullable)


def _wider_number(left: Scalar, right: Scalar) -> Scalar | None:
    if left.is_float or right.is_float:
        return Scalar.F64
    if Scalar.U64 in (left, right):
        return Scalar.U64 if Scalar.U32 in (left, right) else None
    return Scalar.I64


def element_type(type_: PropertyType) -> PropertyType:
    """Return the type of a list's members."""
    return replace(type_, is_list=False, nullable=True)


def convert_to_stored(value: PlainValue, type_: PropertyType) -> PlainValue:
    """Return a value as a property of this type stores it, or raise ValueError with the reason."""
    try:
        found: PlainValue = accept(value, type_, _FORMS)
    except Refused as refused:
        raise ValueError(_explain(refused, type_)) from None
    return found


def _read_whole(value: PlainValue) -> PlainValue:
    """Return a float without decimals as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_FORMS = dict.fromkeys(STORED_RANGES, _read_whole)


def _explain(refused: Refused, type_: PropertyType) -> str:
    value, scalar = refused.value, type_.scalar
    match refused.fault:
        case Fault.NULL:
            return f"null does not fit the non-nullable type {type_}"
        case Fault.ARRAY:
            return f"a vector needs {type_.vector} numbers" if type_.is_vector else f"{type_} needs a list"
        case Fault.LENGTH:
            return f"the vector has {len(value)} numbers, its dimension is {type_.vector}"
        case Fault.RANGE if scalar.is_integer:
            low, high = STORED_RANGES[scalar]
            return f"{show_integer(value)} exceeds the range {low} to {high} of {scalar}"
        case Fault.RANGE | Fault.NAN:
            return f"the number exceeds the range of {scalar}"
        case Fault.KIND if scalar.is_integer and isinstance(value, float):
            return f"the float {value!r} does not fit the integer type {scalar}"
    return f"{kind_of(value)} does not fit {scalar}"


def convert_for_comparison(constant: Constant, type_: PropertyType) -> Constant:
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
