"""Ends of edges beside keys: a node is named by its id, or by its key if that is one property."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.catalog.keys import end_types, name_ends
from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.computed import ListOf
from omnigraph.compiler.ir.values import STRING, Constant, EdgeEnd, End, IdOfEnd, Parameter, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.scope import CheckContext, Scope
from omnigraph.compiler.types import PropertyType, Scalar

_DATES = (Scalar.DATE, Scalar.DATETIME)
_OPERATORS = (ast.Operator.EQ, ast.Operator.NE, ast.Operator.IN, ast.Operator.CONTAINS)


def name_compared_ends(
    check: CheckContext, scope: Scope, operator: ast.Operator, left: Value, right: Value
) -> tuple[Value, Value]:
    """Return two compared values, with ids in place of the keys that an end is compared with."""
    if operator not in _OPERATORS:
        return left, right
    if isinstance(left, EdgeEnd):
        return left, _as_ids(right, find_key(check, scope, left))
    if isinstance(right, EdgeEnd):
        return _as_ids(left, find_key(check, scope, right)), right
    return left, right


def find_key(check: CheckContext, scope: Scope, end: EdgeEnd) -> PropertyType | None:
    """Return the type of the key that names a node at this end; None if only its id does."""
    is_row = scope.row is not None and end.variable == scope.row_variable
    owners = (scope.row,) if is_row else check.owners(check.variables[end.variable])
    name = "from" if end.end is End.SOURCE else "to"
    found = {end_types(check.catalog, owner)[name] for owner in owners if isinstance(owner, EdgeType)}
    [key, *others] = found
    return None if others or key.scalar is Scalar.STRING else key


def _as_ids(value: Value, key: PropertyType | None) -> Value:
    if key is None:
        return value
    if isinstance(value, ListOf):
        items = tuple(_as_ids(item, key) for item in value.items)
        named = all(item.type.scalar is Scalar.STRING for item in items)
        return ListOf(items, replace(STRING, is_list=True)) if named else value
    if not isinstance(value, Constant | Parameter) or not _names_a_node(value.type.scalar, key.scalar):
        return value
    if isinstance(value, Parameter):
        return IdOfEnd(value, key)
    type_ = replace(STRING, is_list=value.type.is_list, nullable=value.type.nullable)
    return Constant(name_ends(value.value, key), type_)


def _names_a_node(given: Scalar, key: Scalar) -> bool:
    """Return whether such a value can be a key; a date may be given as a text."""
    if given is Scalar.STRING:
        return key in _DATES
    return given is key or (given.is_integer and key.is_numeric) or (given.is_float and key.is_float)
