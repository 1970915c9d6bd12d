"""A problem found in a text, with the place and a way to show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem in a source text; line and column count from 1."""

    code: str
    message: str
    line: int
    column: int
    source_line: str = ""
    width: int = 1
    hint: str | None = None
    shown_from: int = 0
    """How many characters of a long line precede the part that is shown."""

    def render(self, file: str = "") -> str:
        """Return the message with the source line and a caret line beneath it."""
        place = f"{file}:{self.line}:{self.column}" if file else f"line {self.line}, column {self.column}"
        parts = [f"{place}: [{self.code}] {self.message}"]
        if self.source_line:
            caret = " " * (self.column - 1 - self.shown_from) + "^" * max(1, self.width)
            parts += [f"  {self.source_line}", f"  {caret}"]
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Return the diagnostic as plain JSON data."""
        data: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "column": self.column,
        }
        if self.hint:
            data["hint"] = self.hint
        return data
