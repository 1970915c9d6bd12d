"""A policy as it was declared: groups, actors and their attributes, protected branches, rules."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from omnigraph.policy.actions import ON_SERVER, BranchScope

ACTOR, GROUP, GRAPH, SERVER = "Actor", "Group", "Graph", "Server"
"""Cedar's types of what rules are about."""


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission: what a group may do, on which branches, by which stored queries."""

    id: str
    group: str
    actions: frozenset[str]
    branches: BranchScope = BranchScope.ANY
    targets: BranchScope = BranchScope.ANY
    queries: frozenset[str] = frozenset()
    """The stored queries that it is about; empty for all."""


@dataclass(frozen=True)
class Bundle:
    """What may be done in a graph, or on a server, and by whom. What no rule allows is denied."""

    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    actors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Attributes of actors, for rules about data."""
    protected: frozenset[str] = frozenset()
    rules: tuple[Permission, ...] = ()
    data: Any = None
    """The section about data as it was written; None when there is none."""
    open_actions: frozenset[str] = frozenset()
    """What everybody may do who has a name; no file can say this."""
    file: str = ""
    """Where it was read, for messages."""
    places: Mapping[tuple[str | int, ...], tuple[int, int]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Line and column of what stands at a path of the file, such as `("data", 0)`."""

    @property
    def is_for_server(self) -> bool:
        """Whether it is about a server, and not about a graph."""
        return any(rule.actions & ON_SERVER for rule in self.rules)

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The groups of every actor that the bundle knows."""
        known: dict[str, set[str]] = {actor: set() for actor in self.actors}
        for group, actors in self.groups.items():
            for actor in actors:
                known.setdefault(actor, set()).add(group)
        return {actor: frozenset(groups) for actor, groups in known.items()}

    @cached_property
    def entities(self) -> list[dict[str, Any]]:
        """The actors and groups as Cedar reads them."""
        groups = [{"uid": {"type": GROUP, "id": name}, "attrs": {}, "parents": []} for name in self.groups]
        return groups + [
            {
                "uid": {"type": ACTOR, "id": actor},
                "attrs": dict(self.actors.get(actor, {})),
                "parents": [{"type": GROUP, "id": group} for group in sorted(of)],
            }
            for actor, of in sorted(self.members.items())
        ]

    @cached_property
    def digest(self) -> str:
        """A hash of what the bundle says, whatever its layout and comments."""
        said = {
            "groups": {name: sorted(actors) for name, actors in self.groups.items()},
            "actors": self.actors,
            "protected": sorted(self.protected),
            "rules": [
                [rule.id, rule.group, sorted(rule.actions), rule.branches, rule.targets, sorted(rule.queries)]
                for rule in self.rules
            ],
            "data": self.data,
            "open": sorted(self.open_actions),
        }
        text = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def scope_of(self, branch: str) -> BranchScope | None:
        """Return whether a branch is protected; None for a name that only looks like a protected one.

        Rules about protected or unprotected branches do not hold for such a name.
        """
        name = branch.strip()
        if name in self.protected:
            return BranchScope.PROTECTED
        return None if _fold(name) in self._lookalikes else BranchScope.UNPROTECTED

    @cached_property
    def _lookalikes(self) -> frozenset[str]:
        return frozenset(map(_fold, self.protected))


READ_ONLY = Bundle(open_actions=frozenset({"read"}))
"""Of a server that has tokens and no policy: who is known may read."""


def _fold(name: str) -> str:
    visible = "".join(letter for letter in name if unicodedata.category(letter) not in ("Cf", "Mn", "Zs"))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
