"""Two schemas that grew out of one, combined: what only one of them changed is taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.combine.clashes import SIDES, Ask, Clash, Shows, Side, kinds_in_order
from omnigraph.compiler.catalog.combine.complete import complete
from omnigraph.compiler.catalog.combine.facts import (
    Facts,
    TypeId,
    read_facts,
    write_catalog,
)
from omnigraph.compiler.catalog.combine.three_ways import combine_type
from omnigraph.compiler.catalog.declare import declare
from omnigraph.compiler.catalog.identity import ids_of, is_common, retire_ids
from omnigraph.compiler.catalog.migration.plan import plan_migration
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.schema.printer import print_schema


@dataclass(frozen=True)
class Combination:
    """What two changes of a schema make together, or why they do not go together."""

    catalog: Catalog | None
    """None while there are clashes that nobody has answered."""
    source: str = ""
    """The text of the combined schema, in canonical form."""
    clashes: tuple[Clash, ...] = ()


_ENDED = object()
Verify = Callable[[Catalog], "tuple[str, str, str] | None"]
"""Returns the node type and property whose rules no value can satisfy, and why; None when all can be."""


def combine_schemas(
    base: Catalog,
    ours: Catalog,
    theirs: Catalog,
    ask: Ask = lambda _: None,
    wrote: Mapping[Side, Set[int]] | None = None,
    verify: Verify = lambda _: None,
) -> Combination:
    """Combine two catalogs by identity; `ask` answers clashes.

    `wrote` has, by side, the numbers of types whose rows it has changed: such a type is not dropped silently.
    """
    catalogs: dict[Side, Catalog] = {"base": base, "ours": ours, "theirs": theirs}
    return _Combining(catalogs, ask, wrote or {}, verify).combine()


class _Combining:
    """One combination in the making; every clash is asked about once."""

    def __init__(
        self, catalogs: Mapping[Side, Catalog], ask: Ask, wrote: Mapping[Side, Set[int]], verify: Verify
    ) -> None:
        self._catalogs, self._ask, self._wrote, self._verify = catalogs, ask, wrote, verify
        self._sides: dict[Side, Facts] = {side: read_facts(catalogs[side]) for side in SIDES}
        self._shows = Shows(catalogs, self._sides)
        self._answered: dict[str, Side] = {}
        self._left: dict[str, Clash] = {}

    def combine(self) -> Combination:
        """Combine type by type, then look at what they mean together."""
        if twice := list(self._numbers_given_twice()):
            return Combination(None, clashes=tuple(twice))
        facts: Facts = {}
        for id_ in kinds_in_order({**self._sides["base"], **self._sides["ours"], **self._sides["theirs"]}):
            base, ours, theirs = (self._sides[side].get(id_) for side in SIDES)
            touched = {side for side in SIDES if id_[1] in self._wrote.get(side, ())}
            made = combine_type(id_, base, ours, theirs, touched, self._shows, self.settle)
            if made is not None:
                facts[id_] = made
        # What clashes is told before what would follow from it, which depends on the answers.
        steps = complete(facts, self._sides, self._shows, self.settle)
        while not self._left:
            if next(steps, _ENDED) is _ENDED:
                return self._compile(facts)
        return Combination(None, clashes=tuple(self._left.values()))

    def settle(self, clash: Clash) -> Side | None:
        """Return the answer to a clash, or note that there is none; what was answered before is not again."""
        if clash.place in self._answered or clash.place in self._left:
            self._left.setdefault(clash.place, clash)
            return None
        answer = self._ask(clash)
        if answer is None:
            self._left[clash.place] = clash
        else:
            self._answered[clash.place] = answer
        return answer

    def _compile(self, facts: Facts) -> Combination:
        """Let the compiler judge the whole; it also gives properties of interfaces to new types."""
        while True:
            last = max(catalog.last_id for catalog in self._catalogs.values())
            made = write_catalog(facts, last)
            broken = _find_unfit_default(made)
            if broken is None:
                text = print_schema(declare(made))
                try:
                    made = plan_migration(made, text, on_branch=True).target
                    broken = self._verify(made)
                except OmniError as error:
                    return self._as_a_whole(error)
            if broken is None:
                return Combination(retire_ids(made, *self._catalogs.values()), text)
            clash, owner, id_ = self._find_broken_rule(made, broken)
            side = self.settle(clash)
            if side is None:
                return Combination(None, clashes=tuple(self._left.values()))
            _take_property(facts, self._sides, side, owner, id_)

    def _find_broken_rule(self, catalog: Catalog, broken: tuple[str, str, str]) -> tuple[Clash, TypeId, int]:
        name, property_name, message = broken
        node = catalog.node(name)
        assert node is not None
        owner: TypeId = ("node", node.id)
        id_ = node.by_name[property_name].id
        told = f"together the changes of both sides cannot be satisfied: {message}"
        return self._shows.property_clash(owner, id_, "rules", told), owner, id_

    def _as_a_whole(self, error: OmniError) -> Combination:
        """Return a whole side, when somebody wants that, where the changes of both make no schema."""
        clash = Clash("", "schema", f"together the changes of both sides make no schema: {error.message}")
        side = self.settle(clash)
        if side is None:
            return Combination(None, clashes=tuple(self._left.values()))
        catalog = retire_ids(self._catalogs[side], *self._catalogs.values())
        return Combination(catalog, print_schema(declare(catalog)))

    def _numbers_given_twice(self) -> Iterator[Clash]:
        """Yield what two branches of an older release have given one number to by counting."""
        last = self._catalogs["base"].last_id
        known = set(ids_of(self._catalogs["base"]))
        ours, theirs = (dict(_things(self._sides[side])) for side in ("ours", "theirs"))
        for id_ in sorted(ours.keys() & theirs.keys() - known):
            if ours[id_] != theirs[id_] and not is_common(id_, last):
                yield Clash(
                    "",
                    "",
                    f"ours added {ours[id_]} and theirs {theirs[id_]} under one number, as releases did that "
                    "counted: apply the schema of the base again on one side, merge the other into it, and "
                    "make its change again",
                )
                return


def _find_unfit_default(catalog: Catalog) -> tuple[str, str, str] | None:
    """Return the first property whose default lies outside a range: one side gave the one, one the other."""
    for node in catalog.nodes:
        for limits in node.ranges:
            default = node.by_name[limits.property].default
            value = default.value if default is not None else None
            if not isinstance(value, int | float) or isinstance(value, bool):
                continue
            low, high = limits.low, limits.high
            if (low is not None and value < low) or (high is not None and value > high):
                name = f"{node.name}.{limits.property}"
                return node.name, limits.property, f"@default({value}) on {name} is outside its @range"
    return None


def _things(facts: Facts) -> Iterator[tuple[int, str]]:
    for (kind, id_), found in facts.items():
        name = f"{kind} {found.members['name']}"
        yield id_, name
        if "table" in found.members:
            yield found.members["table"], f"the table of {name}"
        for each, members in found.properties.items():
            yield each, f"{name}.{members.get('name', members.get('given'))}"


def _take_property(facts: Facts, sides: Mapping[Side, Facts], side: Side, owner: TypeId, id_: int) -> None:
    """Make a property, and the rules that it is in, what they are on one side."""
    found, there = facts[owner], sides[side].get(owner)
    found.rules = {rule for rule in found.rules if id_ not in rule[1]}
    found.properties.pop(id_, None)
    if there is None or id_ not in there.properties:
        return
    found.properties[id_] = dict(there.properties[id_])
    found.rules |= {rule for rule in there.rules if id_ in rule[1] and rule[1] <= set(found.properties)}
