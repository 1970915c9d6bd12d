"""Places where two changes of one schema stand in each other's way, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from omnigraph.compiler.catalog.combine.facts import Facts, Said, TypeFacts, TypeId, name_of, type_of
from omnigraph.compiler.catalog.declare import declare_property, declare_type
from omnigraph.compiler.catalog.migration.match import TYPE_KINDS, types_of
from omnigraph.compiler.catalog.model import Cardinality, Catalog, Default, TypeKind
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.printer import print_schema

Side: TypeAlias = Literal["base", "ours", "theirs"]
SIDES: tuple[Side, Side, Side] = ("base", "ours", "theirs")
Shown: TypeAlias = Mapping[str, Any]
"""What a side says of what clashes, as JSON data."""


@dataclass(frozen=True)
class Clash:
    """One place where two changes cannot both be made."""

    type_name: str
    place: str
    """What clashes, such as `node Person.age type`; no two clashes have the same."""
    message: str
    base: Shown | None = None
    """What each schema says there; None where it has nothing."""
    ours: Shown | None = None
    theirs: Shown | None = None
    about: tuple[str, ...] = ()
    """The members of the images that differ."""


Ask: TypeAlias = Callable[[Clash], "Side | None"]
"""Returns the side that somebody has chosen for a clash."""


class Shows:
    """Three catalogs as the images of clashes show them."""

    def __init__(self, catalogs: Mapping[Side, Catalog], facts: Mapping[Side, Facts]) -> None:
        self._catalogs, self._facts = catalogs, facts

    def name_type(self, id_: TypeId) -> str:
        """Return what a type is called: as before, or else as the side that has it calls it."""
        found = next(self._facts[side][id_] for side in SIDES if id_ in self._facts[side])
        name: str = found.members["name"]
        return name

    def name_property(self, owner: TypeId, id_: int) -> str:
        """Return what a property is called, likewise."""
        for side in SIDES:
            found = self._facts[side].get(owner)
            if found is not None and id_ in found.properties:
                return name_of(self._facts[side], found.properties[id_])
        raise KeyError(id_)

    def type_clash(self, id_: TypeId, what: str, message: str) -> Clash:
        """Return a clash about a whole type, with its declarations."""
        name = self.name_type(id_)
        images = {side: self.declaration(side, id_) for side in SIDES}
        return Clash(name, f"{id_[0]} {name} {what}", message, **images, about=("declaration",))

    def property_clash(self, owner: TypeId, id_: int, what: str, message: str) -> Clash:
        """Return a clash about a whole property, with its declarations and rules."""
        name = self.name_property(owner, id_)
        images = {side: self._property(side, owner, id_) for side in SIDES}
        return Clash(
            self.name_type(owner), self._place(owner, name, what), message, **images, about=_differ(images)
        )

    def member_clash(self, owner: TypeId, id_: int | None, member: str, message: str) -> Clash:
        """Return a clash about one thing that is said of a type or a property."""
        images: dict[Side, Shown | None] = {}
        for side in SIDES:
            members = self._members(side, owner, id_)
            images[side] = None if members is None else {member: self._value(side, owner, members, member)}
        name = "" if id_ is None else self.name_property(owner, id_)
        return Clash(
            self.name_type(owner), self._place(owner, name, member), message, **images, about=(member,)
        )

    def declaration(self, side: Side, id_: TypeId) -> Shown | None:
        """Return the declaration of a type as a side has it."""
        catalog = self._catalogs[side]
        found = next((item for item in types_of(catalog, id_[0]) if item.id == id_[1]), None)
        if found is None:
            return None
        declared = declare_type(found, {item.name: item for item in catalog.interfaces})
        return {"declaration": print_schema(ast.SchemaFile((declared,))).strip()}

    def _place(self, owner: TypeId, name: str, what: str) -> str:
        return f"{owner[0]} {self.name_type(owner)}{'.' if name else ''}{name} {what}"

    def _members(self, side: Side, owner: TypeId, id_: int | None) -> Said | None:
        found: TypeFacts | None = self._facts[side].get(owner)
        if found is None or id_ is None:
            return None if found is None else found.members
        return found.properties.get(id_)

    def _property(self, side: Side, owner: TypeId, id_: int) -> Shown | None:
        kind, number = owner
        found = next((item for item in types_of(self._catalogs[side], kind) if item.id == number), None)
        item = next((each for each in found.properties if each.id == id_), None) if found else None
        if item is None:
            return None
        block = ast.Interface(ast.Name("T"), (declare_property(item),))
        text = print_schema(ast.SchemaFile((block,)))
        shown: dict[str, Any] = {"declaration": text[text.index("{") + 1 : text.rindex("}")].strip()}
        rules = self._facts[side][owner].rules
        mine = sorted(
            _rule(self._facts[side][owner], rule, self._facts[side]) for rule in rules if id_ in rule[1]
        )
        return shown | ({"rules": mine} if mine else {})

    def _value(self, side: Side, owner: TypeId, members: Said, member: str) -> Any:
        value = members.get(member)
        if member == "type" and value is not None:
            return str(type_of(members))
        if member in ("implements", "ends"):
            kind: TypeKind = "interface" if member == "implements" else "node"
            return [self._facts[side][kind, each].members["name"] for each in value or ()]
        if member == "key" and value is not None:
            owned = self._facts[side][owner].properties
            return [ref if isinstance(ref, str) else name_of(self._facts[side], owned[ref]) for ref in value]
        if isinstance(value, Default):
            return list(value.value) if isinstance(value.value, tuple) else value.value
        if isinstance(value, Cardinality):
            return f"{value.low}..{'' if value.high is None else value.high}"
        if isinstance(value, frozenset):
            return sorted(value)
        return value if value is None or isinstance(value, str | int | float | bool) else _flat(value)


def _flat(value: Any) -> str:
    return repr(value)


def _differ(images: Mapping[Side, Shown | None]) -> tuple[str, ...]:
    names = sorted({name for image in images.values() if image for name in image})
    ours, theirs = images["ours"] or {}, images["theirs"] or {}
    return tuple(name for name in names if ours.get(name) != theirs.get(name)) or tuple(names)


def _rule(owner: TypeFacts, rule: tuple[Any, ...], facts: Facts) -> str:
    names = sorted(ref if isinstance(ref, str) else name_of(facts, owner.properties[ref]) for ref in rule[1])
    if rule[0] == "range":
        low, high = ("" if bound is None else bound for bound in rule[2:])
        return f"@range({names[0]}, {low}..{high})"
    more = f", {rule[2]!r}" if rule[0] == "check" else ""
    return f"@{rule[0]}({', '.join(names)}{more})"


def kinds_in_order(ids: Mapping[TypeId, Any]) -> list[TypeId]:
    """Return types in an order that does not depend on the sides: by kind, then number."""
    return sorted(ids, key=lambda item: (TYPE_KINDS.index(item[0]), item[1]))
