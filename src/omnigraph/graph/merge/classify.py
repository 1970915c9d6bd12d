"""What becomes of one entity that two sides have: a pure decision over three images."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from omnigraph.compiler.catalog.model import STORED_RANGES, Property, PropertyType, TableType
from omnigraph.compiler.values.canonical import round_f32
from omnigraph.graph.merge.conflicts import Kind

Row = Mapping[str, Any]
"""Plain values by column name, the id not among them."""


class Strategy(StrEnum):
    """What to do with an entity that both sides changed."""

    ENTITY = "entity"
    PROPERTY = "property"
    OURS = "ours"
    THEIRS = "theirs"


@dataclass(frozen=True, slots=True)
class Settled:
    """The entity as it will be; None when it will not exist."""

    row: Row | None


@dataclass(frozen=True, slots=True)
class Disagreed:
    """Nobody can tell: the kind of conflict, and the properties that stand in the way."""

    kind: Kind
    properties: tuple[str, ...] = ()


class _Clash(Exception):
    """A rule of a property gives no value that can be stored."""


def classify(
    table: TableType, base: Row | None, ours: Row | None, theirs: Row | None, strategy: Strategy
) -> Settled | Disagreed:
    """Settle one entity from the images of three commits, all in the columns of `table` (E3, E4)."""
    if theirs in (ours, base):
        return Settled(ours)
    if ours == base:
        return Settled(theirs)
    if ours is None or theirs is None:
        if strategy in (Strategy.OURS, Strategy.THEIRS):
            return Settled(ours if strategy is Strategy.OURS else theirs)
        return Disagreed(Kind.DELETE_VS_UPDATE)
    kind = Kind.DIVERGENT_INSERT if base is None else Kind.DIVERGENT_UPDATE
    return _both_changed(table, base, ours, theirs, strategy, kind)


def _both_changed(
    table: TableType, base: Row | None, ours: Row, theirs: Row, strategy: Strategy, kind: Kind
) -> Settled | Disagreed:
    """Settle properties with a rule by their rules, and the rest of the entity by the strategy."""
    row: dict[str, Any] = {}
    clashes: list[str] = []
    rest: list[str] = []
    for name in ours:
        declared = table.by_name.get(name)
        rule = declared.merge_rule if declared is not None else None
        both = _both_changed_value(base, ours, theirs, name)
        if declared is None or rule is None or rule == "manual":
            rest.append(name)
            if rule == "manual" and both:
                clashes.append(name)
        elif both:
            try:
                row[name] = _by_rule(declared, rule, base[name] if base else None, ours[name], theirs[name])
            except _Clash:
                clashes.append(name)
        else:
            row[name] = _one_changed_value(base, ours, theirs, name)
    if clashes:
        return Disagreed(kind, tuple(sorted(clashes)))
    settled = _rest(base, ours, theirs, rest, strategy)
    if isinstance(settled, list):
        return Disagreed(kind, tuple(sorted(settled)))
    merged = {**row, **settled}
    return Settled({name: merged[name] for name in ours})


def _rest(
    base: Row | None, ours: Row, theirs: Row, names: Sequence[str], strategy: Strategy
) -> dict[str, Any] | list[str]:
    """Return the values of the properties without a rule, or the names of those that clash."""
    mine, yours = {name: ours[name] for name in names}, {name: theirs[name] for name in names}
    before = {name: base[name] for name in names} if base is not None else None
    if strategy is Strategy.OURS or yours in (mine, before):
        return mine
    if strategy is Strategy.THEIRS or mine == before:
        return yours
    if strategy is Strategy.ENTITY:
        return [name for name in names if ours[name] != theirs[name]]
    clashes = [name for name in names if _both_changed_value(base, ours, theirs, name)]
    return clashes or {name: _one_changed_value(base, ours, theirs, name) for name in names}


def _both_changed_value(base: Row | None, ours: Row, theirs: Row, name: str) -> bool:
    if ours[name] == theirs[name]:
        return False
    return base is None or (ours[name] != base[name] and theirs[name] != base[name])


def _one_changed_value(base: Row | None, ours: Row, theirs: Row, name: str) -> Any:
    return theirs[name] if base is not None and ours[name] == base[name] else ours[name]


def _by_rule(item: Property, rule: str, base: Any, ours: Any, theirs: Any) -> Any:
    """Return what the rule of a property makes of two changes; a value that is missing counts for nothing."""
    if rule in ("ours", "theirs"):
        return ours if rule == "ours" else theirs
    if rule == "sum":
        return _sum(item.type, base or 0, ours or 0, theirs or 0)
    present = [value for value in (ours, theirs) if value is not None]
    combine: Callable[[Any, Any], Any] = max if rule == "max" else _union
    return combine(*present) if len(present) == 2 else present[0]


def _sum(type_: PropertyType, base: Any, ours: Any, theirs: Any) -> Any:
    total = ours + theirs - base
    if type_.scalar.is_integer:
        low, high = STORED_RANGES[type_.scalar]
        if not low <= total <= high:
            raise _Clash
        return total
    if type_.scalar.value == "F32":
        total = round_f32(total)
    if not math.isfinite(total):
        raise _Clash
    return total


def _union(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*ours, *theirs)))
