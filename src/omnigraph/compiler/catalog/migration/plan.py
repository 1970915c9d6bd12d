"""Plan a migration: match, give ids, compare, and put the steps into order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from omnigraph.base.errors import SchemaChangeUnsupported, SchemaWouldDrop
from omnigraph.compiler.catalog.build import build_draft
from omnigraph.compiler.catalog.draft import CatalogDraft
from omnigraph.compiler.catalog.identity import assign_ids, assign_named_ids, retire_ids
from omnigraph.compiler.catalog.migration.compare import compare_type
from omnigraph.compiler.catalog.migration.match import TYPE_KINDS, Matching, match, types_of
from omnigraph.compiler.catalog.migration.steps import (
    AddType,
    DropMode,
    DropProperty,
    DropType,
    RenameType,
    Step,
    UnsupportedChange,
)
from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType, TableKind, TypeKind
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.parser import read_schema
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import SourceText

_Type = TypeVar("_Type", InterfaceType, NodeType, EdgeType)
_Table = TypeVar("_Table", NodeType, EdgeType)
_MAX_NAMED_DROPS = 20
"""Drops that a message names; the others are counted."""


@dataclass(frozen=True)
class MigrationPlan:
    """The steps from an accepted catalog to `target`; without steps, `target` is the accepted catalog."""

    steps: tuple[Step, ...]
    supported: bool
    warnings: tuple[str, ...]
    target: Catalog = field(repr=False)

    def require_supported(self) -> None:
        """Raise SchemaChangeUnsupported for the first change that cannot be made."""
        for step in self.steps:
            if isinstance(step, UnsupportedChange):
                raise SchemaChangeUnsupported(
                    str(step),
                    migration_code=step.code and step.code.value,
                    entity=step.entity,
                    steps=self.steps,
                )

    @property
    def drops(self) -> tuple[DropType | DropProperty, ...]:
        """The steps that drop a type or a property."""
        return tuple(step for step in self.steps if isinstance(step, DropType | DropProperty))

    def refuse_drops(self) -> None:
        """Raise SchemaWouldDrop with the list of what the plan would drop, if there is anything."""
        if not self.drops:
            return
        names = [_describe_drop(step) for step in self.drops]
        more = f" and {len(names) - _MAX_NAMED_DROPS} more" if len(names) > _MAX_NAMED_DROPS else ""
        raise SchemaWouldDrop(
            f"the new schema leaves out {', '.join(names[:_MAX_NAMED_DROPS])}{more}; nothing was changed. "
            "To drop it, allow it (allow_drop, --allow-drop); to add to what is there, use mode 'extend' "
            "(--extend)",
            drops=[step.to_json() for step in self.drops],
            names=names,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON data."""
        return {
            "supported": self.supported,
            "steps": [step.to_json() for step in self.steps],
            "warnings": list(self.warnings),
        }


def plan_migration(
    accepted: Catalog,
    desired: str | ast.SchemaFile,
    allow_data_loss: bool = False,
    file: str = "",
    text: str = "",
    on_branch: bool = False,
) -> MigrationPlan:
    """Plan the steps from an accepted catalog to a desired schema; `allow_data_loss` makes drops hard.

    The spans of a desired tree point into `text`. `on_branch` makes the ids of new things of their names, so
    that other branches that add the same give it the same ids.
    """
    draft = _draft(desired, file, text)
    matching = match(accepted, draft, file)
    assign = assign_named_ids if on_branch else assign_ids
    target = assign(_with_kept_ids(accepted, draft.catalog, matching))
    target = retire_ids(_with_kept_keys(accepted, target), accepted)
    steps = _order_steps(accepted, target, "hard" if allow_data_loss else "soft")
    supported = not any(isinstance(step, UnsupportedChange) for step in steps)
    return MigrationPlan(steps, supported, matching.warnings, target if steps else accepted)


def steps_between(accepted: Catalog, target: Catalog) -> tuple[Step, ...]:
    """Return the steps from one catalog to another of the same graph, matched by ids."""
    return _order_steps(accepted, target, "soft")


