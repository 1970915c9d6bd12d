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
from omnigraph.policy.cedar_text import CedarProblem, name_entity, read_policies
from omnigraph.policy.data.logic import KnownCondition, all_of, any_of
from omnigraph.policy.data.names import NamedPlaces, SchemaName, names_in_rows
from omnigraph.policy.data.residuals import ERROR, judge_policy
from omnigraph.policy.data.rules import DataRules, TypeRule

ACTOR, ACTION = "Actor", "Action"
ASKED_ACTIONS = ("change", "read")
"""What rules about data are asked for."""
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

    @property
    def names(self) -> tuple[SchemaName, ...]:
        """The same as names of a schema."""
        return tuple(SchemaName(*item) for item in self.properties)

    def of(self, table: TableType, places: NamedPlaces) -> frozenset[str]:
        """Return the hidden properties of a type, by whatever name it has them."""
        return frozenset[str]().union(*(places.hidden_in(table, name) for name in self.names))


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
    _kept: dict[Any, tuple[tuple[Catalog, NamedPlaces], DataRules | None]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        _ = self._effects

    def __reduce__(self) -> tuple[Any, ...]:
        return DataPolicy, (self.rows, self.hidden)

    def rules_for(self, who: WhoAsks, catalog: Catalog, places: NamedPlaces) -> DataRules | None:
        """Return what an actor may see or change; None when that is everything.

        `places` is what the names of this policy stand for in the graph.
        """
        key = (who.actor, who.action, who.branch, who.protected, id(catalog), id(places))
        known = self._kept.get(key)
        if known is None or known[0][0] is not catalog or known[0][1] is not places:
            found = self._find_rules(who, catalog, places)
            known = ((catalog, places), None if found.is_open else found)
            if len(self._kept) >= _KEPT_RULES:
                self._kept.clear()
            self._kept[key] = known
        return known[1]

    @cached_property
    def names(self) -> frozenset[SchemaName]:
        """What of the schema is named."""
        return self._row_names | {name for item in self.hidden for name in item.names}

    def check_keys(self, catalog: Catalog) -> None:
        """Refuse to hide what the ids of a schema's rows are made of."""
        for table in catalog.tables:
            for item in self.hidden:
                _refuse_key(table, item.of(table, NamedPlaces()), BadInput)

    def _find_rules(self, who: WhoAsks, catalog: Catalog, places: NamedPlaces) -> DataRules:
        types = {}
        judged = self._judge_rows(who, catalog)
        for table in catalog.tables:
            hidden: frozenset[str] = frozenset()
            for item in self.hidden:
                if item.hides_from(who.groups):
                    hidden |= item.of(table, places)
            _refuse_key(table, hidden, PolicyDenied)
            rows = judged[table.table_key]
            # Rules that call a thing by another name cannot be asked: they would not find it.
            if places.speaks_otherwise(table, catalog, self._row_names):
                rows = False
            types[table.table_key] = TypeRule(rows, hidden)
        return DataRules(types)

    def _judge_rows(self, who: WhoAsks, catalog: Catalog) -> dict[str, KnownCondition]:
        if not self._effects:
            return {table.table_key: True for table in catalog.tables}
        if not any(item["uid"] == {"type": ACTOR, "id": who.actor} for item in who.entities):
            # Cedar decides nothing about principals that it does not know.
            raise PolicyDenied(f"the policy does not know the actor {who.actor!r}", actor=who.actor)
        found = cedarpy.is_authorized_partial(
            {
                "principal": name_entity(ACTOR, who.actor),
                "action": name_entity(ACTION, who.action),
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
        return {name: str(policy["effect"]) for name, policy in self._told.items()}

    @cached_property
    def _told(self) -> dict[str, Any]:
        """The policies as JSON, by the names that Cedar gives them."""
        told = read_policies(self.rows)
        if isinstance(told, CedarProblem):
            raise BadInput(f"data.rows {told.message}")
        return told

    @cached_property
    def _row_names(self) -> frozenset[SchemaName]:
        return names_in_rows(self._told)

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
