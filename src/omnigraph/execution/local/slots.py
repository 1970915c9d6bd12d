"""Which variables a part of a query mentions."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from omnigraph.compiler.ir.pattern import LeftJoin, Scan, Traverse
from omnigraph.compiler.ir.values import EdgeEnd, EntityId, PathLength, PropertyValue


@lru_cache(maxsize=4096)
def slots_of(node: Any) -> frozenset[int]:
    """Return the slots of all variables below a node of a query."""
    match node:
        case PropertyValue() | EntityId() | EdgeEnd() | PathLength() | Scan():
            return frozenset({node.variable})
        case Traverse():
            mentioned = (node.source, node.target, node.edge, node.length)
            return frozenset(slot for slot in mentioned if slot is not None)
        case LeftJoin():
            return slots_of(node.block) | frozenset(node.introduces)
        case tuple():
            return frozenset().union(*(slots_of(item) for item in node))
    if is_dataclass(node):
        return frozenset().union(*(slots_of(getattr(node, item.name)) for item in fields(node)))
    return frozenset()
