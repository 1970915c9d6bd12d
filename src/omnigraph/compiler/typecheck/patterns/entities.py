"""Functions of a whole node or edge: the name of its type, and all that is stored of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property
from omnigraph.compiler.ir.computed import EntityMap
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.ir.values import STRING, EdgeEnd, End, EntityId, EntityType, PropertyValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build_expressions import TYPE_FUNCTION
from omnigraph.compiler.typecheck.patterns.united import describe_kind
from omnigraph.compiler.typecheck.scope import CheckContext, Scope
from omnigraph.compiler.types import EntityShape, MapField, PropertyType, Scalar


def check_entity_call(
    check: CheckContext, scope: Scope, node: ast.EntityCall, hint: str | None
) -> EntityType | EntityMap | None:
    """Return the value of a function of a whole node or edge; `hint` is for a variable that is not bound."""
    name, function = node.variable.name, node.function.text
    found = scope.get(name)
    if found is None:
        check.report("T6", f"variable ${name} is not bound", node.variable.span, hint)
        return None
    variable = found.variable
    if variable is None:
        if found.value is not None:
            message = f"{function} needs a node or an edge, ${name} is a value"
            check.report("T7", message, node.variable.span)
        return None
    if variable.kind not in (VariableKind.NODE, VariableKind.EDGE):
        message = f"{function} needs a node or an edge, ${name} is {describe_kind(variable)}"
        check.report("T7", message, node.variable.span)
        return None
    if function == TYPE_FUNCTION:
        return EntityType(variable.slot, variable.optional)
    return entity_map(variable, check.owners(variable))


def entity_map(variable: Variable, owners: Sequence[NodeType | EdgeType]) -> EntityMap:
    """Return the node or edge of a variable as a map; blobs are not part of it."""
    fields: dict[tuple[object, ...], Property] = {}
    by_type = []
    for owner in owners:
        numbers = []
        for item in owner.properties:
            if item.type.scalar is Scalar.BLOB:
                continue
            key = (item.name, item.type.scalar, item.type.is_list, item.type.vector)
            known = fields.setdefault(key, item)
            if known.type.enum != item.type.enum:
                fields[key] = replace(known, type=replace(known.type, enum=None))
            numbers.append(list(fields).index(key))
        by_type.append((owner.name, tuple(numbers)))
    is_edge, slot, optional = variable.kind is VariableKind.EDGE, variable.slot, variable.optional
    shape = EntityShape(
        is_edge,
        tuple(MapField(item.name, replace(item.type, nullable=True)) for item in fields.values()),
        tuple(by_type),
    )
    return EntityMap(
        EntityType(slot, optional),
        EntityId(slot, optional),
        tuple(EdgeEnd(slot, end, optional) for end in (End.SOURCE, End.TARGET)) if is_edge else (),
        tuple(PropertyValue(slot, item, optional) for item in fields.values()),
        map_type(shape, optional),
    )


def map_type(shape: EntityShape, nullable: bool) -> PropertyType:
    """Return the type of a map."""
    return replace(STRING, nullable=nullable, map=shape)
