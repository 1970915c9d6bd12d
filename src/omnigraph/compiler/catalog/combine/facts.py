"""A catalog as facts by identity: no fact names anything that a rename would change, but the name itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from omnigraph.compiler.catalog.migration.match import TYPE_KINDS, AnyType, types_of
from omnigraph.compiler.catalog.model import (
    EDGE_ENDS,
    Catalog,
    Check,
    EdgeType,
    Embed,
    InterfaceType,
    NodeType,
    Property,
    Range,
    TypeKind,
)
from omnigraph.compiler.types import PropertyType

Said: TypeAlias = dict[str, Any]
"""What is said of a type or a property, by what it is about."""
Ref: TypeAlias = int | str
"""A property by its id, or an end of an edge by its name."""
RuleFact: TypeAlias = tuple[Any, ...]
"""A kind of constraint, the properties it is about, and what it asks of them."""
TypeId: TypeAlias = tuple[TypeKind, int]


@dataclass
class TypeFacts:
    """All that a catalog says of one type."""

    members: Said
    properties: dict[int, Said]
    """By id. One that an interface gives says only which (`given`); the rest follows from the interface."""
    rules: set[RuleFact] = field(default_factory=set)


Facts: TypeAlias = dict[TypeId, TypeFacts]


def read_facts(catalog: Catalog) -> Facts:
    """Return the facts of a catalog."""
    reader = _FactReader(catalog)
    return {(kind, item.id): reader.read(item) for kind in TYPE_KINDS for item in types_of(catalog, kind)}


def same_value(one: Any, two: Any) -> bool:
    """Return whether two facts are the same; `1`, `1.0` and `true` are not."""
    return bool(one == two) and (one is two or isinstance(one, frozenset) or repr(one) == repr(two))


def same_type(one: TypeFacts, two: TypeFacts) -> bool:
    """Return whether two catalogs say the same of a type."""
    return (
        one.rules == two.rules
        and same_members(one.members, two.members)
        and one.properties.keys() == two.properties.keys()
        and all(same_members(item, two.properties[id_]) for id_, item in one.properties.items())
    )


def same_members(one: Said, two: Said) -> bool:
    """Return whether two catalogs say the same of a property."""
    return one.keys() == two.keys() and all(same_value(value, two[name]) for name, value in one.items())


def refs_of(rule: RuleFact) -> frozenset[Ref]:
    """Return the properties and ends that a constraint is about."""
    found: frozenset[Ref] = rule[1]
    return found


def type_of(members: Said) -> PropertyType:
    """Return the type that a property's members make."""
    kind: PropertyType = members["type"]
    values = members["enum"]
    enum = kind.enum if values is None else tuple(sorted(values))
    return replace(kind, nullable=members["nullable"], enum=enum)


class _FactReader:
    def __init__(self, catalog: Catalog) -> None:
        self._nodes = {item.name: item.id for item in catalog.nodes}
        self._interfaces = {item.name: item for item in catalog.interfaces}

    def read(self, item: AnyType) -> TypeFacts:
        ids: dict[str, Ref] = {each.name: each.id for each in item.properties}
        properties = {each.id: self._property(each, ids) for each in item.properties}
        if isinstance(item, InterfaceType):
            return TypeFacts({"name": item.name, "annotations": item.annotations}, properties)
        if isinstance(item, EdgeType):
            ids |= {name: name for name in EDGE_ENDS}
        members: Said = {
            "name": item.name,
            "table": item.table_id,
            "key": None if item.key is None else tuple(ids[name] for name in item.key),
            "description": item.description,
            "instruction": item.instruction,
            "annotations": item.annotations,
        }
        rules: set[RuleFact] = {("unique", _refs(names, ids)) for names in item.uniques}
        # The index of a node's key follows from the key, so that it cannot be left out without it.
        implied = tuple(sorted(item.key)) if item.key and isinstance(item, NodeType) else None
        rules |= {("index", _refs(names, ids)) for names in item.indexes if names != implied}
        if isinstance(item, NodeType):
            members["implements"] = tuple(sorted(self._interfaces[name].id for name in item.implements))
            rules |= {("range", _refs([rule.property], ids), rule.low, rule.high) for rule in item.ranges}
            rules |= {("check", _refs([rule.property], ids), rule.pattern) for rule in item.checks}
        else:
            members["ends"] = (self._nodes[item.source], self._nodes[item.target])
            members["card"] = item.cardinality
        return TypeFacts(members, properties, rules)

    def _property(self, item: Property, ids: Mapping[str, Ref]) -> Said:
        if item.from_interface is not None:
            source = self._interfaces[item.from_interface]
            given = next(each.id for each in source.properties if each.name == item.name)
            return {"given": (source.id, given)}
        type_ = item.type
        return {
            "name": item.name,
            "type": replace(type_, nullable=False, enum=None if type_.enum is None else ()),
            "nullable": type_.nullable,
            "enum": None if type_.enum is None else frozenset(type_.enum),
            "default": item.default,
            "embed": None
            if item.embed is None
            else (ids.get(item.embed.source, item.embed.source), item.embed.model),
            "merge": item.merge_rule,
            "description": item.description,
            "annotations": item.annotations,
            "inline_unique": item.inline_unique,
        }


