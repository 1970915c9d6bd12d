"""The names of a schema that rules about data use, and what they stand for by ids, which outlive renames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.compiler.catalog.model import Catalog, EdgeType, TableType
from omnigraph.policy.data.attributes import ENDS, TYPE

ANY_TYPE = "*"
OF_POLICIES = frozenset({"Actor", "Group", "Action", TYPE})
"""Cedar's types of what is not a row."""
_ITSELF = 0

SchemaPlace = tuple[int, int]
"""The ids of a type and of one of its properties; 0 for the type itself."""


@dataclass(frozen=True, slots=True, order=True)
class SchemaName:
    """A type, an interface, or a property of a type; `*` stands for every type."""

    type: str
    property: str = ""

    def __str__(self) -> str:
        return f"{self.type}.{self.property}" if self.property else self.type


@dataclass(frozen=True)
class NamedPlaces:
    """What the names of a policy stand for."""

    places: Mapping[SchemaName, frozenset[SchemaPlace]] = field(default_factory=dict)

    def hidden_in(self, table: TableType, name: SchemaName) -> frozenset[str]:
        """Return the properties of a table that a name stands for, also under another name."""
        places = self.places.get(name, frozenset())
        fits = name.type in (ANY_TYPE, table.name)
        return frozenset(
            item.name
            for item in table.properties
            if (table.id, item.id) in places or (fits and item.name == name.property)
        )

    def speaks_otherwise(self, table: TableType, catalog: Catalog, names: Iterable[SchemaName]) -> bool:
        """Return whether something that rules may ask of a row has another name in this catalog."""
        called: dict[SchemaPlace, set[str]] = defaultdict(set)
        for name in names:
            for place in self.places.get(name, ()):
                called[place].add(name.property or name.type)
        return any(
            place in called and own not in called[place] for place, own in _names_around(table, catalog)
        )


def find_places(
    names: Iterable[SchemaName], newest: Catalog, older: Callable[[], Iterable[Catalog]]
) -> tuple[NamedPlaces, list[SchemaName]]:
    """Return what names stand for, and those that stand for nothing.

    What the newest catalog does not have is looked for in all others, which are read only then.
    """
    found = {name: frozenset(_places_of(name, newest)) for name in names}
    unknown = sorted(name for name, places in found.items() if not places)
    if unknown:
        for catalog in older():
            for name in unknown:
                found[name] |= frozenset(_places_of(name, catalog))
    return NamedPlaces(found), [name for name in unknown if not found[name]]


def names_in_rows(policies: Mapping[str, Any]) -> frozenset[SchemaName]:
    """Return the names that Cedar policies, as JSON, use of the schema."""
    parts = [part for policy in policies.values() for part in (policy["resource"], policy["conditions"])]
    return frozenset(_names_in(parts))


def entities_in(node: Any, kind: str) -> Iterator[str]:
    """Yield the ids of the entities of one of Cedar's types that a policy, as JSON, names."""
    for item in _walk(node):
        if item.get("type") == kind and isinstance(item.get("id"), str):
            yield item["id"]


def _names_in(node: Any) -> Iterator[SchemaName]:
    for item in _walk(node):
        type_ = item.get("entity_type")
        if isinstance(type_, str) and type_ not in OF_POLICIES:
            yield SchemaName(type_)
        if isinstance(item.get("id"), str) and isinstance(type_ := item.get("type"), str):
            if type_ == TYPE:
                yield SchemaName(item["id"])
            elif type_ not in OF_POLICIES:
                yield SchemaName(type_)
        attr = item.get("attr")
        if item.get("left") == {"Var": "resource"} and isinstance(attr, str) and attr not in ENDS:
            yield SchemaName(ANY_TYPE, attr)


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def _places_of(name: SchemaName, catalog: Catalog) -> Iterator[SchemaPlace]:
    if not name.property:
        for item in (*catalog.tables, *catalog.interfaces):
            if item.name == name.type:
                yield item.id, _ITSELF
        return
    for table in catalog.tables:
        if name.type in (ANY_TYPE, table.name) and name.property in table.by_name:
            yield table.id, table.by_name[name.property].id


def _names_around(table: TableType, catalog: Catalog) -> Iterator[tuple[SchemaPlace, str]]:
    """Yield what rules may ask of a row: its type and interfaces, its properties, the types of its ends."""
    yield (table.id, _ITSELF), table.name
    for declared in table.properties:
        yield (table.id, declared.id), declared.name
    if isinstance(table, EdgeType):
        for node in catalog.nodes:
            if node.name in (table.source, table.target):
                yield (node.id, _ITSELF), node.name
    else:
        for interface in catalog.interfaces:
            if interface.name in table.implements:
                yield (interface.id, _ITSELF), interface.name
