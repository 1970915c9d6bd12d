"""Which variables a part of a query uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from omnigraph.compiler.ir.pattern import Block, CountJoin, Filter, LeftJoin, Scan, Step, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import (
    Aggregate,
    AggregateFunction,
    Constant,
    EdgeEnd,
    EntityId,
    EntityKey,
    EntityType,
    PathLength,
    PathValue,
    PropertyValue,
    RankFusion,
    StageValue,
    Value,
)
from omnigraph.compiler.types import PropertyType


@lru_cache(maxsize=4096)
def slots_of(node: Any) -> frozenset[int]:
    """Return the slots of all variables below a node of a query; results are cached."""
    return slots_below(node)


def slots_below(node: Any) -> frozenset[int]:
    """Return the same without a cache, for queries with bound parameters, which may be large."""
    match node:
        case PropertyValue() | EntityId() | EntityType() | EntityKey() | EdgeEnd():
            return frozenset({node.variable})
        case PathLength() | PathValue() | Scan():
            return frozenset({node.variable})
        case StageValue(slot):
            return frozenset({slot})
        case Traverse():
            mentioned = (node.source, node.target, node.edge, node.length, node.path)
            return frozenset(slot for slot in mentioned if slot is not None)
        case Constant() | PropertyType() | Enum() | str() | int():
            return frozenset()  # they hold no variables, and a long condition has many of them
        case LeftJoin():
            return slots_below(node.block) | frozenset(node.introduces)
        case CountJoin():
            return slots_below(node.block) | {node.into}
        case tuple():
            return frozenset().union(*(slots_below(item) for item in node))
    if is_dataclass(node):
        return frozenset().union(*(slots_below(getattr(node, item.name)) for item in fields(node)))
    return frozenset()


_Part = TypeVar("_Part")
_WITHOUT_PARTS = (Constant, PropertyValue, EntityId)
"""These hold no other parts of a query, and a constant vector is long."""
_OF_ALL_READS = ("source", "variables")
"""What grows with the stages and the parts of a union."""


def parts_of(node: object, kind: type[_Part]) -> list[_Part]:
    """Return every part of a kind below a node of a query, also those nested in such a part."""
    found = [node] if isinstance(node, kind) else []
    if isinstance(node, _WITHOUT_PARTS):
        return found
    if isinstance(node, tuple):
        return [part for item in node for part in parts_of(item, kind)]
    names = getattr(type(node), "__dataclass_fields__", {})
    if type(node).__module__.startswith("omnigraph.compiler.ir"):
        found += [part for name in names for part in parts_of(getattr(node, name), kind)]
    return found


def own_parts_of(query: ReadQuery, kind: type[_Part]) -> list[_Part]:
    """Return every part of a kind of a read, without those of the reads whose rows it begins with."""
    own = [name for name in query.__dataclass_fields__ if name not in _OF_ALL_READS]
    return [part for name in own for part in parts_of(getattr(query, name), kind)]


def variables_before(query: ReadQuery) -> frozenset[int]:
    """Return the variables that the rows hold with which a read begins."""
    return frozenset() if query.source is None else frozenset(query.source.variables)


def patterns_of(query: ReadQuery) -> Iterator[Block]:
    """Yield the pattern of a read, and those of the reads whose rows it begins with."""
    yield query.match
    for before in query.source.reads if query.source is not None else ():
        yield from patterns_of(before)


def introduces(step: Step) -> frozenset[int]:
    """Return the variables that a step binds."""
    match step:
        case Scan(variable):
            return frozenset({variable})
        case Traverse():
            return slots_of(step)
        case LeftJoin(_, introduced):
            return frozenset(introduced)
        case CountJoin():
            return frozenset({step.into})
    return frozenset()


def variables_introduced_by(block: Block) -> frozenset[int]:
    """Return the variables that a block's steps bind."""
    return frozenset().union(*(introduces(step) for step in block.steps))


def without_fusions(block: Block) -> Block:
    """Return a block without the filters that use a rank fusion: the pattern that a fusion ranks."""
    return Block(
        tuple(step for step in block.steps if not (isinstance(step, Filter) and parts_of(step, RankFusion)))
    )


def variables_of_result(query: ReadQuery) -> frozenset[int]:
    """Return the variables that the result uses; counting rows uses none."""
    parts: list[Any] = [query.order, query.ties, query.ranking and query.ranking.score]
    for item in query.projections:
        value = item.value
        if not (isinstance(value, Aggregate) and counts_rows(value)):
            parts.append(value.argument if isinstance(value, Aggregate) else value)
    return frozenset().union(*(slots_of(part) for part in parts))


def counts_rows(node: Aggregate) -> bool:
    """Return whether an aggregate is the number of rows, as its argument is never NULL."""
    never_null = not node.argument.type.nullable and not _may_be_absent(node.argument)
    return node.function is AggregateFunction.COUNT and not node.distinct and never_null


def ignores_duplicates(node: Aggregate) -> bool:
    """Return whether repeated values do not change an aggregate."""
    return node.distinct or node.function in (AggregateFunction.MIN, AggregateFunction.MAX)


def _may_be_absent(value: Value) -> bool:
    return bool(getattr(value, "optional", False))