def _refs(names: Iterable[str], ids: Mapping[str, Ref]) -> frozenset[Ref]:
    return frozenset(ids[name] for name in names)


def write_catalog(facts: Facts, last_id: int) -> Catalog:
    """Return the catalog that facts make; what an interface gives anew is left to be compiled."""
    writer = _CatalogWriter(facts)
    interfaces = [writer.interface(id_) for kind, id_ in facts if kind == "interface"]
    nodes = [writer.node(id_) for kind, id_ in facts if kind == "node"]
    edges = [writer.edge(id_) for kind, id_ in facts if kind == "edge"]
    return Catalog(
        tuple(sorted(interfaces, key=lambda item: item.name)),
        tuple(sorted(nodes, key=lambda item: item.name)),
        tuple(sorted(edges, key=lambda item: item.name)),
        last_id,
    )


class _CatalogWriter:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def interface(self, id_: int) -> InterfaceType:
        found = self._facts["interface", id_]
        return InterfaceType(
            id_, found.members["name"], self._properties(found), found.members["annotations"]
        )

    def node(self, id_: int) -> NodeType:
        found = self._facts["node", id_]
        names, members = self._names(found), found.members
        return NodeType(
            id=id_,
            implements=tuple(
                sorted(self._facts["interface", each].members["name"] for each in members["implements"])
            ),
            ranges=tuple(
                Range(name, low, high)
                for name, low, high in sorted(
                    ((_only(rule, names), *rule[2:]) for rule in found.rules if rule[0] == "range"), key=repr
                )
            ),
            checks=tuple(
                Check(name, pattern)
                for name, pattern in sorted(
                    (_only(rule, names), rule[2]) for rule in found.rules if rule[0] == "check"
                )
            ),
            **self._table(found, names, key_has_index=True),
        )

    def edge(self, id_: int) -> EdgeType:
        found = self._facts["edge", id_]
        source, target = (self._facts["node", end].members["name"] for end in found.members["ends"])
        names = self._names(found) | {name: name for name in EDGE_ENDS}
        return EdgeType(
            id=id_,
            source=source,
            target=target,
            cardinality=found.members["card"],
            **self._table(found, names),
        )

    def _table(
        self, found: TypeFacts, names: Mapping[Ref, str], key_has_index: bool = False
    ) -> dict[str, Any]:
        members = found.members
        key = None if members["key"] is None else tuple(names[ref] for ref in members["key"])
        implied = {tuple(sorted(key))} if key and key_has_index else set()
        uniques = _columns("unique", found, names)
        return {
            "name": members["name"],
            "table_id": members["table"],
            "properties": tuple(
                replace(item, inline_unique=item.inline_unique and (item.name,) in uniques)
                for item in self._properties(found)
            ),
            "key": key,
            "uniques": uniques,
            "indexes": tuple(sorted({*_columns("index", found, names), *implied})),
            "description": members["description"],
            "instruction": members["instruction"],
            "annotations": members["annotations"],
        }

    def _properties(self, found: TypeFacts) -> tuple[Property, ...]:
        names = self._names(found)
        made = [self._property(id_, members, names) for id_, members in found.properties.items()]
        return tuple(sorted(made, key=lambda item: item.name))

    def _property(self, id_: int, members: Said, names: Mapping[Ref, str]) -> Property:
        source = None
        if "given" in members:
            interface, given = members["given"]
            owner = self._facts["interface", interface]
            source, members, names = (
                owner.members["name"],
                owner.properties[given],
                {**self._names(owner), **names},
            )
        embed = members["embed"]
        return Property(
            id=id_,
            name=members["name"],
            type=type_of(members),
            default=members["default"],
            embed=None if embed is None else Embed(names.get(embed[0], str(embed[0])), embed[1]),
            merge_rule=members["merge"],
            description=members["description"],
            annotations=members["annotations"],
            from_interface=source,
            inline_unique=members["inline_unique"],
        )

    def _names(self, found: TypeFacts) -> dict[Ref, str]:
        return {id_: name_of(self._facts, members) for id_, members in found.properties.items()}


def name_of(facts: Facts, members: Said) -> str:
    """Return the name of a property, also of one that an interface gives."""
    if "given" in members:
        interface, given = members["given"]
        members = facts["interface", interface].properties[given]
    name: str = members["name"]
    return name


def _columns(kind: str, found: TypeFacts, names: Mapping[Ref, str]) -> tuple[tuple[str, ...], ...]:
    rules = (rule for rule in found.rules if rule[0] == kind)
    return tuple(sorted(tuple(sorted(names[ref] for ref in refs_of(rule))) for rule in rules))


def _only(rule: RuleFact, names: Mapping[Ref, str]) -> str:
    (ref,) = refs_of(rule)
    return names[ref]
