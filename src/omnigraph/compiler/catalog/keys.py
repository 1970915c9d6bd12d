"""Keys of types: what the ids of their rows are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from omnigraph.compiler.catalog.model import EDGE_ENDS, Catalog, EdgeType, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.accept import Refused, accept
from omnigraph.compiler.values.canonical import canonical_key, canonical_text

_END_TYPE = PropertyType(Scalar.STRING)


def key_types(table: TableType) -> tuple[PropertyType, ...]:
    """Return the types of the members of a key, in its order; the ends of an edge are ids of nodes."""
    return tuple(
        _END_TYPE if name in EDGE_ENDS and table.kind == "edge" else table.by_name[name].type
        for name in table.key or ()
    )


def id_of_key(table: TableType, row: Mapping[str, Any]) -> str:
    """Return the id that the stored values of a row make, in a type with a key."""
    assert table.key is not None
    return canonical_key([row[name] for name in table.key], key_types(table))


EndTypes = Mapping[str, PropertyType]
"""By `from` and `to`, what the ends of an edge may be given as."""
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


def end_types(catalog: Catalog, table: TableType) -> EndTypes:
    """Return what names the ends of an edge beside their ids: the key of a node, if it is one property."""
    if not isinstance(table, EdgeType):
        return {}
    return {"from": _end_type(catalog, table.source), "to": _end_type(catalog, table.target)}


def _end_type(catalog: Catalog, name: str) -> PropertyType:
    node = catalog.node(name)
    if node is None or node.key is None or len(node.key) != 1:
        return _END_TYPE
    return PropertyType(key_types(node)[0].scalar)


def id_of_end(value: Any, type_: PropertyType) -> str:
    """Return the id of the node that an end names by its id or its key, or raise Refused.

    An id is a string. One of a date is an epoch number, so a date as a string cannot be taken for an id.
    """
    is_date = type_.scalar in (Scalar.DATE, Scalar.DATETIME)
    if isinstance(value, str) and not (is_date and not _INTEGER.fullmatch(value)):
        return str(accept(value, _END_TYPE))
    return canonical_text(accept(value, type_), type_)


def name_ends(value: Any, type_: PropertyType) -> Any:
    """Return the id of the node that a value names, or those of a list of them; of what names none a text."""
    if isinstance(value, tuple):
        return tuple(name_ends(item, type_) for item in value)
    try:
        return None if value is None else id_of_end(value, type_)
    except Refused:
        return str(value)