def _describe_drop(step: DropType | DropProperty) -> str:
    if isinstance(step, DropType):
        return f"{step.type_kind} {step.name}"
    return f"{step.type_kind} {step.type_name}.{step.property_name}"


def _draft(desired: str | ast.SchemaFile, file: str, text: str) -> CatalogDraft:
    problems = SchemaProblems(SourceText(desired if isinstance(desired, str) else text))
    tree = read_schema(desired, problems) if isinstance(desired, str) else desired
    draft = build_draft(tree, problems)
    problems.raise_if_any(file)
    return draft


def _with_kept_ids(accepted: Catalog, desired: Catalog, matching: Matching) -> Catalog:
    return Catalog(
        tuple(_keep_ids("interface", item, matching) for item in desired.interfaces),
        tuple(_keep_ids("node", item, matching) for item in desired.nodes),
        tuple(_keep_ids("edge", item, matching) for item in desired.edges),
        accepted.last_id,
    )


def _keep_ids(kind: TypeKind, desired: _Type, matching: Matching) -> _Type:
    accepted = matching.types.get((kind, desired.name))
    if accepted is None:
        return desired
    properties = tuple(
        replace(item, id=known.id)
        if (known := matching.properties.get((kind, desired.name, item.name)))
        else item
        for item in desired.properties
    )
    if isinstance(desired, InterfaceType) or isinstance(accepted, InterfaceType):
        return replace(desired, id=accepted.id, properties=properties)
    return replace(desired, id=accepted.id, table_id=accepted.table_id, properties=properties)


def _with_kept_keys(accepted: Catalog, target: Catalog) -> Catalog:
    """Return the target with the members of keys in the order that they had: ids of rows are made of it."""
    before = {item.id: item for item in accepted.tables}
    return replace(
        target,
        nodes=tuple(_keep_key(before.get(item.id), item) for item in target.nodes),
        edges=tuple(_keep_key(before.get(item.id), item) for item in target.edges),
    )


def _keep_key(old: NodeType | EdgeType | None, new: _Table) -> _Table:
    if old is None or old.key is None or new.key is None:
        return new
    names = {item.id: item.name for item in new.properties}
    former = {item.name: names.get(item.id, "") for item in old.properties} | {"src": "src", "dst": "dst"}
    key = tuple(former[name] for name in old.key)
    return replace(new, key=key) if set(key) == set(new.key) else new


def _order_steps(accepted: Catalog, target: Catalog, mode: DropMode) -> tuple[Step, ...]:
    """Return the steps in order: renames, additions, changes within types, drops (edges before nodes)."""
    before = {kind: {item.id: item for item in types_of(accepted, kind)} for kind in TYPE_KINDS}
    after = {kind: {item.id: item for item in types_of(target, kind)} for kind in TYPE_KINDS}
    renames: list[Step] = []
    additions: list[Step] = []
    changes: list[Step] = []
    drops: list[Step] = []
    table_kinds: tuple[TableKind, ...] = ("node", "edge")
    for kind in table_kinds:
        for item in after[kind].values():
            old = before[kind].get(item.id)
            if old and old.name != item.name:
                renames.append(RenameType(kind, old.name, item.name))
    for every in TYPE_KINDS:
        additions += [
            AddType(every, item.name) for item in after[every].values() if item.id not in before[every]
        ]
        for item in after[every].values():
            if item.id in before[every]:
                changed, dropped = compare_type(accepted, target, before[every][item.id], item, mode)
                changes += changed
                drops += dropped
    removed = [item for item in accepted.interfaces if item.id not in after["interface"]]
    changes += [
        UnsupportedChange(f"interface:{item.name}", "an interface cannot be removed") for item in removed
    ]
    for kind in reversed(table_kinds):
        drops += _drop_types(kind, types_of(accepted, kind), after[kind], mode)
    return (*renames, *additions, *changes, *drops)


def _drop_types(
    kind: TableKind, accepted: Iterable[InterfaceType | NodeType | EdgeType], kept: Any, mode: DropMode
) -> list[Step]:
    return [DropType(kind, item.name, mode) for item in accepted if item.id not in kept]
