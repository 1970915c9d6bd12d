"""Compare an accepted property with its desired form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.compiler.catalog.annotations import MARKS
from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.migration.steps import (
    ExtendEnum,
    RequireProperty,
    Step,
    UnsupportedChange,
    UpdatePropertyMetadata,
    WidenProperty,
)
from omnigraph.compiler.catalog.model import LiteralValue, Property, TypeKind
from omnigraph.compiler.types import PropertyType, Scalar

_WIDER = {Scalar.I32: Scalar.I64, Scalar.U32: Scalar.U64, Scalar.F32: Scalar.F64}


def compare_property(
    kind: TypeKind, owner: str, old: Property, new: Property, names: Mapping[str, str], in_key: bool
) -> list[Step]:
    """Return the steps from the old to the new form; `names` maps old property names to new ones."""
    steps = _compare_type(kind, owner, old.type, new, in_key)
    entity = f"{kind}:{owner}.{new.name}"
    if _embed(old, names) != _embed(new, {}):
        steps.append(UnsupportedChange(entity, "the source or model of @embed cannot change"))
    if _custom(kind, old) != _custom(kind, new):
        steps.append(UnsupportedChange(entity, "custom annotations cannot change"))
    if old.from_interface != new.from_interface:
        steps.append(
            UnsupportedChange(entity, "a property cannot move between an interface and the type itself")
        )
    return steps + _compare_notes(kind, owner, old, new)


def _compare_type(kind: TypeKind, owner: str, old: PropertyType, new: Property, in_key: bool) -> list[Step]:
    steps: list[Step] = []
    wanted = replace(new.type, nullable=old.nullable)
    entity = f"{kind}:{owner}.{new.name}"
    if new.type.nullable and not old.nullable:
        reason = (
            f"its type cannot change from {old} to {new.type}: a required property cannot become nullable"
        )
        return [UnsupportedChange(entity, reason, MigrationCode.TYPE_CHANGE)]
    if old.enum is not None and wanted.enum is not None and set(old.enum) < set(wanted.enum):
        added = tuple(sorted(set(wanted.enum) - set(old.enum)))
        steps.append(ExtendEnum(kind, owner, new.name, added))
    elif _is_wider(old, wanted, in_key):
        steps.append(WidenProperty(kind, owner, new.name, old, wanted))
    elif old != wanted:
        reason = f"its type cannot change from {old} to {new.type}"
        return [UnsupportedChange(entity, reason, MigrationCode.TYPE_CHANGE)]
    if old.nullable and not new.type.nullable:
        steps.append(RequireProperty(kind, owner, new.name))
    return steps


def _is_wider(old: PropertyType, wanted: PropertyType, in_key: bool) -> bool:
    if not old.is_plain or not wanted.is_plain or _WIDER.get(old.scalar) is not wanted.scalar:
        return False
    # A wider float has a longer canonical text, so the ids of the nodes would change.
    return not (in_key and old.scalar.is_float)


def _compare_notes(kind: TypeKind, owner: str, old: Property, new: Property) -> list[Step]:
    changed: list[tuple[str, LiteralValue]] = []
    if old.description != new.description:
        changed.append(("description", new.description))
    if not _same_default(old, new):
        changed.append(("default", new.default.value if new.default else None))
    if old.merge_rule != new.merge_rule:
        changed.append(("merge", new.merge_rule))
    return [UpdatePropertyMetadata(kind, owner, new.name, tuple(changed))] if changed else []


def _same_default(old: Property, new: Property) -> bool:
    # A widened float default is equal in Python; repr tells 1 from 1.0 and true.
    return repr(old.default) == repr(new.default)


def _embed(item: Property, names: Mapping[str, str]) -> tuple[str, str | None] | None:
    if item.embed is None:
        return None
    return names.get(item.embed.source, item.embed.source), item.embed.model


def _custom(kind: TypeKind, item: Property) -> list[object]:
    return [note for note in item.annotations if kind != "interface" or note.name not in MARKS]
