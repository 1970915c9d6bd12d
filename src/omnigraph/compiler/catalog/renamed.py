"""An older catalog that can also be read by the names of a newer one, matched by ids."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from omnigraph.compiler.catalog.identity import is_common
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, Property

_Type = TypeVar("_Type", NodeType, EdgeType)


def differ_in_names(catalog: Catalog, newer: Catalog) -> bool:
    """Return whether one id has two names in the two catalogs."""
    return with_names_of(catalog, newer, newer.last_id) is not catalog


def with_names_of(catalog: Catalog, newer: Catalog, last_common: int) -> Catalog:
    """Return the catalog with the other names that a newer one has for the same things.

    Two branches may have counted alike, so counted ids above `last_common` are not compared. Without
    other names the catalog itself is returned.
    """
    nodes = tuple(
        _add_names(item, _find_same(item, newer.nodes, last_common), last_common) for item in catalog.nodes
    )
    edges = tuple(
        _add_names(item, _find_same(item, newer.edges, last_common), last_common) for item in catalog.edges
    )
    if nodes == catalog.nodes and edges == catalog.edges:
        return catalog
    return replace(catalog, nodes=nodes, edges=edges)


def _find_same(item: _Type, newer: tuple[_Type, ...], last_common: int) -> _Type | None:
    if not is_common(item.id, last_common):
        return None
    return next((other for other in newer if (other.id, other.table_id) == (item.id, item.table_id)), None)


def _add_names(item: _Type, newer: _Type | None, last_common: int) -> _Type:
    if newer is None:
        return item
    names = {other.id: other.name for other in newer.properties if is_common(other.id, last_common)}
    properties = tuple(_add_name(own, names.get(own.id, own.name)) for own in item.properties)
    return replace(item, properties=properties, other_names=_join_names(item, newer.name))


def _add_name(item: Property, name: str) -> Property:
    return replace(item, other_names=_join_names(item, name))


def _join_names(item: Property | NodeType | EdgeType, name: str) -> tuple[str, ...]:
    known = (item.name, *item.other_names)
    return item.other_names if name in known else (*item.other_names, name)
