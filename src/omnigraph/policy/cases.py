"""Tests of a policy: requests, and what must come of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError
from omnigraph.policy.actions import ACTIONS
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.gate import Decision, Gate
from omnigraph.policy.read_bundle import read_policy_text
from omnigraph.yaml_text import Document, read_yaml

_FIELDS = ("id", "actor", "action", "branch", "target_branch", "query", "expect")
_NEEDED = ("id", "actor", "action", "expect")


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """A request, and what is expected."""

    id: str
    actor: str
    action: str
    expect: str
    branch: str | None = None
    target_branch: str | None = None
    query: str | None = None

    @property
    def allowed(self) -> bool:
        """Whether it must be allowed."""
        return self.expect == "allow"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What came of a case."""

    case: PolicyCase
    decision: Decision

    @property
    def passed(self) -> bool:
        """Whether it was as expected."""
        return self.case.allowed == self.decision.allowed

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain JSON data."""
        return {
            "id": self.case.id,
            "passed": self.passed,
            "expected": self.case.expect,
            "decision": "allow" if self.decision.allowed else "deny",
            "rule": self.decision.rule,
            "reason": self.decision.reason,
        }


def run_cases(bundle: Bundle, cases: Sequence[PolicyCase]) -> list[CaseOutcome]:
    """Return what a policy says to every case."""
    gate = Gate(bundle)
    return [
        CaseOutcome(
            case,
            gate.decide(
                case.actor,
                case.action,
                branch=case.branch,
                target_branch=case.target_branch,
                query=case.query,
            ),
        )
        for case in cases
    ]


def read_cases(path: Path) -> list[PolicyCase]:
    """Return the cases of a file, or raise `ParseError` with all that is wrong."""
    document = read_yaml(read_policy_text(path), str(path))
    problems: list[Diagnostic] = []
    cases = list(_read(document, problems))
    if problems:
        raise ParseError(problems, str(path))
    return cases


def _read(document: Document, problems: list[Diagnostic]) -> list[PolicyCase]:
    top = document.value
    if not isinstance(top, Mapping) or top.get("version") != 1 or not isinstance(top.get("cases"), list):
        problems.append(document.problem("bad_cases", "a file of cases has `version: 1` and a list `cases`"))
        return []
    problems += [
        document.problem("unknown_field", f"{name!r} is not a member of a file of cases", (name,))
        for name in top
        if name not in ("version", "cases")
    ]
    found: dict[str, PolicyCase] = {}
    for at, told in enumerate(top["cases"]):
        said = _find_problem(told, found)
        if said is not None:
            problems.append(document.problem("bad_case", said, ("cases", at)))
        else:
            found[told["id"]] = PolicyCase(**told)
    return list(found.values())


def _find_problem(told: Any, known: Mapping[str, PolicyCase]) -> str | None:
    if not isinstance(told, Mapping) or not all(isinstance(value, str) for value in told.values()):
        return "a case is a mapping of strings"
    if unknown := sorted(set(told) - set(_FIELDS)):
        return f"a case has no {', '.join(unknown)}: there are {', '.join(_FIELDS)}"
    if missing := [name for name in _NEEDED if not told.get(name, "").strip()]:
        return f"a case needs {', '.join(missing)}"
    if told["id"] in known:
        return f"two cases have the id {told['id']!r}"
    if told["action"] not in ACTIONS:
        return f"{told['action']!r} is not an action: use {', '.join(sorted(ACTIONS))}"
    if told["expect"] not in ("allow", "deny"):
        return f"expect is {told['expect']!r}: use allow or deny"
    return None
