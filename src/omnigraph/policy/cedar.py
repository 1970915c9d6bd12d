"""A bundle as Cedar policies, and Cedar's decision about a request. Nothing else asks Cedar about actions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cedarpy

from omnigraph.policy.actions import ON_BRANCH, ON_SERVER, ON_TARGET, BranchScope
from omnigraph.policy.bundle import ACTOR, GRAPH, GROUP, SERVER, Bundle, Permission
from omnigraph.policy.cedar_text import name_entity, quote

_RUN_BY_QUERIES = ("change", "read")
"""What a stored query does on behalf of those who may call it by its name."""


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """What somebody wants to do."""

    actor: str
    action: str
    branches: BranchScope | None = None
    """Whether the branch is protected; None when there is none, or it cannot be told."""
    targets: BranchScope | None = None
    query: str | None = None


class Policies:
    """A bundle that Cedar has read."""

    def __init__(self, bundle: Bundle, graph: str) -> None:
        named = list(_write_policies(bundle))
        self._rules = [rule for rule, _ in named]
        self._policies = cedarpy.PolicySet.from_str("\n".join(text for _, text in named))
        self._entities = cedarpy.Entities.from_json_str(json.dumps(bundle.entities))
        self._graph = graph

    def decide(self, request: AccessRequest) -> tuple[bool, str | None]:
        """Return whether a request is allowed, and the smallest id of the rules that allow it."""
        on_server = request.action in ON_SERVER
        context: dict[str, Any] = {}
        if request.branches is not None:
            context["branch"] = request.branches.value
        if request.targets is not None:
            context["target"] = request.targets.value
        if request.query is not None:
            context["query"] = request.query
        found = cedarpy.is_authorized(
            {
                "principal": {"type": ACTOR, "id": request.actor},
                "action": {"type": "Action", "id": request.action},
                "resource": {"type": SERVER, "id": "root"}
                if on_server
                else {"type": GRAPH, "id": self._graph},
                "context": context,
            },
            self._policies,
            self._entities,
        )
        if not found.allowed or found.diagnostics.errors:
            return False, None
        places = [int(name.removeprefix("policy")) for name in found.diagnostics.reasons]
        return True, min((self._rules[place] for place in places), default=None)


def _write_policies(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Yield ids of rules, and what they say in Cedar."""
    for action in sorted(bundle.open_actions):
        which = name_entity("Action", action)
        yield "", f"permit(principal is {ACTOR}, action == {which}, resource is {GRAPH});"
    for rule in bundle.rules:
        for actions, conditions in _split(rule):
            resource = SERVER if actions & ON_SERVER else GRAPH
            which = ", ".join(name_entity("Action", action) for action in sorted(actions))
            when = f" when {{ {' && '.join(conditions)} }}" if conditions else ""
            who = f"principal in {name_entity(GROUP, rule.group)}"
            yield rule.id, f"permit({who}, action in [{which}], resource is {resource}){when};"


def _split(rule: Permission) -> Iterator[tuple[frozenset[str], list[str]]]:
    """Yield parts of a rule that have the same conditions."""
    if rule.queries:
        named = f"[{', '.join(quote(name) for name in sorted(rule.queries))}].contains(context.query)"
        by_name = ["context has query", named]
        yield frozenset({"invoke_query"}), by_name
        yield frozenset(_RUN_BY_QUERIES), [*by_name, *_scope("branch", rule.branches)]
        return
    on_branch, on_target = rule.actions & ON_BRANCH, rule.actions & ON_TARGET
    if on_branch:
        yield on_branch, _scope("branch", rule.branches)
    if on_target:
        yield on_target, _scope("target", rule.targets)
    if rest := rule.actions - ON_BRANCH - ON_TARGET:
        yield rest, []


def _scope(what: str, scope: BranchScope) -> list[str]:
    if scope is BranchScope.ANY:
        return []
    return [f"context has {what}", f"context.{what} == {quote(scope.value)}"]
