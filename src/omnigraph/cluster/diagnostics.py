"""What is wrong with a cluster, or worth knowing: one shape for every command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.base.credentials import hide_credentials

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class ClusterDiagnostic:
    """One finding; `path` is a key of `cluster.yaml`, a file, a resource, or an object of the store."""

    code: str
    severity: Severity
    path: str
    message: str
    line: int | None = None
    column: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON data."""
        data: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "path": self.path,
            "message": self.message,
        }
        if self.line is not None:
            data |= {"line": self.line, "column": self.column}
        return data

    def render(self) -> str:
        """Return the finding as a line for people."""
        place = self.path if self.line is None else f"{self.path} (line {self.line}, column {self.column})"
        return f"{self.severity} [{self.code}] {place}: {self.message}"


class ClusterFindings:
    """Diagnostics as they are found."""

    def __init__(self, found: Iterable[ClusterDiagnostic] = ()) -> None:
        self._found = list(found)

    def __iter__(self) -> Iterator[ClusterDiagnostic]:
        return iter(self._found)

    @property
    def has_errors(self) -> bool:
        """Whether one of them is an error."""
        return any(item.severity == "error" for item in self._found)

    def add(self, finding: ClusterDiagnostic) -> None:
        """Add a finding, unless it is there."""
        if finding not in self._found:
            self._found.append(finding)

    def error(self, code: str, path: str, message: str, at: tuple[int, int] | None = None) -> None:
        """Add an error."""
        self._note("error", code, path, message, at)

    def warn(self, code: str, path: str, message: str, at: tuple[int, int] | None = None) -> None:
        """Add a warning."""
        self._note("warning", code, path, message, at)

    def _note(
        self, severity: Severity, code: str, path: str, message: str, at: tuple[int, int] | None
    ) -> None:
        line, column = at or (None, None)
        self.add(ClusterDiagnostic(code, severity, path, hide_credentials(message), line, column))
