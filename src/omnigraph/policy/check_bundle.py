"""The rules for policy files: which members there may be, and what must agree with what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.policy.actions import ACTIONS, ON_BRANCH, ON_SERVER, ON_TARGET, BranchScope
from omnigraph.policy.bundle import Bundle, Permission
from omnigraph.policy.data.read_section import SectionReader
from omnigraph.yaml_text import Document, Path

_FIELDS = ("version", "groups", "actors", "protected_branches", "rules", "data")
_RULE_FIELDS = ("id", "allow")
_ALLOW_FIELDS = ("actors", "actions", "branch_scope", "target_branch_scope", "queries")


class BundleReader:
    """Reads a document; what is wrong is collected in `problems`."""

    def __init__(self, document: Document) -> None:
        self.problems: list[Diagnostic] = []
        self._document = document

    def read(self) -> Bundle:
        """Return the bundle; it is to be used only if there are no problems."""
        top = self._mapping(self._document.value, (), _FIELDS, "a policy")
        if "version" not in top:
            self._say("missing_field", "a policy begins with `version: 1`")
        elif top["version"] != 1 or isinstance(top["version"], bool):
            self._say("bad_version", f"version is {top['version']!r}: this release reads 1", "version")
        actors, more_groups = self._read_actors(top.get("actors", {}))
        groups = self._read_groups(top.get("groups", {}), more_groups)
        bundle = Bundle(
            groups=groups,
            actors=actors,
            protected=frozenset(self._names(top, "protected_branches", ())),
            rules=tuple(self._read_rules(top.get("rules", []), groups)),
            data=top.get("data"),
            file=self._document.file,
            places=dict(self._document.places),
        )
        if "data" in top:
            self._check_data(bundle)
        self._refuse_mixed(bundle)
        return bundle

    def _check_data(self, bundle: Bundle) -> None:
        if bundle.data is None:
            self._say("empty", "data is empty: leave it out", "data")
            return
        section = SectionReader(bundle.groups, bundle.members)
        section.read(bundle.data)
        for problem in section.problems:
            path = ("data", *problem.path)
            self.problems.append(self._document.problem(problem.code, problem.message, path, problem.line))

    def _read_groups(self, given: Any, more: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
        members: dict[str, set[str]] = {name: set(actors) for name, actors in more.items()}
        for name in self._mapping(given, ("groups",), None, "groups"):
            self._check_blank(name, "a group", ("groups", name))
            found = self._names(given, name, ("groups",))
            members.setdefault(name, set()).update(found)
            if not members[name]:
                self._say("empty", f"group {name!r} has no actors", "groups", name)
        return {name: frozenset(actors) for name, actors in members.items()}

    def _read_actors(
        self, given: Any
    ) -> tuple[Mapping[str, Mapping[str, Any]], Mapping[str, frozenset[str]]]:
        attributes: dict[str, Mapping[str, Any]] = {}
        groups: dict[str, set[str]] = {}
        for name, told in self._mapping(given, ("actors",), None, "actors").items():
            path: Path = ("actors", name)
            self._check_blank(name, "an actor", path)
            mine = {} if told is None else self._mapping(told, path, None, f"actor {name!r}")
            attributes[name] = {
                key: self._attribute(value, (*path, key)) for key, value in mine.items() if key != "groups"
            }
            if "groups" in mine:
                for group in self._names(mine, "groups", path):
                    groups.setdefault(group, set()).add(name)
        return attributes, {name: frozenset(actors) for name, actors in groups.items()}

    def _read_rules(self, given: Any, groups: Mapping[str, frozenset[str]]) -> Iterator[Permission]:
        if not isinstance(given, list):
            self._say("bad_type", f"rules is {_kind(given)}: give a list", "rules")
            return
        counts: Counter[str] = Counter()
        for at, told in enumerate(given):
            path: Path = ("rules", at)
            rule = self._mapping(told, path, _RULE_FIELDS, "a rule")
            id = rule.get("id")
            if not isinstance(id, str) or not id.strip():
                self._say("bad_id", "a rule has an id that is a string and not blank", *path, "id")
                id = f"#{at}"
            counts[id] += 1
            if counts[id] == 2:
                self._say("duplicate_id", f"two rules have the id {id!r}", *path, "id")
            if "allow" not in rule:
                self._say("missing_field", f"rule {id!r} has no `allow`: rules only allow", *path)
                continue
            found = self._read_allow(id, rule["allow"], (*path, "allow"), groups)
            if found is not None:
                yield found

    def _read_allow(
        self, id: str, given: Any, path: Path, groups: Mapping[str, frozenset[str]]
    ) -> Permission | None:
        allow = self._mapping(given, path, _ALLOW_FIELDS, f"`allow` of rule {id!r}")
        group = self._read_group(id, allow, path, groups)
        actions = self._read_actions(id, allow, path)
        branches = self._read_scope(id, allow, "branch_scope", path)
        targets = self._read_scope(id, allow, "target_branch_scope", path)
        if "branch_scope" in allow and "target_branch_scope" in allow:
            said = f"rule {id!r} has a branch_scope and a target_branch_scope: write two rules"
            self._say("both_scopes", said, *path, "target_branch_scope")
        queries = frozenset(self._names(allow, "queries", path))
        if "queries" in allow:
            self._check_queries(id, actions, queries, path)
        else:
            self._check_scope(id, "branch_scope", allow, actions - ON_BRANCH, ON_BRANCH, path)
        self._check_scope(id, "target_branch_scope", allow, actions - ON_TARGET, ON_TARGET, path)
        if actions & ON_SERVER and actions - ON_SERVER:
            self._say("mixed_actions", f"rule {id!r} is about a server and about graphs", *path, "actions")
        if group is None or not actions:
            return None
        return Permission(id, group, actions, branches, targets, queries)

    def _read_group(
        self, id: str, allow: Mapping[str, Any], path: Path, groups: Mapping[str, frozenset[str]]
    ) -> str | None:
        if "actors" not in allow:
            self._say("missing_field", f"rule {id!r} does not say whom: actors: {{group: NAME}}", *path)
            return None
        told = self._mapping(allow["actors"], (*path, "actors"), ("group",), f"`actors` of rule {id!r}")
        group = told.get("group")
        if not isinstance(group, str) or group not in groups:
            known = ", ".join(sorted(groups)) or "none is declared"
            said = f"rule {id!r} is about group {group!r}, which is not declared (there are: {known})"
            self._say("unknown_group", said, *path, "actors", "group")
            return None
        return group

    def _read_actions(self, id: str, allow: Mapping[str, Any], path: Path) -> frozenset[str]:
        actions = self._names(allow, "actions", path)
        if not actions and isinstance(allow.get("actions", []), list):
            self._say("empty", f"rule {id!r} allows no actions", *path, "actions")
        for at, action in enumerate(allow["actions"] if actions else ()):
            if action in actions and action not in ACTIONS:
                said = f"{action!r} is not an action: use {', '.join(sorted(ACTIONS))}"
                self._say("unknown_action", said, *path, "actions", at)
        return frozenset(actions) & ACTIONS

    def _read_scope(self, id: str, allow: Mapping[str, Any], name: str, path: Path) -> BranchScope:
        given = allow.get(name, "any")
        if given not in list(BranchScope):
            self._say("bad_scope", f"{name} is {given!r}: use any, protected or unprotected", *path, name)
            return BranchScope.ANY
        return BranchScope(given)

    def _check_scope(
        self,
        id: str,
        name: str,
        allow: Mapping[str, Any],
        others: frozenset[str],
        takes: frozenset[str],
        path: Path,
    ) -> None:
        if name in allow and others:
            said = (
                f"rule {id!r} has a {name}, which {', '.join(sorted(others))} cannot have: only "
                f"{', '.join(sorted(takes))} can"
            )
            self._say("wrong_scope", said, *path, name)

    def _check_queries(self, id: str, actions: frozenset[str], queries: frozenset[str], path: Path) -> None:
        if actions != {"invoke_query"}:
            said = f"rule {id!r} names stored queries: its only action can be invoke_query"
            self._say("wrong_queries", said, *path, "queries")
        elif not queries:
            self._say("empty", f"rule {id!r} names no stored queries: leave `queries` out for all", *path)

    def _refuse_mixed(self, bundle: Bundle) -> None:
        on_server = [rule.id for rule in bundle.rules if rule.actions & ON_SERVER]
        if on_server and (len(on_server) < len(bundle.rules) or bundle.data is not None):
            said = f"{on_server[0]!r} is about a server, and the rest about graphs: write two files"
            self._say("mixed_actions", said, "rules")

    def _names(self, within: Any, name: str, path: Path) -> list[str]:
        """Return a list of strings, each once and none blank."""
        given = within.get(name, []) if isinstance(within, Mapping) else []
        if not isinstance(given, list):
            self._say("bad_type", f"{name} is {_kind(given)}: give a list of names", *path, name)
            return []
        found: list[str] = []
        for at, item in enumerate(given):
            if not isinstance(item, str):
                said = f"{item!r} in {name} is {_kind(item)}, not a string: quote it"
                self._say("bad_type", said, *path, name, at)
            elif self._check_blank(item, f"a name in {name}", (*path, name, at)):
                if item in found:
                    self._say("duplicate", f"{item!r} stands in {name} twice", *path, name, at)
                found.append(item)
        return found

    def _mapping(self, given: Any, path: Path, known: tuple[str, ...] | None, what: str) -> Mapping[str, Any]:
        if not isinstance(given, Mapping):
            self._say("bad_type", f"{what} is {_kind(given)}: give a mapping", *path)
            return {}
        for name in given:
            if known is not None and name not in known:
                said = f"{name!r} is not a member of {what}: there are {', '.join(known)}"
                self._say("unknown_field", said, *path, name)
        return given

    def _attribute(self, given: Any, path: Path) -> Any:
        if isinstance(given, list):
            return [self._attribute(item, (*path, at)) for at, item in enumerate(given)]
        if not isinstance(given, str | bool | int):
            said = (
                f"{path[-1]!r} of an actor is {_kind(given)}: use strings, whole numbers, true, false, lists"
            )
            self._say("bad_type", said, *path)
        return given

    def _check_blank(self, name: str, what: str, path: Path) -> bool:
        if name.strip() and name == name.strip():
            return True
        self._say("blank", f"{name!r} is blank, or has space around it: it cannot be {what}", *path)
        return False

    def _say(self, code: str, message: str, *path: str | int) -> None:
        self.problems.append(self._document.problem(code, message, path))


def _kind(given: Any) -> str:
    if given is None:
        return "empty"
    names = {dict: "a mapping", list: "a list", str: "a string", bool: "true or false", int: "a number"}
    return names.get(type(given), type(given).__name__)
