"""Compare an accepted type with its desired form."""

from __future__ import annotations

from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.migration.compare_property import compare_property
from omnigraph.compiler.catalog.migration.compare_rules import compare_marks, compare_rules
from omnigraph.compiler.catalog.migration.match import AnyType
from omnigraph.compiler.catalog.migration.steps import (
    AddProperty,
    DropMode,
    DropProperty,
    RenameProperty,
    Step,
    UnsupportedChange,
    UpdateTypeMetadata,
)
from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType, Property, TypeKind


def compare_type(
    accepted: Catalog, target: Catalog, old: AnyType, new: AnyType, mode: DropMode
) -> tuple[list[Step], list[Step]]:
    """Return the steps that change a type, and those that drop its properties."""
    kind: TypeKind = "interface" if isinstance(new, InterfaceType) else new.kind
    before = {item.id: item for item in old.properties}
    after = {item.id: item for item in new.properties}
    kept = [(before[item.id], item) for item in new.properties if item.id in before]
    names = {was.name: now.name for was, now in kept}
    changes: list[Step] = [
        RenameProperty(kind, new.name, was.name, now.name) for was, now in kept if was.name != now.name
    ]
    changes += [_add_property(kind, new.name, item) for item in new.properties if item.id not in before]
    key = frozenset() if isinstance(new, InterfaceType) else frozenset(new.key or ())
    for was, now in kept:
        changes += compare_property(kind, new.name, was, now, names, in_key=now.name in key)
    changes += _compare_shape(accepted, target, old, new)
    if isinstance(old, InterfaceType) or isinstance(new, InterfaceType):
        for was, now in kept:
            changes += compare_marks(new.name, was, now)
    else:
        changes += compare_rules(old, new, names)
        changes += _compare_notes(old, new)
    drops: list[Step] = [
        DropProperty(kind, new.name, item.name, mode) for item in old.properties if item.id not in after
    ]
    return changes, drops


def _add_property(kind: TypeKind, owner: str, item: Property) -> Step:
    if not item.type.nullable and item.default is None:
        return UnsupportedChange(
            f"{kind}:{owner}.{item.name}",
            "a required property cannot be added without a value for the stored rows:"
            " make it nullable or give it a @default",
            MigrationCode.REQUIRED_PROPERTY,
        )
    return AddProperty(kind, owner, item.name, item.type, item.default)


def _compare_shape(accepted: Catalog, target: Catalog, old: AnyType, new: AnyType) -> list[Step]:
    """Refuse changes of what a type is: its interfaces, its endpoints, its custom annotations."""
    steps: list[Step] = []
    if isinstance(old, NodeType) and isinstance(new, NodeType) and old.implements != new.implements:
        steps.append(UnsupportedChange(f"node:{new.name}", "the interfaces of a node type cannot change"))
    if isinstance(old, EdgeType) and isinstance(new, EdgeType):
        was = [_node_id(accepted, old.source), _node_id(accepted, old.target)]
        if was != [_node_id(target, new.source), _node_id(target, new.target)]:
            steps.append(UnsupportedChange(f"edge:{new.name}", "the endpoints of an edge type cannot change"))
    if old.annotations != new.annotations:
        kind = "interface" if isinstance(new, InterfaceType) else new.kind
        steps.append(UnsupportedChange(f"{kind}:{new.name}", "custom annotations cannot change"))
    return steps


def _compare_notes(old: NodeType | EdgeType, new: NodeType | EdgeType) -> list[Step]:
    changed: list[tuple[str, str | None]] = []
    if old.description != new.description:
        changed.append(("description", new.description))
    if old.instruction != new.instruction:
        changed.append(("instruction", new.instruction))
    return [UpdateTypeMetadata(new.kind, new.name, tuple(changed))] if changed else []


def _node_id(catalog: Catalog, name: str) -> int:
    node = catalog.node(name)
    return node.id if node else 0
