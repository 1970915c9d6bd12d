"""A list that gathers the problems of one schema text and raises them together."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError
from omnigraph.compiler.schema.codes import DEPENDENT_CODES, UNREAD_CODES, Code
from omnigraph.compiler.source import SourceText, Span, suggest

MAX_SHOWN_PROBLEMS = 100
MAX_FOUND_PROBLEMS = 1000
_MAX_MESSAGE_CHARACTERS = 500


class SchemaProblems:
    """The problems found so far in one text."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self._found: dict[tuple[int, Code, str], Diagnostic] = {}

    def add(self, code: Code, message: str, span: Span, hint: str | None = None) -> None:
        """Record a problem; the same problem at the same place counts once."""
        message = _cut(message)
        key = (span.start, code, message)
        if key not in self._found and not self.full:
            self._found[key] = self.source.diagnostic(code.value, message, span, _cut(hint) if hint else None)

    def suggest(self, name: str, known: Iterable[str]) -> str | None:
        """Return a "did you mean" hint; none after the number of problems that are shown."""
        return suggest(name, known) if len(self._found) < MAX_SHOWN_PROBLEMS else None

    @property
    def full(self) -> bool:
        """Whether so many were found that the search for more ends."""
        return len(self._found) >= MAX_FOUND_PROBLEMS

    def __bool__(self) -> bool:
        return bool(self._found)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the problems in the order of the text, cut to a length that can be read."""
        unread = any(code in UNREAD_CODES for _, code, _ in self._found)
        kept = [
            diagnostic
            for (_, code, _), diagnostic in sorted(self._found.items(), key=lambda item: item[0][0])
            if not (unread and code in DEPENDENT_CODES)
        ]
        if len(kept) <= MAX_SHOWN_PROBLEMS:
            return tuple(kept)
        more = len(kept) - MAX_SHOWN_PROBLEMS
        count = f"at least {more}" if self.full else str(more)
        last = kept[MAX_SHOWN_PROBLEMS - 1]
        note = Diagnostic(Code.MORE.value, f"and {count} more problems", last.line, last.column)
        return (*kept[:MAX_SHOWN_PROBLEMS], note)

    def raise_if_any(self, file: str = "") -> None:
        """Raise a ParseError with every problem, if there is one."""
        if self._found:
            raise ParseError(self.diagnostics(), file)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE_CHARACTERS else f"{text[: _MAX_MESSAGE_CHARACTERS - 1]}…"
