"""The type that several values have together, and what takes the type that it is needed as."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from omnigraph.compiler.ir.computed import ListOf
from omnigraph.compiler.ir.values import Constant, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.scope import CheckContext
from omnigraph.compiler.typecheck.types import are_alike
from omnigraph.compiler.types import PropertyType, Scalar


def give_null_type(value: Value, type_: PropertyType) -> Value:
    """Return a NULL as one of a type."""
    return Constant(None, type_) if isinstance(value, Constant) and value.value is None else value


def common_type(
    check: CheckContext, what: str, values: tuple[Value, ...], nodes: tuple[ast.Expression, ...]
) -> PropertyType | None:
    """Return the type that alike values have together, or None after reporting two that differ."""
    known = [
        (item.type, node)
        for item, node in zip(values, nodes, strict=True)
        if not (isinstance(item, Constant) and item.value is None)
    ]
    if not known:
        check.report("T25", f"every value of this {what} is null", nodes[0].span)
        return None
    first = known[0][0]
    for type_, node in known:
        shape = (type_.is_list, type_.vector) == (first.is_list, first.vector)
        if not shape or not are_alike(type_.scalar, first.scalar) or type_.is_vector or type_.is_map:
            message = f"the values of {what} have different types: {_plain(first)} and {_plain(type_)}"
            if type_.is_vector or type_.is_map:
                message = f"{what} does not take a {'Map' if type_.is_map else 'Vector'}"
            check.report("T25", message, node.span, "convert one of them, for example with to_string(…)")
            return None
    if _are_all_unsigned(values):
        return PropertyType(Scalar.U64, nullable=True)
    return reduce(_wider, (type_ for type_, _ in known))


def _are_all_unsigned(values: tuple[Value, ...]) -> bool:
    """Return whether these are values of U64 and what fits it: U32, literals that are not negative, NULL."""
    numbers = [item for item in values if not (isinstance(item, Constant) and _fits_unsigned(item.value))]
    scalars = {item.type.scalar for item in numbers if item.type.is_plain}
    return len(numbers) > 0 and Scalar.U64 in scalars and scalars <= {Scalar.U64, Scalar.U32}


def _fits_unsigned(value: object) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _plain(type_: PropertyType) -> PropertyType:
    return replace(type_, nullable=False)


def _wider(left: PropertyType, right: PropertyType) -> PropertyType:
    enum = left.enum if left.enum == right.enum else None
    scalar = left.scalar
    if left.scalar is not right.scalar:
        scalar = Scalar.F64 if left.scalar.is_float or right.scalar.is_float else _wider_integer(left, right)
    return PropertyType(scalar, nullable=True, is_list=left.is_list, enum=enum)


def _wider_integer(left: PropertyType, right: PropertyType) -> Scalar:
    return Scalar.U64 if {left.scalar, right.scalar} == {Scalar.U64, Scalar.U32} else Scalar.I64


def as_vector(value: Value) -> Value:
    """Return a list of numbers that is written out as a vector; anything else as it is."""
    if isinstance(value, Constant) and isinstance(value.value, tuple) and value.type.is_list:
        numbers = [float(item) for item in value.value if isinstance(item, int | float)]
        if numbers and len(numbers) == len(value.value):
            return Constant(tuple(numbers), PropertyType(Scalar.F32, vector=len(numbers)))
    if isinstance(value, ListOf) and value.type.is_list and value.type.scalar.is_numeric:
        return ListOf(value.items, PropertyType(Scalar.F32, nullable=True, vector=len(value.items)))
    return value
