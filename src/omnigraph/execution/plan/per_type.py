"""A query as it is for the nodes of one of the types of a variable: each type has its own table."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, Property
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import STRING, Constant, EntityType, PropertyValue

_Part = TypeVar("_Part")


def owners_of(variable: Variable, catalog: Catalog) -> list[NodeType | EdgeType]:
    """Return the types of a variable."""
    find = catalog.node if variable.kind is VariableKind.NODE else catalog.edge
    found = [find(name) for name in variable.types]
    return [owner for owner in found if owner is not None]


def stored_property(owner: NodeType | EdgeType, declared: Property) -> Property | None:
    """Return the property of one type that a variable over several calls so; None if it has none such."""
    found = owner.by_any_name.get(declared.name)
    if found is None:
        return None
    wanted, stored = declared.type, found.type
    alike = (wanted.scalar, wanted.is_list, wanted.vector) == (stored.scalar, stored.is_list, stored.vector)
    return found if alike else None


def read_as(query: ReadQuery, slot: int, owner: NodeType | EdgeType) -> ReadQuery:
    """Return a query in which a variable has one type."""
    variables = list(query.variables)
    variables[slot] = replace(variables[slot], type_name=owner.name, more_types=())
    return replace(rewrite(query, slot, owner), variables=tuple(variables))


def rewrite(node: _Part, slot: int, owner: NodeType | EdgeType) -> _Part:
    """Return a part of a query with the properties and the type of a variable as for one of its types."""
    rewritten: Any = _rewrite(node, slot, owner)
    found: _Part = rewritten
    return found


def _rewrite(node: Any, slot: int, owner: NodeType | EdgeType) -> Any:
    match node:
        case PropertyValue():
            if node.variable != slot:
                return node
            stored = stored_property(owner, node.declared)
            return Constant(None, node.type) if stored is None else replace(node, declared=stored)
        case EntityType():
            return Constant(owner.name, STRING) if node.variable == slot else node
        case Constant():
            return node
        case tuple():
            items = tuple(_rewrite(item, slot, owner) for item in node)
            return items if any(new is not old for new, old in zip(items, node, strict=True)) else node
    ours = type(node).__module__.startswith("omnigraph.compiler.ir")
    if ours and is_dataclass(node) and not isinstance(node, type):
        values = {item.name: getattr(node, item.name) for item in fields(node) if item.init}
        changed = {name: _rewrite(value, slot, owner) for name, value in values.items()}
        if any(changed[name] is not value for name, value in values.items()):
            return replace(node, **changed)
    return node
