"""Values and conditions over the columns of a group instead of the variables of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from omnigraph.compiler.ir import values as ir

_Part = TypeVar("_Part")
_SAME_FOR_EVERY_GROUP = (
    ir.Constant,
    ir.Parameter,
    ir.Now,
    ir.RoundedToF32,
    ir.IdOfEnd,
    ir.GroupValue,
    ir.ListMember,
)
_WITH_PARTS = ("omnigraph.compiler.ir.computed", "omnigraph.compiler.ir.conditions")


class NotOfGroup(Exception):
    """A value reads a variable, which differs within a group."""


def express_on_groups(node: _Part, columns: Mapping[Any, int]) -> _Part:
    """Return a value or condition that reads `columns`, or raise NotOfGroup where it reads anything else."""
    found: _Part = _express(node, columns)
    return found


def _express(node: Any, columns: Mapping[Any, int]) -> Any:
    if isinstance(node, tuple):
        return tuple(_express(item, columns) for item in node)
    if isinstance(node, _SAME_FOR_EVERY_GROUP):
        return node
    if not is_dataclass(node) or isinstance(node, type):
        return node
    if isinstance(node, (ir.Computed, *_READ)) and node in columns:
        return ir.GroupValue(columns[node], node.type)
    if type(node).__module__ not in _WITH_PARTS:
        if isinstance(node, _READ):
            raise NotOfGroup
        return node
    return replace(node, **{item.name: _express(getattr(node, item.name), columns) for item in fields(node)})


_READ = (
    ir.PropertyValue,
    ir.EntityId,
    ir.EntityType,
    ir.EntityKey,
    ir.EdgeEnd,
    ir.PathLength,
    ir.StageValue,
    ir.PathValue,
    ir.TextMatch,
    ir.TextScore,
    ir.VectorDistance,
    ir.RankFusion,
)
