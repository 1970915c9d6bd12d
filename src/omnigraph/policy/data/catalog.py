"""A catalog without the properties that an actor does not see: to it they were never declared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType, Property
from omnigraph.policy.data.rules import DataRules

_Table = TypeVar("_Table", NodeType, EdgeType)


def hide_properties(catalog: Catalog, rules: DataRules) -> Catalog:
    """Return a catalog without hidden properties, and without the rules of the schema that name one."""
    hidden = {table.table_key: rules.of(table.table_key).hidden for table in catalog.tables}
    if not any(hidden.values()):
        return catalog
    of_interface = {
        item.name: frozenset[str]().union(
            *(hidden[node.table_key] for node in catalog.nodes if item.name in node.implements)
        )
        for item in catalog.interfaces
    }
    return replace(
        catalog,
        interfaces=tuple(_cut_interface(item, of_interface[item.name]) for item in catalog.interfaces),
        nodes=tuple(_cut_node(node, hidden[node.table_key]) for node in catalog.nodes),
        edges=tuple(_cut(edge, hidden[edge.table_key]) for edge in catalog.edges),
    )


def _cut_interface(item: InterfaceType, hidden: Collection[str]) -> InterfaceType:
    return replace(item, properties=_cut_properties(item.properties, hidden)) if hidden else item


def _cut_node(node: NodeType, hidden: Collection[str]) -> NodeType:
    if not hidden:
        return node
    return replace(
        _cut(node, hidden),
        ranges=tuple(item for item in node.ranges if item.property not in hidden),
        checks=tuple(item for item in node.checks if item.property not in hidden),
    )


def _cut(table: _Table, hidden: Collection[str]) -> _Table:
    if not hidden:
        return table
    return replace(
        table,
        properties=_cut_properties(table.properties, hidden),
        uniques=tuple(names for names in table.uniques if not set(names) & set(hidden)),
        indexes=tuple(names for names in table.indexes if not set(names) & set(hidden)),
    )


def _cut_properties(properties: tuple[Property, ...], hidden: Collection[str]) -> tuple[Property, ...]:
    return tuple(
        replace(item, embed=None) if item.embed is not None and item.embed.source in hidden else item
        for item in properties
        if item.name not in hidden
    )
