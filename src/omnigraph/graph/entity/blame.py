"""Which commit gave each property of a node or edge the value that it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnigraph.graph.changes.model import Json
from omnigraph.graph.entity.history import EntityStep
from omnigraph.graph.entity.stored import StoredEntity
from omnigraph.graph.history import Commit

_ABSENT = object()


def blame(entity: StoredEntity, steps: Iterable[EntityStep]) -> dict[str, Commit]:
    """Return the commit of each property, by its name; a merge only where it made a value that no side had.

    `steps` is the history of the entity; it is read as far as it is needed.
    """
    wanted = {item.id: item.name for item in entity.version.type.properties}
    values = _values(entity)
    found: dict[str, Commit] = {}
    for step in steps:
        if step.newer is None or step.came_by_merge:
            continue
        after, before, merged = _values(step.newer), _values(step.older), _values(step.merged)
        for number, name in list(wanted.items()):
            value = after.get(number, _ABSENT)
            if value == values[number] and value not in (_get(before, number), _get(merged, number)):
                found[name] = Commit.of(step.record)
                del wanted[number]
        if not wanted:
            break
    return {item.name: found[item.name] for item in entity.version.type.properties if item.name in found}


def _values(entity: StoredEntity | None) -> dict[int, Any]:
    """Return the values of an entity by the numbers of its properties."""
    if entity is None:
        return {}
    properties: Json = entity.image["properties"]
    return {item.id: properties[item.name] for item in entity.version.type.properties}


def _get(values: dict[int, Any], number: int) -> Any:
    return values.get(number, _ABSENT)
