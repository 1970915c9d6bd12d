"""Syntax tree to catalog: checks every rule of schemas and reports all problems at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.catalog import model
from omnigraph.compiler.catalog.annotations import read_type_annotations
from omnigraph.compiler.catalog.constraints import compile_constraints
from omnigraph.compiler.catalog.draft import CatalogDraft, PropertyName, RenameHint, TypeName
from omnigraph.compiler.catalog.model import Catalog, TypeKind
from omnigraph.compiler.catalog.properties import (
    DeclaredProperty,
    check_embed_sources,
    compile_properties,
)
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems

MAX_INTERFACE_PROPERTIES = 200_000
"""How many properties all interfaces together may give to nodes; a short text can ask for billions."""

_Declared = TypeVar("_Declared", ast.Interface, ast.Node, ast.Edge)


def build_draft(tree: ast.SchemaFile, problems: SchemaProblems) -> CatalogDraft:
    """Compile a schema without giving out ids; problems are recorded."""
    return _Builder(tree, problems).build()


class _Builder:
    def __init__(self, tree: ast.SchemaFile, problems: SchemaProblems) -> None:
        self._problems = problems
        self._interfaces = self._unique("interface", _declarations_of(tree, ast.Interface))
        self._nodes = self._unique("node", _declarations_of(tree, ast.Node))
        self._edges = self._unique("edge", _declarations_of(tree, ast.Edge))
        self._interface_properties: dict[str, dict[str, DeclaredProperty]] = {}
        self._injected = 0
        self._type_hints: dict[TypeName, RenameHint] = {}
        self._property_hints: dict[PropertyName, RenameHint] = {}

    def build(self) -> CatalogDraft:
        interfaces = tuple(self._interface(item) for item in _by_name(self._interfaces.values()))
        nodes = tuple(self._node(item) for item in _by_name(self._nodes.values()))
        self._check_folding()
        edges = tuple(self._edge(item) for item in _by_name(self._edges.values()))
        catalog = Catalog(interfaces, nodes, edges)
        return CatalogDraft(catalog, self._problems.source, self._type_hints, self._property_hints)

    def _unique(self, kind: str, declarations: Iterable[_Declared]) -> dict[str, _Declared]:
        found: dict[str, _Declared] = {}
        for declaration in declarations:
            name = declaration.name
            if name.text in found:
                self._problems.add(Code.DUPLICATE, f"duplicate {kind} '{name.text}'", name.span)
            found.setdefault(name.text, declaration)
        return found

    def _interface(self, declaration: ast.Interface) -> model.InterfaceType:
        name = declaration.name.text
        for member in declaration.members:
            if isinstance(member, ast.Constraint):
                message = f"@{member.kind} is not supported on interface {name}: it holds properties only"
                self._problems.add(Code.MISPLACED, message, member.span)
        declared = compile_properties("interface", name, declaration.members, self._problems)
        self._interface_properties[name] = declared
        return model.InterfaceType(0, name, self._properties("interface", name, declared))

    def _node(self, declaration: ast.Node) -> model.NodeType:
        name = declaration.name.text
        header = read_type_annotations("node", name, declaration.annotations, self._problems)
        self._note_rename("node", name, header.rename)
        declared = compile_properties("node", name, declaration.members, self._problems)
        self._inject(declaration, declared)
        check_embed_sources(name, declared, self._problems)
        constraints = compile_constraints(declaration, declared, self._problems)
        return model.NodeType(
            id=0,
            name=name,
            table_id=0,
            properties=self._properties("node", name, declared),
            key=constraints.key,
            uniques=tuple(sorted(constraints.uniques)),
            indexes=tuple(sorted(constraints.indexes)),
            ranges=constraints.sort_ranges(),
            checks=constraints.sort_checks(),
            implements=tuple(sorted({item.text for item in declaration.implements})),
            description=header.description,
            instruction=header.instruction,
            annotations=header.custom,
        )

    def _edge(self, declaration: ast.Edge) -> model.EdgeType:
        name = declaration.name.text
        header = read_type_annotations("edge", name, declaration.annotations, self._problems)
        self._note_rename("edge", name, header.rename)
        for end in (declaration.source, declaration.target):
            if end.text not in self._nodes:
                self._problems.add(
                    Code.UNKNOWN_ENDPOINT,
                    f"edge {name} has an unresolved endpoint: unknown node type '{end.text}'",
                    end.span,
                    self._problems.suggest(end.text, self._nodes),
                )
        declared = compile_properties("edge", name, declaration.members, self._problems)
        constraints = compile_constraints(declaration, declared, self._problems)
        return model.EdgeType(
            id=0,
            name=name,
            table_id=0,
            source=declaration.source.text,
            target=declaration.target.text,
            cardinality=self._cardinality(name, declaration.card),
            properties=self._properties("edge", name, declared),
            key=constraints.key,
            uniques=tuple(sorted(constraints.uniques)),
            indexes=tuple(sorted(constraints.indexes)),
            description=header.description,
            instruction=header.instruction,
            annotations=header.custom,
        )

    def _inject(self, declaration: ast.Node, declared: dict[str, DeclaredProperty]) -> None:
        """Add the properties of the interfaces that the node does not declare itself."""
        own = frozenset(declared)
        for interface in declaration.implements:
            offered = self._interface_properties.get(interface.text)
            if offered is None:
                self._problems.add(
                    Code.UNKNOWN_INTERFACE,
                    f"node {declaration.name.text} implements unknown interface '{interface.text}'",
                    interface.span,
                    self._problems.suggest(interface.text, self._interfaces),
                )
                continue
            self._count_injected(len(offered))
            for name, item in offered.items():
                if name in own:
                    self._check_same_type(declaration, interface, declared[name], item)
                elif name not in declared:
                    declared[name] = _inherit_from(interface.text, item)
                elif not _is_same_property(declared[name], _inherit_from(interface.text, item)):
                    first = declared[name].property.from_interface
                    self._problems.add(
                        Code.INTERFACE_MISMATCH,
                        f"interfaces '{first}' and '{interface.text}' disagree on the type or the annotations"
                        f" of property '{name}' of node {declaration.name.text}",
                        interface.span,
                    )

    def _count_injected(self, count: int) -> None:
        self._injected += count
        if self._injected > MAX_INTERFACE_PROPERTIES:
            raise ResourceLimit(
                f"the interfaces give more than {MAX_INTERFACE_PROPERTIES:,} properties to node types",
                resource="interface properties",
                limit=MAX_INTERFACE_PROPERTIES,
                actual=self._injected,
            )

    def _check_same_type(
        self, declaration: ast.Node, interface: ast.Name, own: DeclaredProperty, offered: DeclaredProperty
    ) -> None:
        if own.property.type != offered.property.type:
            name = own.property.name
            self._problems.add(
                Code.INTERFACE_MISMATCH,
                f"property {declaration.name.text}.{name} has type {own.property.type}, but interface"
                f" {interface.text} declares type {offered.property.type}",
                own.span,
            )

    def _check_folding(self) -> None:
        seen: dict[str, str] = {}
        for name, declaration in self._edges.items():
            other = seen.setdefault(name.lower(), name)
            if other != name:
                self._problems.add(
                    Code.CASE_FOLDING,
                    f"edges '{other}' and '{name}' have the same name after case folding",
                    declaration.name.span,
                )

    def _cardinality(self, name: str, card: ast.Card | None) -> model.Cardinality:
        if card is None:
            return model.Cardinality()
        if card.high is not None and card.low > card.high:
            self._problems.add(
                Code.CARDINALITY, f"@card on edge {name}: min {card.low} exceeds max {card.high}", card.span
            )
        return model.Cardinality(card.low, card.high)

    def _properties(
        self, kind: TypeKind, owner: str, declared: dict[str, DeclaredProperty]
    ) -> tuple[model.Property, ...]:
        for name, item in declared.items():
            if item.rename:
                injected = item.property.from_interface is not None
                self._property_hints[kind, owner, name] = replace(item.rename, injected=injected)
        return tuple(declared[name].property for name in sorted(declared))

    def _note_rename(self, kind: TypeKind, name: str, hint: RenameHint | None) -> None:
        if hint:
            self._type_hints[kind, name] = hint


def _declarations_of(tree: ast.SchemaFile, kind: type[_Declared]) -> list[_Declared]:
    return [item for item in tree.declarations if isinstance(item, kind)]


def _by_name(declarations: Iterable[_Declared]) -> list[_Declared]:
    return sorted(declarations, key=lambda item: item.name.text)


def _inherit_from(interface: str, item: DeclaredProperty) -> DeclaredProperty:
    plain = tuple(note for note in item.property.annotations if note.name not in ("key", "unique", "index"))
    return replace(item, property=replace(item.property, annotations=plain, from_interface=interface))


def _is_same_property(one: DeclaredProperty, other: DeclaredProperty) -> bool:
    same = replace(other.property, from_interface=one.property.from_interface) == one.property
    return same and one.marks == other.marks
