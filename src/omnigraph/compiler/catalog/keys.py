"""Keys of types: what the ids of their rows are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.compiler.catalog.model import EDGE_ENDS, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.canonical import canonical_key

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
