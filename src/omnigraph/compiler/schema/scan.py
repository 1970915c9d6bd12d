"""A tolerant look at a schema text: comments, strings and rough tokens, whatever the text holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import Span, find_lone_surrogate
from omnigraph.compiler.strings import ESCAPES_HINT, wrong_escapes

# An unterminated string or comment runs to the end of the text: the scan stays linear.
_SKIPPED = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_STRING = r'"(?:[^"\\]++|\\(?s:.))*+(?:"|\\?\Z)'
_COMMENT_OR_STRING = re.compile(rf"(?P<comment>{_SKIPPED})|(?P<string>{_STRING})")
_TOKEN = re.compile(
    rf"(?P<gap>[ \t\r\n]+|{_SKIPPED})|(?P<string>{_STRING})"
    r"|(?P<word>[A-Za-z0-9_]+)|(?P<mark>->|\.\.|(?s:.))"
)


@dataclass(frozen=True, slots=True)
class RoughToken:
    """A word, string or mark with its place."""

    kind: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ScannedSchema:
    """What the scan found: the comments, and where readable text ends."""

    comments: tuple[Span, ...]
    end: int


def scan(text: str, problems: SchemaProblems) -> ScannedSchema:
    """Find the comments and report what no token may contain."""
    comments: list[Span] = []
    end = len(text)
    if bad := find_lone_surrogate(text):
        problems.add(Code.CHARACTER, "syntax error: expected text, found half of a surrogate pair", bad)
    for match in _COMMENT_OR_STRING.finditer(text):
        piece, span = match.group(), Span(match.start(), match.end())
        if match.lastgroup == "comment":
            comments.append(span)
            if piece.startswith("/*") and (len(piece) < 4 or not piece.endswith("*/")):
                problems.add(
                    Code.UNTERMINATED, "syntax error: expected '*/' before the end of the text", span
                )
                end = span.start
        elif _is_open(piece):
            problems.add(Code.UNTERMINATED, "syntax error: expected '\"' before the end of the text", span)
            end = span.start
        else:
            for message, place in wrong_escapes(piece, span.start):
                problems.add(Code.ESCAPE, message, place, ESCAPES_HINT)
    return ScannedSchema(tuple(comments), end)


def rough_tokens(text: str, end: int) -> Iterator[RoughToken]:
    """Yield the tokens of the text up to `end`, comments and white space left out."""
    for match in _TOKEN.finditer(text, 0, end):
        kind = match.lastgroup or "mark"
        if kind != "gap":
            yield RoughToken(kind, match.group(), Span(match.start(), match.end()))


def _is_open(piece: str) -> bool:
    if len(piece) < 2 or not piece.endswith('"'):
        return True
    backslashes = len(piece) - 1 - len(piece[:-1].rstrip("\\"))
    return backslashes % 2 == 1
