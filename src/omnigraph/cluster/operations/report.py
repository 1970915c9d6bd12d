"""What an operation answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster.diagnostics import ClusterDiagnostic, ClusterFindings


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """Whether an operation went well, what it found, and its facts."""

    ok: bool
    diagnostics: tuple[ClusterDiagnostic, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of what was found."""
        return tuple(item.code for item in self.diagnostics)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON data."""
        return {
            "ok": self.ok,
            **self.facts,
            "diagnostics": [item.to_json() for item in self.diagnostics],
        }


def make_report(findings: ClusterFindings, **facts: Any) -> ClusterReport:
    """Return a report: it is well when nothing found is an error."""
    return ClusterReport(not findings.has_errors, tuple(findings), facts)
