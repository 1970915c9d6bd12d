"""What becomes of one entity that two sides have: a pure decision over three images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.compiler.types import PropertyType
from omnigraph.compiler.values.accept import Refused, accept
from omnigraph.graph.merge.conflicts import ConflictKind
from omnigraph.graph.merge.equality import same

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

    kind: ConflictKind
    properties: tuple[str, ...] = ()
    combined: Row = field(default_factory=dict)
    """What is settled all the same; an answer is about the properties that are not here."""


class RuleClash(Exception):
    """A rule of a property gives no value that can be stored."""


def classify(
    table: TableType, base: Row | None, ours: Row | None, theirs: Row | None, strategy: Strategy
) -> Settled | Disagreed:
    """Settle one entity from the images of three commits, all in the columns of `table` (E3, E4)."""
    if same(theirs, ours) or same(theirs, base):
        return Settled(ours)
    if same(ours, base):
        return Settled(theirs)
    if ours is None or theirs is None:
        if strategy in (Strategy.OURS, Strategy.THEIRS):
            return Settled(ours if strategy is Strategy.OURS else theirs)
        return Disagreed(ConflictKind.DELETE_VS_UPDATE)
    kind = ConflictKind.DIVERGENT_INSERT if base is None else ConflictKind.DIVERGENT_UPDATE
    return _both_changed(table, base, ours, theirs, strategy, kind)


def by_rules(table: TableType, base: Row | None, ours: Row | None, theirs: Row | None) -> Row:
    """Return the properties of an entity that their rules settle, whoever is right about the others."""
    if ours is None or theirs is None or same(ours, base) or same(theirs, base):
        return {}
    return _apply_rules(table, base, ours, theirs)[0]


def _both_changed(
    table: TableType, base: Row | None, ours: Row, theirs: Row, strategy: Strategy, kind: ConflictKind
) -> Settled | Disagreed:
    """Settle properties with a rule by their rules, and the rest of the entity by the strategy."""
    row, clashes = _apply_rules(table, base, ours, theirs)
    rest = [name for name in ours if name not in row and name not in clashes]
    row |= _rest(base, ours, theirs, rest, strategy)
    clashes += [name for name in rest if name not in row and not same(ours[name], theirs[name])]
    if clashes:
        return Disagreed(kind, tuple(sorted(clashes)), row)
    return Settled({name: row[name] for name in ours})


def _apply_rules(
    table: TableType, base: Row | None, ours: Row, theirs: Row
) -> tuple[dict[str, Any], list[str]]:
    """Return the properties that their rules settle, and the names of those that a rule leaves to people."""
    row: dict[str, Any] = {}
    clashes: list[str] = []
    for name in ours:
        declared = table.by_name.get(name)
        rule = declared.merge_rule if declared is not None else None
        if declared is None or rule is None:
            continue
        both = _both_changed_value(base, ours, theirs, name)
        if rule == "manual":
            clashes += [name] if both else []
        elif both:
            try:
                row[name] = value_by_rule(
                    declared, rule, base[name] if base else None, ours[name], theirs[name]
                )
            except RuleClash:
                clashes.append(name)
        else:
            row[name] = _one_changed_value(base, ours, theirs, name)
    return row, clashes


def _rest(
    base: Row | None, ours: Row, theirs: Row, names: Sequence[str], strategy: Strategy
) -> dict[str, Any]:
    """Return the values of properties that no rule settles, as far as the strategy settles them."""
    mine, yours = {name: ours[name] for name in names}, {name: theirs[name] for name in names}
    before = {name: base[name] for name in names} if base is not None else None
    if strategy is Strategy.OURS or same(yours, mine) or same(yours, before):
        return mine
    if strategy is Strategy.THEIRS or same(mine, before):
        return yours
    if strategy is Strategy.ENTITY:
        return {}
    return {
        name: _one_changed_value(base, ours, theirs, name)
        for name in names
        if not _both_changed_value(base, ours, theirs, name)
    }


def _both_changed_value(base: Row | None, ours: Row, theirs: Row, name: str) -> bool:
    if same(ours[name], theirs[name]):
        return False
    return base is None or not (same(ours[name], base[name]) or same(theirs[name], base[name]))


def _one_changed_value(base: Row | None, ours: Row, theirs: Row, name: str) -> Any:
    return theirs[name] if base is not None and same(ours[name], base[name]) else ours[name]


def value_by_rule(item: Property, rule: str, base: Any, ours: Any, theirs: Any) -> Any:
    """Return what the rule of a property makes of two changes; a value that is missing counts for nothing."""
    if rule in ("ours", "theirs"):
        return ours if rule == "ours" else theirs
    if rule == "sum":
        return _sum(item.type, base or 0, ours or 0, theirs or 0)
    present = [value for value in (ours, theirs) if value is not None]
    combine: Callable[[Any, Any], Any] = max if rule == "max" else _union
    return combine(*present) if len(present) == 2 else present[0]


def _sum(type_: PropertyType, base: Any, ours: Any, theirs: Any) -> Any:
    try:
        return accept(ours + theirs - base, type_)
    except Refused:
        raise RuleClash from None


def _union(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*ours, *theirs)))
