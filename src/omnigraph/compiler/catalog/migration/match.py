"""Find which accepted declaration each desired one continues: by name, else by `@rename_from`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph.base.errors import SchemaChangeUnsupported
from omnigraph.compiler.catalog.draft import CatalogDraft, PropertyName, RenameHint, TypeName
from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType, Property, TypeKind
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems

AnyType: TypeAlias = InterfaceType | NodeType | EdgeType


@dataclass(frozen=True)
class Matching:
    """The accepted type and property behind each desired one; what is missing here is new."""

    types: Mapping[TypeName, AnyType]
    properties: Mapping[PropertyName, Property]
    warnings: tuple[str, ...]


def types_of(catalog: Catalog, kind: TypeKind) -> tuple[AnyType, ...]:
    """Return the types of one kind."""
    if kind == "interface":
        return catalog.interfaces
    return catalog.nodes if kind == "node" else catalog.edges


TYPE_KINDS: tuple[TypeKind, ...] = ("interface", "node", "edge")


def match(accepted: Catalog, draft: CatalogDraft, file: str = "") -> Matching:
    """Match a desired schema with an accepted catalog, or raise with every hint that cannot be followed."""
    matcher = _Matcher(accepted, draft, SchemaProblems(draft.source))
    for kind in TYPE_KINDS:
        matcher.match_types(kind)
    if matcher.problems:
        found = matcher.problems.diagnostics()
        message = "\n".join(problem.render(file) for problem in found)
        raise SchemaChangeUnsupported(message, diagnostics=found)
    return Matching(matcher.types, matcher.properties, tuple(matcher.warnings))


@dataclass
class _Matcher:
    accepted: Catalog
    draft: CatalogDraft
    problems: SchemaProblems
    types: dict[TypeName, AnyType] = field(default_factory=dict)
    properties: dict[PropertyName, Property] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def match_types(self, kind: TypeKind) -> None:
        known = {item.name: item for item in types_of(self.accepted, kind)}
        desired = types_of(self.draft.catalog, kind)
        claimed = {item.name for item in desired if item.name in known}
        for item in desired:
            hint = self.draft.type_hints.get((kind, item.name))
            name = self._find_accepted(f"{kind} {item.name}", item.name, hint, known, claimed)
            if name is not None:
                self.types[kind, item.name] = known[name]
            self._match_properties(kind, item, known.get(name) if name else None)

    def _match_properties(self, kind: TypeKind, desired: AnyType, accepted: AnyType | None) -> None:
        known = {item.name: item for item in accepted.properties} if accepted else {}
        claimed = {item.name for item in desired.properties if item.name in known}
        for item in desired.properties:
            hint = self.draft.property_hints.get((kind, desired.name, item.name))
            if hint and hint.injected and hint.old not in known:
                hint = None
            target = f"property {desired.name}.{item.name}"
            if hint and accepted is None:
                self._problem(hint, f"{target}: {desired.name} is new, it has no '{hint.old}' to rename")
                continue
            name = self._find_accepted(target, item.name, hint, known, claimed)
            if name is not None:
                self.properties[kind, desired.name, item.name] = known[name]

    def _find_accepted(
        self, target: str, name: str, hint: RenameHint | None, known: Mapping[str, object], claimed: set[str]
    ) -> str | None:
        """Return the accepted name that `name` continues, or None when it is new."""
        if name in known:
            if hint:
                lost = f"; '{hint.old}' is dropped" if hint.old in known and hint.old not in claimed else ""
                self.warnings.append(
                    f'@rename_from("{hint.old}") on {target} is ignored: {name} exists already{lost}'
                )
            return name
        if hint is None:
            return None
        if hint.old not in known:
            self._problem(
                hint,
                f"{target}: the accepted schema has no '{hint.old}'",
                self.problems.suggest(hint.old, known),
            )
            return None
        if hint.old in claimed:
            self._problem(hint, f"{target}: '{hint.old}' is continued by another declaration")
            return None
        claimed.add(hint.old)
        return hint.old

    def _problem(self, hint: RenameHint, text: str, advice: str | None = None) -> None:
        self.problems.add(Code.RENAME_TARGET, f"@rename_from cannot be followed on {text}", hint.span, advice)
