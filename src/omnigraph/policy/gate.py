"""The gate: what every read and write of a graph asks before it does anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.base.errors import BadInput, PolicyDenied
from omnigraph.base.lru import Lru
from omnigraph.policy.actions import ACTIONS, ON_BRANCH, ON_GRAPH, ON_SERVER, ON_TARGET, BranchScope
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar import AccessRequest, Policies
from omnigraph.policy.data.read_section import parse_section
from omnigraph.policy.data.section import WhoAsks
from omnigraph.policy.invocation import current_query

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.policy.data.names import NamedPlaces
    from omnigraph.policy.data.rules import DataRules

_KEPT_DECISIONS = 10_000


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and the rule that allows it."""

    allowed: bool
    rule: str | None
    """The smallest id of those that allow it; None when nothing does."""
    reason: str


class Gate:
    """Decides about one graph (or about a server) by a bundle. Safe to share between threads."""

    def __init__(self, bundle: Bundle, graph: str = "graph") -> None:
        self.bundle = bundle
        self.graph = graph
        self._policies = Policies(bundle, graph)
        self.data = None if bundle.data is None else parse_section(bundle.data, bundle.groups, bundle.members)
        """The rules about data; None where there are none."""
        self._decided: Lru[AccessRequest, tuple[bool, str | None]] = Lru(_KEPT_DECISIONS)

    def __reduce__(self) -> tuple[Any, ...]:
        return Gate, (self.bundle, self.graph)

    def __repr__(self) -> str:
        return f"Gate({self.bundle.file or self.bundle.digest[:12]!r}, graph={self.graph!r})"

    def check(
        self,
        actor: str | None,
        action: str,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> None:
        """Raise `PolicyDenied` unless an actor may do this."""
        found = self.decide(actor, action, branch=branch, target_branch=target_branch, query=query)
        if not found.allowed:
            raise PolicyDenied(
                found.reason, action=action, branch=branch, target_branch=target_branch, actor=actor
            )

    def allows(
        self,
        actor: str | None,
        action: str,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> bool:
        """Return whether an actor may do this."""
        return self.decide(actor, action, branch=branch, target_branch=target_branch, query=query).allowed

    def allows_anywhere(self, actor: str | None, action: str) -> bool:
        """Return whether an actor may do this on at least some branches."""
        return any(self._decide(actor, action, scope, scope)[0] for scope in _SCOPES)

    def allows_everywhere(self, actor: str | None, action: str) -> bool:
        """Return whether an actor may do this on every branch."""
        return all(self._decide(actor, action, scope, scope)[0] for scope in (*_SCOPES, None))

    def list_actions(self, actor: str | None) -> frozenset[str]:
        """Return what an actor may do on at least some branches.

        A stored query that is granted by its name is `invoke_query:NAME`; then `invoke_query` is there, too.
        """
        found = {action for action in ACTIONS - ON_SERVER if self.allows_anywhere(actor, action)}
        named = {query for rule in self.bundle.rules for query in rule.queries}
        granted = {
            f"invoke_query:{name}"
            for name in named
            if self.allows(actor, "invoke_query", query=name) and "invoke_query" not in found
        }
        return frozenset(found | granted | ({"invoke_query"} if granted else set()))

    def list_actions_on(self, actor: str | None, branch: str) -> frozenset[str]:
        """Return what an actor may do on a branch; an action on the whole graph is one on each."""
        on_graph = self.list_actions(actor) & ON_GRAPH
        return on_graph | {
            action
            for action in ON_BRANCH | ON_TARGET
            if self.allows(actor, action, branch=branch, target_branch=branch)
        }

    def decide(
        self,
        actor: str | None,
        action: str,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> Decision:
        """Return the decision about a request, with the rule or the reason."""
        if action not in ACTIONS:
            raise BadInput(f"{action!r} is not an action: use one of {', '.join(sorted(ACTIONS))}")
        branches, targets = self._scope_of(branch), self._scope_of(target_branch)
        allowed, rule = self._decide(actor, action, branches, targets, query)
        what = _describe(action, branch, target_branch, query)
        if allowed:
            by = f"rule {rule!r} allows it" if rule else "everybody may who has a name"
            return Decision(True, rule or None, f"{actor!r} may {what}: {by}")
        if actor is None:
            return Decision(False, None, f"nobody may {what} without a name: say who acts")
        if actor not in self.bundle.members and not self.bundle.open_actions:
            return Decision(False, None, f"{actor!r} may not {what}: the policy does not know this actor")
        return Decision(False, None, f"{actor!r} may not {what}: no rule allows it")

    def _scope_of(self, branch: str | None) -> BranchScope | None:
        return None if branch is None else self.bundle.scope_of(branch)

    @property
    def has_data_rules(self) -> bool:
        """Whether anything may be hidden of data from somebody."""
        return self.bundle.data is not None

    def rules_for(
        self, actor: str | None, action: str, branch: str, catalog: Catalog, places: NamedPlaces
    ) -> DataRules | None:
        """Return what an actor may see or change of the data of a branch; None when that is everything.

        `places` is what the names in the rules about data stand for.
        """
        if self.data is None:
            return None
        if actor is None or actor not in self.bundle.members:
            raise PolicyDenied(
                f"the policy does not know the actor {actor!r}", action=action, branch=branch, actor=actor
            )
        who = WhoAsks(
            actor,
            action,
            self.bundle.entities,
            self.bundle.members[actor],
            branch,
            self.bundle.scope_of(branch) is not BranchScope.UNPROTECTED,
        )
        return self.data.rules_for(who, catalog, places)

    def _decide(
        self,
        actor: str | None,
        action: str,
        branches: BranchScope | None,
        targets: BranchScope | None,
        query: str | None = None,
    ) -> tuple[bool, str | None]:
        # Cedar decides nothing about principals that it does not know.
        if not actor or (actor not in self.bundle.members and action not in self.bundle.open_actions):
            return False, None
        request = AccessRequest(
            actor,
            action,
            branches if action in ON_BRANCH else None,
            targets if action in ON_TARGET else None,
            query if query is not None else current_query(),
        )
        found = self._decided.get(request)
        return (
            found if found is not None else self._decided.setdefault(request, self._policies.decide(request))
        )


_SCOPES = (BranchScope.PROTECTED, BranchScope.UNPROTECTED)


def _describe(action: str, branch: str | None, target: str | None, query: str | None) -> str:
    parts = [action]
    if query is not None:
        parts.append(f"query {query!r}")
    if branch is not None:
        parts.append(f"on branch {branch!r}" if target is None else f"from branch {branch!r}")
    if target is not None:
        parts.append(f"to branch {target!r}")
    return " ".join(parts)
