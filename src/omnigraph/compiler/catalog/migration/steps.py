"""The steps of a migration. Types and properties have their new names, dropped ones their last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.migration.rules import Rule, rule_code, rule_text
from omnigraph.compiler.catalog.model import Default, LiteralValue, TableKind, TypeKind
from omnigraph.compiler.types import PropertyType

DropMode = Literal["soft", "hard"]
Notes: TypeAlias = tuple[tuple[str, LiteralValue], ...]
"""Annotations by name with their new value; None for one that was removed."""


@dataclass(frozen=True, slots=True)
class AddType:
    """Create an empty table; an interface has none."""

    kind: ClassVar[str] = "add_type"
    type_kind: TypeKind
    name: str

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return {"kind": self.kind, "type_kind": self.type_kind, "name": self.name}


@dataclass(frozen=True, slots=True)
class RenameType:
    """Rename a type; its table and ids stay."""

    kind: ClassVar[str] = "rename_type"
    type_kind: TableKind
    old: str
    new: str

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return {"kind": self.kind, "type_kind": self.type_kind, "from": self.old, "to": self.new}


@dataclass(frozen=True, slots=True)
class AddProperty:
    """Add a column that holds the default, or NULL without one."""

    kind: ClassVar[str] = "add_property"
    type_kind: TypeKind
    type_name: str
    property_name: str
    property_type: PropertyType
    default: Default | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        data = _property(self) | {"property_type": str(self.property_type)}
        return data | {"default": _plain(self.default.value)} if self.default else data


@dataclass(frozen=True, slots=True)
class RenameProperty:
    """Rename a column; its id stays."""

    kind: ClassVar[str] = "rename_property"
    type_kind: TypeKind
    type_name: str
    old: str
    new: str

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        data: dict[str, Any] = {"kind": self.kind, "type_kind": self.type_kind, "type_name": self.type_name}
        return data | {"from": self.old, "to": self.new}


@dataclass(frozen=True, slots=True)
class ExtendEnum:
    """Allow further enum values."""

    kind: ClassVar[str] = "extend_enum"
    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return _property(self) | {"added_values": list(self.added_values)}


@dataclass(frozen=True, slots=True)
class WidenProperty:
    """Rewrite a number column with a wider type of the same kind."""

    kind: ClassVar[str] = "widen_property"
    type_kind: TypeKind
    type_name: str
    property_name: str
    old_type: PropertyType
    new_type: PropertyType

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return _property(self) | {"from_type": str(self.old_type), "to_type": str(self.new_type)}


@dataclass(frozen=True, slots=True)
class RequireProperty:
    """Make a nullable property required; the stored rows must hold no NULL in it."""

    kind: ClassVar[str] = "require_property"
    validation_code: ClassVar[MigrationCode] = MigrationCode.NULL_TIGHTENING
    type_kind: TypeKind
    type_name: str
    property_name: str

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return _property(self) | {"validated": self.type_kind != "interface"}


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """Add a constraint; the stored rows must satisfy it, unless it is an index."""

    kind: ClassVar[str] = "add_constraint"
    type_kind: TypeKind
    type_name: str
    constraint: Rule

    @property
    def validation_code(self) -> MigrationCode | None:
        """The code to report when stored rows break the constraint; None when there is nothing to check."""
        return rule_code(self.constraint) if self.type_kind != "interface" else None

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "constraint": rule_text(self.constraint),
            "validated": self.validation_code is not None,
        }


@dataclass(frozen=True, slots=True)
class UpdateTypeMetadata:
    """Change the description or instruction of a type."""

    kind: ClassVar[str] = "update_type_metadata"
    type_kind: TypeKind
    name: str
    annotations: Notes

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        data: dict[str, Any] = {"kind": self.kind, "type_kind": self.type_kind, "name": self.name}
        return data | {"annotations": _notes(self.annotations)}


@dataclass(frozen=True, slots=True)
class UpdatePropertyMetadata:
    """Change the description, default or merge rule of a property; stored rows stay as they are."""

    kind: ClassVar[str] = "update_property_metadata"
    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: Notes

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return _property(self) | {"annotations": _notes(self.annotations)}


@dataclass(frozen=True, slots=True)
class DropProperty:
    """Remove a column; `hard` also reclaims the versions that still have it."""

    kind: ClassVar[str] = "drop_property"
    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return _property(self) | {"mode": self.mode}


@dataclass(frozen=True, slots=True)
class DropType:
    """Remove a table; `hard` also reclaims its versions."""

    kind: ClassVar[str] = "drop_type"
    type_kind: TableKind
    name: str
    mode: DropMode

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        return {"kind": self.kind, "type_kind": self.type_kind, "name": self.name, "mode": self.mode}


@dataclass(frozen=True, slots=True)
class UnsupportedChange:
    """A change that no step can make; the plan is refused."""

    kind: ClassVar[str] = "unsupported_change"
    entity: str
    reason: str
    code: MigrationCode | None = None

    def __str__(self) -> str:
        prefix = f"[{self.code}] " if self.code else ""
        return f"{prefix}{self.entity}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain JSON data."""
        data: dict[str, Any] = {"kind": self.kind, "entity": self.entity, "reason": self.reason}
        return data | {"code": self.code.value} if self.code else data


Step: TypeAlias = (
    AddType
    | RenameType
    | AddProperty
    | RenameProperty
    | ExtendEnum
    | WidenProperty
    | RequireProperty
    | AddConstraint
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropProperty
    | DropType
    | UnsupportedChange
)
_OfProperty: TypeAlias = (
    AddProperty | ExtendEnum | WidenProperty | RequireProperty | UpdatePropertyMetadata | DropProperty
)


def _property(step: _OfProperty) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "type_kind": step.type_kind,
        "type_name": step.type_name,
        "property_name": step.property_name,
    }


def _notes(notes: Notes) -> list[dict[str, Any]]:
    return [{"name": name, "value": _plain(value)} for name, value in notes]


def _plain(value: LiteralValue) -> Any:
    return list(value) if isinstance(value, tuple) else value
