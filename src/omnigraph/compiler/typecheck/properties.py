"""Values that are assigned to or compared with a property: in a binding, an assignment or a `where`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property
from omnigraph.compiler.ir.values import Constant, Now, Parameter, RoundedToF32, StoredAs, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import Span, suggest
from omnigraph.compiler.typecheck.expressions import check_literal
from omnigraph.compiler.typecheck.scope import CheckContext
from omnigraph.compiler.typecheck.types import (
    are_alike,
    are_comparable,
    convert_for_comparison,
    convert_to_stored,
)
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.accept import find_outside_enum


@dataclass(frozen=True, slots=True)
class PropertyTarget:
    """The property or built-in column that a value is assigned to or compared with."""

    subject: str
    type: PropertyType


def property_target(owner: NodeType | EdgeType, item: Property) -> PropertyTarget:
    """Return a property as a target."""
    return PropertyTarget(f"{owner.name}.{item.name}", item.type)


def check_stored(check: CheckContext, target: PropertyTarget, node: ast.Value) -> Value | None:
    """Return the value that an assignment stores, or None after reporting a problem."""
    type_ = target.type
    if isinstance(node, ast.NowCall):
        return Now() if _takes_now(check, target, node.span) else None
    if isinstance(node, ast.VariableReference):
        declared = _parameter(check, node, "T14")
        if declared is None:
            return None
        if not are_comparable(type_, declared):
            check.report("T7", f"{target.subject} is {type_}, ${node.name} is {declared}", node.span)
            return None
        if replace(declared, enum=None) == replace(type_, enum=None):
            return Parameter(node.name, declared)
        return StoredAs(Parameter(node.name, declared), type_, target.subject)
    constant = check_literal(check, node)
    if constant is None:
        return None
    problem = _literal_problem(constant, type_, stored_whole=True)
    if problem is None:
        try:
            return Constant(convert_to_stored(constant.value, type_), type_)
        except ValueError as error:
            problem = str(error)
    check.report("T3", f"{target.subject}: {problem}", node.span, _enum_hint(constant, type_))
    return None


def check_compared(check: CheckContext, target: PropertyTarget, node: ast.Value, code: str) -> Value | None:
    """Return a value that is compared with a property; lists compare with their members.

    `code` is reported for a variable that is not a parameter.
    """
    type_ = replace(target.type, is_list=False)
    if isinstance(node, ast.NowCall):
        return Now() if _takes_now(check, target, node.span) else None
    if isinstance(node, ast.VariableReference):
        declared = _parameter(check, node, code)
        if declared is None:
            return None
        if type_.is_vector or declared.scalar is Scalar.BLOB or not are_comparable(type_, declared):
            check.report("T7", f"{target.subject} is {target.type}, ${node.name} is {declared}", node.span)
            return None
        return round_parameter(Parameter(node.name, declared), type_)
    constant = check_literal(check, node)
    if constant is None:
        return None
    problem = "a Vector cannot be compared" if type_.is_vector else _literal_problem(constant, type_)
    if problem is not None:
        check.report("T3", f"{target.subject}: {problem}", node.span, _enum_hint(constant, type_))
        return None
    return convert_for_comparison(constant, type_)


def round_parameter(parameter: Parameter, type_: PropertyType) -> Value:
    """Return a parameter as it compares with a stored value of a type."""
    narrow = type_.scalar is Scalar.F32 and parameter.type.scalar is not Scalar.F32
    return RoundedToF32(parameter) if narrow else parameter


def _parameter(check: CheckContext, node: ast.VariableReference, code: str) -> PropertyType | None:
    declared = check.parameters.get(node.name)
    if declared is None:
        hint = suggest(f"${node.name}", [f"${name}" for name in check.parameters])
        check.report(
            code, f"variable ${node.name} is not bound: it is not a declared parameter", node.span, hint
        )
    return declared


def _takes_now(check: CheckContext, target: PropertyTarget, span: Span) -> bool:
    if target.type.scalar is Scalar.DATETIME and not target.type.is_list:
        return True
    check.report("T7", f"now() is a DateTime, {target.subject} is {target.type}", span)
    return False


def _literal_problem(constant: Constant, type_: PropertyType, stored_whole: bool = False) -> str | None:
    """Return why a literal does not fit a type, or None; `stored_whole` requires whole lists and vectors."""
    found, value = constant.type, constant.value
    if value is None:
        return None if type_.nullable else f"null does not fit the non-nullable type {type_}"
    if stored_whole and (type_.is_vector or type_.is_list):
        if not found.is_list:
            return f"expected a list for {type_}, found {found}"
    elif found.is_list:
        return f"a list literal does not fit the scalar type {type_}"
    wanted = Scalar.STRING if stored_whole and type_.scalar is Scalar.BLOB else type_.scalar
    members = value if isinstance(value, tuple) else (value,)
    known = [item for item in members if item is not None]
    if known and not are_alike(found.scalar, wanted):
        return f"expected {type_}, found {found}"
    if stored_whole and type_.scalar.is_integer and found.scalar.is_float:
        return f"a Float literal with a fraction does not fit the integer type {type_}"
    outside = find_outside_enum(known, type_)
    return f"{outside[0]!r} is not one of {type_}: invalid enum value" if outside else None


def _enum_hint(constant: Constant, type_: PropertyType) -> str | None:
    if type_.enum is None or not isinstance(constant.value, str):
        return None
    return suggest(constant.value, type_.enum)
