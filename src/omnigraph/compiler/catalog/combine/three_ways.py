"""One type three ways: as it was, and as either side has it."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from omnigraph.compiler.catalog.combine.clashes import SIDES, Clash, Shows, Side
from omnigraph.compiler.catalog.combine.facts import (
    RuleFact,
    Said,
    TypeFacts,
    TypeId,
    refs_of,
    same_members,
    same_type,
    same_value,
)

Settle = Callable[[Clash], "Side | None"]


def combine_type(
    id_: TypeId,
    base: TypeFacts | None,
    ours: TypeFacts | None,
    theirs: TypeFacts | None,
    wrote: Set[Side],
    shows: Shows,
    settle: Settle,
) -> TypeFacts | None:
    """Return what becomes of a type; None when it will not exist. Unanswered clashes leave ours."""
    if ours is None and theirs is None:
        return None
    if ours is not None and theirs is not None:
        if base is not None:
            return _ThreeWayType(id_, base, ours, theirs, shows, settle).combine()
        if same_type(ours, theirs):
            return _copy(ours)
        message = f"both sides added {_call(id_, shows)}, differently"
        return _choose(settle(shows.type_clash(id_, "definition", message)), base, ours, theirs)
    kept, keeper = (theirs, "theirs") if ours is None else (ours, "ours")
    assert kept is not None
    if base is None:
        return _copy(kept)
    changed = not same_type(base, kept)
    if not changed and keeper not in wrote:
        return None
    how = "changed it" if changed else "changed its rows"
    message = f"one side dropped {_call(id_, shows)} and the other {how}"
    return _choose(settle(shows.type_clash(id_, "drop", message)), base, ours, theirs)


def _choose(
    side: Side | None, base: TypeFacts | None, ours: TypeFacts | None, theirs: TypeFacts | None
) -> TypeFacts | None:
    found = {"base": base, "ours": ours, "theirs": theirs, None: ours or theirs}[side]
    return None if found is None else _copy(found)


def _copy(found: TypeFacts) -> TypeFacts:
    properties = {id_: dict(members) for id_, members in found.properties.items()}
    return TypeFacts(dict(found.members), properties, set(found.rules))


def _call(id_: TypeId, shows: Shows) -> str:
    return f"{id_[0]} {shows.name_type(id_)}"


class _ThreeWayType:
    """A type that all three have, combined member by member."""

    def __init__(
        self,
        id_: TypeId,
        base: TypeFacts,
        ours: TypeFacts,
        theirs: TypeFacts,
        shows: Shows,
        settle: Settle,
    ) -> None:
        self._id, self._shows, self._settle = id_, shows, settle
        self._base, self._ours, self._theirs = base, ours, theirs

    def combine(self) -> TypeFacts:
        base, ours, theirs = self._base, self._ours, self._theirs
        members = self._combine(None, base.members, ours.members, theirs.members)
        properties: dict[int, Said] = {}
        for id_ in sorted({**base.properties, **ours.properties, **theirs.properties}):
            made = self._property(id_)
            if made is not None:
                properties[id_] = made
        rules = {
            rule
            for rule in base.rules | ours.rules | theirs.rules
            if _keeps(rule, base.rules, ours.rules, theirs.rules)
            and all(isinstance(ref, str) or ref in properties for ref in refs_of(rule))
        }
        return TypeFacts(members, properties, rules)

    def _property(self, id_: int) -> Said | None:
        base, ours, theirs = (found.properties.get(id_) for found in (self._base, self._ours, self._theirs))
        name = f"{_call(self._id, self._shows)}.{self._shows.name_property(self._id, id_)}"
        if ours is None and theirs is None:
            return None
        if ours is not None and theirs is not None:
            if base is not None and base.keys() == ours.keys() == theirs.keys():
                return self._combine(id_, base, ours, theirs)
            if same_members(ours, theirs):
                return dict(ours)
            how = "added" if base is None else "changed"
            return self._choose_side(id_, "definition", f"both sides {how} {name}, differently")
        kept = theirs if ours is None else ours
        keeper = self._theirs if ours is None else self._ours
        assert kept is not None
        if base is None:
            return dict(kept)
        if same_members(base, kept) and not _is_needed(id_, self._base, keeper):
            return None
        return self._choose_side(
            id_, "drop", f"one side dropped {name} and the other changed it or its rules"
        )

    def _choose_side(self, id_: int, what: str, message: str) -> Said | None:
        side = self._settle(self._shows.property_clash(self._id, id_, what, message))
        three: dict[Side, TypeFacts] = {"base": self._base, "ours": self._ours, "theirs": self._theirs}
        if side is not None:
            found = three[side].properties.get(id_)
        else:
            found = self._ours.properties.get(id_) or self._theirs.properties.get(id_)
        return None if found is None else dict(found)

    def _combine(self, id_: int | None, base: Said, ours: Said, theirs: Said) -> Said:
        found: Said = {}
        for name in ours:
            before, here, there = base[name], ours[name], theirs[name]
            if same_value(here, there) or same_value(there, before):
                found[name] = here
            elif same_value(here, before):
                found[name] = there
            elif name == "enum" and None not in (before, here, there):
                found[name] = (here & there) | (here - before) | (there - before)
            else:
                found[name] = self._member(id_, name, (before, here, there))
        return found

    def _member(self, id_: int | None, name: str, values: tuple[Any, Any, Any]) -> Any:
        call = _call(self._id, self._shows)
        if id_ is not None:
            call = f"{call}.{self._shows.name_property(self._id, id_)}"
        message = f"both sides changed the {name} of {call}, differently"
        side = self._settle(self._shows.member_clash(self._id, id_, name, message))
        return values[SIDES.index(side or "ours")]


def _keeps(rule: RuleFact, base: set[RuleFact], ours: set[RuleFact], theirs: set[RuleFact]) -> bool:
    if (rule in ours) == (rule in theirs):
        return rule in ours
    return rule not in base


def _is_needed(id_: int, base: TypeFacts, kept: TypeFacts) -> bool:
    """Return whether a side has made a rule, key or embedding of a property that did not have it."""
    rules = any(id_ in refs_of(rule) for rule in kept.rules - base.rules)
    key = id_ in (kept.members.get("key") or ()) and id_ not in (base.members.get("key") or ())
    embeds = any(
        (members.get("embed") or (None,))[0] == id_ and other not in base.properties
        for other, members in kept.properties.items()
    )
    return rules or key or embeds
