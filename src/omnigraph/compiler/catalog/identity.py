"""Stable ids: given out once, from one counter that only grows."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType, Property

_Type = TypeVar("_Type", InterfaceType, NodeType, EdgeType)
_Table = TypeVar("_Table", NodeType, EdgeType)


def assign_ids(catalog: Catalog) -> Catalog:
    """Give an id to everything whose id is 0: types by kind and name, then properties, then tables."""
    counter = _Counter(catalog.last_id)
    interfaces = [counter.for_type(item) for item in catalog.interfaces]
    nodes = [counter.for_type(item) for item in catalog.nodes]
    edges = [counter.for_type(item) for item in catalog.edges]
    owners: list[InterfaceType | NodeType | EdgeType] = [*interfaces, *nodes, *edges]
    properties: dict[int, tuple[Property, ...]] = {}
    for owner in sorted(owners, key=lambda item: item.id):
        properties[owner.id] = tuple(counter.for_property(item) for item in owner.properties)
    tables: dict[int, int] = {}
    lifetimes: list[NodeType | EdgeType] = [*nodes, *edges]
    for table in sorted(lifetimes, key=lambda item: item.id):
        tables[table.id] = table.table_id or counter.next()
    return Catalog(
        tuple(replace(item, properties=properties[item.id]) for item in interfaces),
        tuple(
            _with_key_order(replace(item, properties=properties[item.id], table_id=tables[item.id]))
            for item in nodes
        ),
        tuple(
            _with_key_order(replace(item, properties=properties[item.id], table_id=tables[item.id]))
            for item in edges
        ),
        counter.last,
    )


def _with_key_order(table: _Table) -> _Table:
    if table.key is None:
        return table
    places = {"src": -2, "dst": -1} | {item.name: item.id for item in table.properties}
    return replace(table, key=tuple(sorted(table.key, key=lambda name: places[name])))


class _Counter:
    def __init__(self, last: int) -> None:
        self.last = last

    def next(self) -> int:
        self.last += 1
        return self.last

    def for_type(self, item: _Type) -> _Type:
        return item if item.id else replace(item, id=self.next())

    def for_property(self, item: Property) -> Property:
        return item if item.id else replace(item, id=self.next())
