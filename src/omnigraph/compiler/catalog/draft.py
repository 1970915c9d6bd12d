"""A compiled schema before it has ids: what the migration planner compares with an accepted catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph.compiler.catalog.model import Catalog, TypeKind
from omnigraph.compiler.source import SourceText, Span

TypeName: TypeAlias = tuple[TypeKind, str]
PropertyName: TypeAlias = tuple[TypeKind, str, str]


@dataclass(frozen=True, slots=True)
class RenameHint:
    """The old name that `@rename_from` gives, and its span."""

    old: str
    span: Span
    injected: bool = False
    """Whether an interface brought the hint into a node type."""


@dataclass(frozen=True)
class CatalogDraft:
    """A catalog whose ids are all 0, with the rename hints of its text."""

    catalog: Catalog
    source: SourceText
    type_hints: Mapping[TypeName, RenameHint] = field(default_factory=dict)
    property_hints: Mapping[PropertyName, RenameHint] = field(default_factory=dict)
