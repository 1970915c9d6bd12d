"""The `data:` section of a policy: Cedar policies about rows, and properties that are hidden from groups."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cedarpy

from omnigraph.base.errors import BadInput, PolicyDenied
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.policy.data.logic import KnownCondition, all_of, any_of
from omnigraph.policy.data.residuals import ERROR, judge_policy
from omnigraph.policy.data.rules import DataRules, TypeRule

ACTOR, ACTION = "Actor", "Action"
_ANY_TYPE = "*"
_FIELDS = {"rows", "hidden"}
_HIDDEN_FIELDS = {"properties", "from", "except"}
_FAILED = re.compile(r"policy `(policy\d+)`")
_KEPT_RULES = 1_000


@dataclass(frozen=True, slots=True)
class HiddenProperties:
    """Properties that the members of some groups do not see, or all but the members of others."""

    properties: tuple[tuple[str, str], ...]
    """Type and property; `*` stands for every type."""
    groups: frozenset[str] | None = None
    """Whom they are hidden from; None for everybody."""
    exempt: frozenset[str] = frozenset()

    def hides_from(self, groups: Collection[str]) -> bool:
        """Return whether they are hidden from a member of some groups."""
        concerned = self.groups is None or not self.groups.isdisjoint(groups)
        return concerned and self.exempt.isdisjoint(groups)

    def of(self, table: TableType) -> frozenset[str]:
        """Return the hidden properties of a type."""
        names = {name for type_, name in self.properties if type_ in (_ANY_TYPE, table.name)}
        return frozenset(names & {item.name for item in table.properties})


@dataclass(frozen=True)
class WhoAsks:
    """An actor and what it wants to do, as Cedar reads it."""

    actor: str
    action: str
    entities: Sequence[Mapping[str, Any]]
    """All actors and groups, with their attributes and parents."""
    groups: frozenset[str] = frozenset()
    """Those of the actor."""
    branch: str = ""
    protected: bool = False
    """Whether the branch is."""


@dataclass(frozen=True)
class DataPolicy:
    """The rules about data of a policy: rows are hidden unless permitted, properties when it is said."""

    rows: str = ""
    """Cedar policies; without any text every row may be seen."""
    hidden: tuple[HiddenProperties, ...] = ()
    _kept: dict[Any, tuple[Catalog, DataRules | None]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        _ = self._effects

    def __reduce__(self) -> tuple[Any, ...]:
        return DataPolicy, (self.rows, self.hidden)

    @staticmethod
    def read(section: Any, groups: Collection[str]) -> DataPolicy:
        """Return the rules that a section says; BadInput when it is wrong."""
        said = _mapping(section, "data", _FIELDS)
        rows = said.get("rows", "")
        if not isinstance(rows, str):
            raise BadInput("data.rows is Cedar policies as one text")
        listed = said.get("hidden", [])
        if not isinstance(listed, list):
            raise BadInput("data.hidden is a list")
        hidden = tuple(_read_hidden(item, f"data.hidden[{at}]", groups) for at, item in enumerate(listed))
        return DataPolicy(rows, hidden)

    def rules_for(self, who: WhoAsks, catalog: Catalog) -> DataRules | None:
        """Return what an actor may see or change; None when that is everything."""
        key = (who.actor, who.action, who.branch, who.protected, id(catalog))
        known = self._kept.get(key)
        if known is None or known[0] is not catalog:
            found = self._find_rules(who, catalog)
            known = (catalog, None if found.is_open else found)
            if len(self._kept) >= _KEPT_RULES:
                self._kept.clear()
            self._kept[key] = known
        return known[1]

    def check_against(self, catalog: Catalog) -> None:
        """Refuse names of types and properties that a schema does not have, and hidden keys."""
        for item in self.hidden:
            for type_, name in item.properties:
                tables = [table for table in catalog.tables if type_ in (_ANY_TYPE, table.name)]
                if not any(name in table.by_name for table in tables):
                    raise BadInput(f"data.hidden names {type_}.{name}, which the schema does not have")
                for table in tables:
                    _refuse_key(table, item.of(table), BadInput)

    def _find_rules(self, who: WhoAsks, catalog: Catalog) -> DataRules:
        types = {}
        judged = self._judge_rows(who, catalog)
        for table in catalog.tables:
            hidden: frozenset[str] = frozenset()
            for item in self.hidden:
                if item.hides_from(who.groups):
                    hidden |= item.of(table)
            _refuse_key(table, hidden, PolicyDenied)
            types[table.table_key] = TypeRule(judged[table.table_key], hidden)
        return DataRules(types)

    def _judge_rows(self, who: WhoAsks, catalog: Catalog) -> dict[str, KnownCondition]:
        if not self._effects:
            return {table.table_key: True for table in catalog.tables}
        if not any(item["uid"] == {"type": ACTOR, "id": who.actor} for item in who.entities):
            # Cedar decides nothing about principals that it does not know.
            raise PolicyDenied(f"the policy does not know the actor {who.actor!r}", actor=who.actor)
        found = cedarpy.is_authorized_partial(
            {
                "principal": _name(ACTOR, who.actor),
                "action": _name(ACTION, who.action),
                "context": {"branch": who.branch, "protected": who.protected},
            },
            self._policies,
            # What is not among the entities would be unknown: also what the action is in.
            json.dumps(
                [*who.entities, {"uid": {"type": ACTION, "id": who.action}, "attrs": {}, "parents": []}]
            ),
        )
        failed = [_FAILED.search(error) for error in found.diagnostics.errors]
        if None in failed:
            raise PolicyDenied("the rules about data could not be evaluated: nothing is allowed")
        names = {match[1] for match in failed if match is not None}
        return {table.table_key: self._join(found.residuals, names, table) for table in catalog.tables}

    def _join(
        self, residuals: Mapping[str, Any], failed: Collection[str], table: TableType
    ) -> KnownCondition:
        """Return what must be true of a row: some permit applies, and every forbid is known not to."""
        permits: list[KnownCondition] = []
        forbids: list[KnownCondition] = []
        for name, effect in self._effects.items():
            left = residuals.get(name)
            known = left is not None and name not in failed and left.get("effect") == effect
            verdict = judge_policy(left, table) if known and left is not None else ERROR
            if effect == "permit":
                permits.append(verdict.yes)
            else:
                forbids.append(verdict.no)
        return all_of(any_of(*permits), *forbids)

    @cached_property
    def _effects(self) -> dict[str, str]:
        """Whether each policy permits or forbids, by the name that Cedar gives it."""
        if not self.rows.strip():
            return {}
        try:
            told = json.loads(cedarpy.policies_to_json_str(self.rows))
        except Exception as error:  # cedarpy raises what it likes
            raise BadInput(f"data.rows is not Cedar: {error}") from error
        if told.get("templates"):
            raise BadInput("data.rows has a template (?principal, ?resource): write policies without")
        return {name: str(policy["effect"]) for name, policy in told["staticPolicies"].items()}

    @cached_property
    def _policies(self) -> Any:
        return cedarpy.PolicySet.from_str(self.rows)


def _refuse_key(table: TableType, hidden: Collection[str], error: type[BadInput | PolicyDenied]) -> None:
    keys = sorted(set(table.key or ()) & set(hidden))
    if keys:
        raise error(
            f"the policy hides {table.name}.{keys[0]}, which ids are made of and would show: "
            "hide the rows instead, by data.rows"
        )


def _read_hidden(item: Any, place: str, groups: Collection[str]) -> HiddenProperties:
    said = _mapping(item, place, _HIDDEN_FIELDS)
    properties = []
    for name in _names(said.get("properties"), f"{place}.properties"):
        type_, dot, property_ = name.partition(".")
        if not (type_ and dot and property_):
            raise BadInput(
                f"{place}.properties has {name!r}: write Type.property, or *.property for every type"
            )
        properties.append((type_, property_))
    if not properties:
        raise BadInput(f"{place} names no properties")
    found = {key: frozenset(_names(said[key], f"{place}.{key}")) for key in ("from", "except") if key in said}
    for key, named in found.items():
        for group in sorted(named - set(groups)):
            raise BadInput(f"{place}.{key} names the group {group!r}, which the policy does not have")
    return HiddenProperties(tuple(properties), found.get("from"), found.get("except", frozenset()))


def _mapping(value: Any, place: str, known: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{place} is a mapping of {', '.join(sorted(known))}")
    for name in value:
        if name not in known:
            raise BadInput(f"{place} has {name!r}, which is not known: use {', '.join(sorted(known))}")
    return value


def _names(value: Any, place: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise BadInput(f"{place} is a list of names")
    return value


def _name(kind: str, id: str) -> str:
    letters = (
        letter
        if letter.isascii() and (letter.isalnum() or letter in " _-./:@")
        else f"\\u{{{ord(letter):x}}}"
        for letter in id
    )
    return f'{kind}::"{"".join(letters)}"'
