"""Stable ids: given out once, by counting in a new graph, and by name where branches may do the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType, Property

_Type = TypeVar("_Type", InterfaceType, NodeType, EdgeType)
_Table = TypeVar("_Table", NodeType, EdgeType)

_NUMBERS_PER_BLOCK = 1 << 44
"""How many numbers names are spread over; numbers below are counted."""


def assign_ids(catalog: Catalog) -> Catalog:
    """Give an id to everything whose id is 0, counting on: types by kind and name, properties, tables."""
    return _assign(catalog, _Counter(catalog.last_id))


def assign_named_ids(catalog: Catalog) -> Catalog:
    """Give an id to everything whose id is 0, made of its name: two branches that add the same thing agree.

    Ids lie above `last_id`, which is raised by what goes away: a name that comes back gets another one.
    """
    return _assign(catalog, _Namer(catalog.last_id, set(ids_of(catalog))))


def ids_of(catalog: Catalog) -> Iterator[int]:
    """Yield every id in use: types, tables and properties."""
    types: list[InterfaceType | NodeType | EdgeType] = [*catalog.interfaces, *catalog.nodes, *catalog.edges]
    for item in types:
        yield item.id
        if not isinstance(item, InterfaceType):
            yield item.table_id
        for each in item.properties:
            yield each.id


def retire_ids(catalog: Catalog, *before: Catalog) -> Catalog:
    """Return the catalog with a `last_id` that keeps all that earlier ones gave out from coming back."""
    kept = set(ids_of(catalog))
    gone = {id_ for item in before for id_ in ids_of(item)} - kept
    return replace(catalog, last_id=max([catalog.last_id, *(item.last_id for item in before), *gone]))


def is_common(id_: int, last_common: int) -> bool:
    """Return whether an id means one thing on two branches that parted after `last_common` was given out.

    Branches count alike and give one number to two things; what is made of a name is that thing's everywhere.
    """
    return id_ <= last_common or id_ >= _NUMBERS_PER_BLOCK


class _Counter:
    """Gives out one number after the other."""

    def __init__(self, last: int) -> None:
        self.last = last

    def next(self, *_: object) -> int:
        self.last += 1
        return self.last


class _Namer:
    """Gives out numbers in the first block above what was given out and may be gone."""

    def __init__(self, last: int, used: set[int]) -> None:
        self.last, self._used = last, used
        self._first = (last // _NUMBERS_PER_BLOCK + 1) * _NUMBERS_PER_BLOCK

    def next(self, *words: object) -> int:
        digest = blake2b("\0".join(map(str, words)).encode(), digest_size=8).digest()
        place = int.from_bytes(digest, "big") % _NUMBERS_PER_BLOCK
        while self._first + place in self._used:
            place = (place + 1) % _NUMBERS_PER_BLOCK
        self._used.add(self._first + place)
        return self._first + place


def _assign(catalog: Catalog, numbers: _Counter | _Namer) -> Catalog:
    def with_id(item: _Type) -> _Type:
        kind = "interface" if isinstance(item, InterfaceType) else item.kind
        return item if item.id else replace(item, id=numbers.next(kind, item.name))

    interfaces = [with_id(item) for item in catalog.interfaces]
    nodes = [with_id(item) for item in catalog.nodes]
    edges = [with_id(item) for item in catalog.edges]
    owners: list[InterfaceType | NodeType | EdgeType] = [*interfaces, *nodes, *edges]
    properties: dict[int, tuple[Property, ...]] = {}
    for owner in sorted(owners, key=lambda item: item.id):
        properties[owner.id] = tuple(
            item if item.id else replace(item, id=numbers.next("property", owner.id, item.name))
            for item in owner.properties
        )
    tables: dict[int, int] = {}
    lifetimes: list[NodeType | EdgeType] = [*nodes, *edges]
    for table in sorted(lifetimes, key=lambda item: item.id):
        tables[table.id] = table.table_id or numbers.next("table", table.id)
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
        numbers.last,
    )


def _with_key_order(table: _Table) -> _Table:
    """Order a new key: ends first, then what was counted in that order, then the others by their names."""
    if table.key is None:
        return table
    places = {"src": -2, "dst": -1} | {
        item.name: min(item.id, _NUMBERS_PER_BLOCK) for item in table.properties
    }
    return replace(table, key=tuple(sorted(table.key, key=lambda name: (places[name], name))))
