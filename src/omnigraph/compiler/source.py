"""A source text and positions in it: spans, line and column, near-miss suggestions."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from omnigraph.base.diagnostics import Diagnostic

_SHOWN_LINE_CHARACTERS = 200
_MAX_NAMES_COMPARED = 500


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.start, other.end)


NOWHERE = Span(0, 0)
_SURROGATE = re.compile("[\ud800-\udfff]")


def find_lone_surrogate(text: str) -> Span | None:
    """Return the span of the first lone half of a surrogate pair, which no file or table can hold."""
    found = _SURROGATE.search(text)
    return Span(found.start(), found.end()) if found else None


def make_printable(text: str) -> str:
    """Return a string for a message: unchanged when it is printable, else escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]


@dataclass(frozen=True)
class SourceText:
    """A text that diagnostics point into."""

    text: str

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column, counted from 1, of a character offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def bounds(self, number: int) -> tuple[int, int]:
        """Return where a line starts and where it ends, before its line feed."""
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self._starts[number - 1], end

    def line(self, number: int) -> str:
        """Return the text of a line, without its end."""
        start, end = self.bounds(number)
        return self.text[start:end].rstrip("\r")

    def diagnostic(self, code: str, message: str, span: Span, hint: str | None = None) -> Diagnostic:
        """Return a diagnostic that underlines `span` on its first line."""
        line, column = self.position(min(span.start, len(self.text)))
        shown = self.line(line)
        width = max(1, min(span.end - span.start, len(shown) - column + 1))
        start = max(0, min(column - 1 - _SHOWN_LINE_CHARACTERS // 2, len(shown) - _SHOWN_LINE_CHARACTERS))
        window = shown[start : start + _SHOWN_LINE_CHARACTERS]
        width = min(width, max(1, len(window) - (column - 1 - start)))
        return Diagnostic(code, message, line, column, window.replace("\t", " "), width, hint, start)


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return a "did you mean" hint when a known name is close to `name`."""
    folded = {item.lower(): item for item in islice(known, _MAX_NAMES_COMPARED)}
    close = difflib.get_close_matches(name.lower()[:100], folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]!r}?" if close else None
