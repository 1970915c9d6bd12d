"""What combined types mean together: ends and sources that are gone, names that are taken twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnigraph.compiler.catalog.combine.clashes import SIDES, Clash, Shows, Side, kinds_in_order
from omnigraph.compiler.catalog.combine.facts import Facts, TypeFacts, TypeId, name_of
from omnigraph.compiler.catalog.combine.three_ways import Settle


def complete(facts: Facts, sides: Mapping[Side, Facts], shows: Shows, settle: Settle) -> Iterator[None]:
    """Make combined facts whole, as somebody answers, step by step: what nobody answers ends it."""
    completion = _Completion(facts, sides, shows, settle)
    for step in (
        completion.bring_back_needed_types,
        completion.follow_interfaces,
        completion.bring_back_sources,
        completion.bring_back_key_members,
        completion.part_names,
    ):
        step()
        yield


class _Completion:
    def __init__(self, facts: Facts, sides: Mapping[Side, Facts], shows: Shows, settle: Settle) -> None:
        self._facts, self._sides, self._shows, self._settle = facts, sides, shows, settle

    def bring_back_needed_types(self) -> None:
        """See to types that one side dropped and that something of the other needs."""
        asked: set[TypeId] = set()
        while lacking := [(id_, each) for id_ in kinds_in_order(self._facts) for each in self._lacks(id_)]:
            id_, needed = lacking[0]
            if needed not in asked:
                asked.add(needed)
                self._ask_for(needed, id_)
            if needed not in self._facts:
                self._go_without(id_, needed)

    def _lacks(self, id_: TypeId) -> list[TypeId]:
        members = self._facts[id_].members
        needed: list[TypeId] = [("node", each) for each in dict.fromkeys(members.get("ends", ()))]
        needed += [("interface", each) for each in members.get("implements", ())]
        return [each for each in needed if each not in self._facts]

    def _ask_for(self, needed: TypeId, by: TypeId) -> None:
        name, user = (f"{each[0]} {self._shows.name_type(each)}" for each in (needed, by))
        message = f"one side dropped {name}, which {user} of the other needs"
        side = self._settle(self._shows.type_clash(needed, "drop", message))
        found = self._sides[side].get(needed) if side else None
        if side is None:
            found = next(self._sides[each][needed] for each in SIDES if needed in self._sides[each])
        if found is not None:
            properties = {each: dict(members) for each, members in found.properties.items()}
            self._facts[needed] = TypeFacts(dict(found.members), properties, set(found.rules))

    def _go_without(self, id_: TypeId, gone: TypeId) -> None:
        """Let go of what needs a type that is dropped: an edge type, or a part of a node type."""
        if gone[0] == "node":
            del self._facts[id_]
        else:
            members = self._facts[id_].members
            members["implements"] = tuple(each for each in members["implements"] if each != gone[1])

    def follow_interfaces(self) -> None:
        """Let go of properties that no interface of a node type gives any more, and of their rules."""
        for found in self._facts.values():
            implements = found.members.get("implements", ())
            for each, members in list(found.properties.items()):
                source = members.get("given")
                if source is None:
                    continue
                interface = self._facts.get(("interface", source[0]))
                given = interface is not None and source[1] in interface.properties
                if not given or source[0] not in implements:
                    self._remove_property(found, each)

    def bring_back_sources(self) -> None:
        """See to properties that one side dropped and that a vector of the other is made of."""
        for id_ in kinds_in_order(self._facts):
            found = self._facts[id_]
            for each, members in sorted(found.properties.items()):
                source = (members.get("embed") or (None,))[0]
                if not isinstance(source, int) or source in found.properties:
                    continue
                name = f"{id_[0]} {self._shows.name_type(id_)}.{self._shows.name_property(id_, source)}"
                vector = self._shows.name_property(id_, each)
                message = f"one side dropped {name}, which {vector} of the other is made of"
                side = self._settle(self._shows.property_clash(id_, source, "drop", message))
                there = self._sides[side].get(id_) if side else None
                if there is not None and source in there.properties:
                    found.properties[source] = dict(there.properties[source])
                else:
                    self._remove_property(found, each)

    def bring_back_key_members(self) -> None:
        """See to properties that one side dropped and that a key is made of: no key goes without a member."""
        for id_ in kinds_in_order(self._facts):
            found = self._facts[id_]
            for ref in found.members.get("key") or ():
                if not isinstance(ref, int) or ref in found.properties:
                    continue
                name = f"{id_[0]} {self._shows.name_type(id_)}.{self._shows.name_property(id_, ref)}"
                clash = self._shows.property_clash(id_, ref, "key", f"one side dropped {name} of a key")
                side = self._settle(clash)
                there = self._sides[side].get(id_) if side else None
                if there is not None and ref in there.properties:
                    found.properties[ref] = dict(there.properties[ref])
                elif side is not None:
                    self._settle(clash)

    def _remove_property(self, found: TypeFacts, id_: int) -> None:
        del found.properties[id_]
        found.rules = {rule for rule in found.rules if id_ not in rule[1]}

    def part_names(self) -> None:
        """See to names that two types, or two properties of a type, have got."""
        for kind in ("interface", "node", "edge"):
            taken: dict[str, list[TypeId]] = {}
            for id_ in kinds_in_order(self._facts):
                if id_[0] == kind:
                    taken.setdefault(_fold(id_, self._facts[id_].members["name"]), []).append(id_)
            for ids in taken.values():
                if len(ids) > 1:
                    self._part_types(ids)
        for id_ in kinds_in_order(self._facts):
            self._part_properties(id_)

    def _part_types(self, ids: list[TypeId]) -> None:
        kind, name = ids[0][0], self._facts[ids[0]].members["name"]
        message = f"together the sides have {len(ids)} {kind} types with the name {name}"
        images = {
            side: {
                self._shows.name_type(id_): f"{kind} {self._sides[side][id_].members['name']}"
                for id_ in ids
                if id_ in self._sides[side]
            }
            for side in SIDES
        }
        clash = Clash(name, f"{kind} {name} name", message, **images, about=_about(images))
        side = self._settle(clash)
        for id_ in ids if side is not None else ():
            there = self._sides[side].get(id_) if side else None
            if there is None:
                del self._facts[id_]
            else:
                self._facts[id_].members["name"] = there.members["name"]
        if side is not None and self._is_taken(ids):
            self._settle(clash)
        if side is not None:
            self.bring_back_needed_types()
            self.follow_interfaces()

    def _is_taken(self, ids: list[TypeId]) -> bool:
        names = [
            _fold(id_, found.members["name"]) for id_, found in self._facts.items() if id_[0] == ids[0][0]
        ]
        return len(names) != len(set(names))

    def _part_properties(self, id_: TypeId) -> None:
        found = self._facts[id_]
        taken: dict[str, list[int]] = {}
        for each, members in sorted(found.properties.items()):
            taken.setdefault(name_of(self._facts, members), []).append(each)
        for name, ids in taken.items():
            if len(ids) < 2:
                continue
            owner = f"{id_[0]} {self._shows.name_type(id_)}"
            message = f"together the sides have {len(ids)} properties of {owner} with the name {name}"
            images = {side: self._names(side, id_, ids) for side in SIDES}
            clash = Clash(
                self._shows.name_type(id_), f"{owner}.{name} name", message, **images, about=_about(images)
            )
            side = self._settle(clash)
            if side is None:
                continue
            for each in ids:
                there = self._sides[side].get(id_)
                if there is None or each not in there.properties:
                    self._remove_property(found, each)
                elif "name" in found.properties[each] and "name" in there.properties[each]:
                    found.properties[each]["name"] = there.properties[each]["name"]
            names = [name_of(self._facts, members) for members in found.properties.values()]
            if len(names) != len(set(names)):
                self._settle(clash)

    def _names(self, side: Side, owner: TypeId, ids: list[int]) -> dict[str, str]:
        found = self._sides[side].get(owner)
        return {
            self._shows.name_property(owner, each): name_of(self._sides[side], found.properties[each])
            for each in ids
            if found is not None and each in found.properties
        }


def _fold(id_: TypeId, name: str) -> str:
    return name.lower() if id_[0] == "edge" else name


def _about(images: Mapping[Side, Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({name for image in images.values() for name in image}))
