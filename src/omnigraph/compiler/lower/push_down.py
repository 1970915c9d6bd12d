"""Filters on what a stage lists, moved into that stage: indexes can answer them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.pattern import Block, Filter
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.reading import values_read
from omnigraph.compiler.ir.values import (
    Aggregate,
    EdgeEnd,
    EntityId,
    EntityKey,
    EntityType,
    PropertyValue,
    RankFusion,
    StageValue,
    Value,
)
from omnigraph.compiler.types import PropertyType

_OF_ENTITIES = (PropertyValue, EntityId, EntityType, EntityKey, EdgeEnd)
_PACKAGE = "omnigraph.compiler.ir."


def push_filters(query: ReadQuery) -> ReadQuery:
    """Return an equal read whose filters stand as early as they can, stage by stage.

    A filter of the pattern goes into the reads before it if all that it looks at is plain there: a node, an
    edge, or a value that is not an aggregate. It stays behind a page, which it would cut differently, and
    behind a ranking, whose places it would change.
    """
    source = query.source
    if source is None:
        return query
    lists = [_list_values(read, query, source.variables) for read in source.reads]
    stays, below = [], list(source.reads)
    for step in query.match.steps:
        moved = None
        if isinstance(step, Filter):
            moved = [_express(step.condition, values) for values in lists]
        if moved is None or any(item is None for item in moved):
            stays.append(step)
            continue
        below = [
            replace(read, match=Block((*read.match.steps, Filter(condition))))
            for read, condition in zip(below, moved, strict=True)
            if condition is not None
        ]
    reads = tuple(push_filters(read) for read in below)
    return replace(query, match=Block(tuple(stays)), source=replace(source, reads=reads))


def _list_values(read: ReadQuery, query: ReadQuery, variables: tuple[int, ...]) -> dict[int, Value]:
    """Return, by variable, what a read lists that a filter inside it can look at."""
    own = replace(read, source=None, variables=())
    if read.skip is not None or read.limit is not None or read.ranking is not None or _has_fusion(own):
        return {}
    shown = {item.name: item for item in read.projections if not item.hidden}
    found: dict[int, Value] = {}
    for slot, column in zip(variables, read.columns, strict=True):
        item = shown[column.name]
        if item.on_groups or isinstance(item.value, Aggregate):
            continue
        wanted = query.variables[slot].value_type
        if wanted is None or _without_null(wanted) == _without_null(item.value.type):
            found[slot] = item.value
    return found


def _without_null(type_: PropertyType) -> PropertyType:
    return replace(type_, nullable=False, enum=None)


def _has_fusion(node: Any) -> bool:
    return any(True for _ in _fusions(node))


def _fusions(node: Any) -> Iterator[RankFusion]:
    if isinstance(node, RankFusion):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from _fusions(item)
    elif is_dataclass(node) and type(node).__module__.startswith(_PACKAGE):
        for part in fields(node):
            yield from _fusions(getattr(node, part.name))


def _express(condition: Condition, values: Mapping[int, Value]) -> Condition | None:
    """Return a condition with the values that a read lists, or None if it cannot go there."""
    slots = {getattr(value, "variable", -1) for value in values_read(condition)}
    if not slots or not slots <= values.keys() or _has_fusion(condition):
        return None
    found: Condition = _replace(condition, values)
    return found


def _replace(node: Any, values: Mapping[int, Value]) -> Any:
    if isinstance(node, tuple):
        return tuple(_replace(item, values) for item in node)
    if isinstance(node, StageValue):
        return values[node.variable]
    if isinstance(node, _OF_ENTITIES):
        kept = values[node.variable]
        assert isinstance(kept, EntityId | EntityKey), "a node or edge is listed by what identifies it"
        return replace(node, variable=kept.variable)
    if not is_dataclass(node) or isinstance(node, type) or not type(node).__module__.startswith(_PACKAGE):
        return node
    return replace(node, **{item.name: _replace(getattr(node, item.name), values) for item in fields(node)})
