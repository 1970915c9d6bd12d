"""What a value reads of the rows that a query has bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from omnigraph.compiler.ir.values import (
    EdgeEnd,
    EntityId,
    EntityKey,
    EntityType,
    PathLength,
    PathValue,
    PropertyValue,
    StageValue,
    Value,
)

_READ = (PropertyValue, EntityId, EntityType, EntityKey, EdgeEnd, PathLength, PathValue, StageValue)
_PACKAGE = "omnigraph.compiler.ir."


def values_read(node: Any) -> Iterator[Value]:
    """Yield the values of variables that a value, or anything that is made of values, is computed from."""
    if isinstance(node, _READ):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from values_read(item)
    elif is_dataclass(node) and type(node).__module__.startswith(_PACKAGE):
        for part in fields(node):
            yield from values_read(getattr(node, part.name))
