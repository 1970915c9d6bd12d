"""Variables over several types: what all their types have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.scope import CheckContext
from omnigraph.compiler.types import PropertyType


def find_shared_property(
    check: CheckContext, owners: Sequence[NodeType | EdgeType], name: ast.Identifier, code: str
) -> Property | None:
    """Return the property that some types share, or None after reporting why there is none.

    Of several types it has the name that the query uses, as reading an old commit may call it differently
    in each.
    """
    found = [owner.by_any_name.get(name.text) for owner in owners]
    for owner, item in zip(owners, found, strict=True):
        if item is None:
            having = [other.name for other, known in zip(owners, found, strict=True) if known]
            hint = f"bind the variable to the types that have it: {'|'.join(having)}" if having else None
            report_no_property(check, code, owner, name, hint)
            return None
    known = [item for item in found if item is not None]
    if len(known) == 1:
        return known[0]
    first = known[0].type
    for owner, item in zip(owners[1:], known[1:], strict=True):
        if _shape(item.type) != _shape(first):
            message = f"property {name.text!r} is {first} in {owners[0].name} and {item.type} in {owner.name}"
            check.report(code, message, name.span, "bind the variable to types in which it is the same")
            return None
    return replace(known[0], name=name.text, type=_unite([item.type for item in known]))


def have_same_shape(owners: Sequence[NodeType | EdgeType], name: str) -> bool:
    """Return whether all of some types have a property, with the same type but for NULL and enums."""
    found = [owner.by_any_name.get(name) for owner in owners]
    known = [_shape(item.type) for item in found if item is not None]
    return len(known) == len(found) and len(set(known)) == 1


def describe_types(variable: Variable) -> str:
    """Return the types of a variable in words."""
    return " or ".join(variable.types)


def describe_kind(variable: Variable) -> str:
    """Return what a variable is in words."""
    if variable.kind is VariableKind.LENGTH:
        return "a path length"
    if variable.kind is VariableKind.PATH:
        return "a path"
    return f"a {describe_types(variable)}" if variable.type_name else "a value"


def report_no_property(
    check: CheckContext,
    code: str,
    owner: NodeType | EdgeType,
    name: ast.Identifier,
    hint: str | None = None,
) -> None:
    """Report a property that its type does not have."""
    hint = hint or suggest(name.text, owner.by_any_name)
    check.report(code, f"{owner.kind} type {owner.name} has no property {name.text!r}", name.span, hint)


def _shape(type_: PropertyType) -> PropertyType:
    return replace(type_, nullable=False, enum=None)


def _unite(types: Sequence[PropertyType]) -> PropertyType:
    """Return the type that has the values of all; enums are united."""
    enums = [type_.enum for type_ in types]
    members = tuple(sorted({word for enum in enums if enum for word in enum}))
    return replace(
        types[0],
        nullable=any(type_.nullable for type_ in types),
        enum=members if all(enums) else None,
    )
