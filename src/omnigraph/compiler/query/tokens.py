"""Text to tokens: white space and comments dropped, size and nesting bounded. No grammar here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lark import Token

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.query.ast import Comment
from omnigraph.compiler.source import Span

MAX_TEXT = 2 * 1024 * 1024
"""The longest query file, in characters."""
MAX_DEPTH = 64
"""The deepest nesting of brackets and of `not` in one query."""

_WORDS = """
query match return order limit skip distinct not optional and or in is null as asc desc contains starts_with
now nearest search fuzzy match_text bm25 rrf count sum avg min max collect
insert update delete set where date datetime true false
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words with a meaning somewhere. All of them stay usable as names."""

_SCANNER = re.compile(
    r"""
    (?P<SPACE>[ \t\r\n]+)
  | (?P<COMMENT>//[^\n]*|/\*(?s:.*?)\*/)
  | (?P<VAR>\$[a-z_][A-Za-z0-9_]*)
  | (?P<WORD>[a-z_][A-Za-z0-9_]*)
  | (?P<TYPE>[A-Z][A-Za-z0-9_]*)
  | (?P<FLOAT>[0-9]+\.[0-9]+)
  | (?P<INT>[0-9]+)
  | (?P<STRING>"[^"\\]*+(?:\\.[^"\\]*+)*+")
  | (?P<NOTE>@[a-z_][A-Za-z0-9_]*)
  | (?P<PUNCTUATION><=|>=|!=|[{}()\[\]:,.<>=?\-])
    """,
    re.VERBOSE | re.DOTALL,
)
_PUNCTUATION = {
    "{": "LBRACE",
    "}": "RBRACE",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ":": "COLON",
    ",": "COMMA",
    ".": "DOT",
    "<": "LT",
    ">": "GT",
    "<=": "LE",
    ">=": "GE",
    "!=": "NE",
    "=": "EQ",
    "?": "QMARK",
    "-": "MINUS",
}
SPELLING = {kind: text for text, kind in _PUNCTUATION.items()}
"""The text of each punctuation token, for messages."""
_OPENING = frozenset({"LBRACE", "LPAR", "LSQB"})
_CLOSING = frozenset({"RBRACE", "RPAR", "RSQB"})
_KINDS = {word: word.upper() for word in KEYWORDS}


@dataclass(frozen=True, slots=True)
class Scan:
    """The tokens of a text, its comments, and the places that are no token at all."""

    tokens: list[Token]
    comments: list[Comment] = field(default_factory=list)
    stray: list[Span] = field(default_factory=list)


def scan(text: str) -> Scan:
    """Split a text into tokens, skipping what is not one."""
    if len(text) > MAX_TEXT:
        raise ResourceLimit(
            f"the query text has {len(text):,} characters; the limit is {MAX_TEXT:,}",
            resource="query text",
            limit=MAX_TEXT,
            actual=len(text),
        )
    result = Scan([])
    tokens = result.tokens
    at, size, match = 0, len(text), _SCANNER.match
    fresh = True
    while at < size:
        found = match(text, at)
        if found is None:
            # An unclosed string or comment runs to the end, where looking again could only fail again.
            end = size if text[at] == '"' or text.startswith("/*", at) else at + 1
            result.stray.append(Span(at, end))
            # A token of no grammar makes the parser stop here and resume at the next query.
            tokens.append(Token("STRAY", text[at : min(end, at + 40)], at, end_pos=end))
            at = end
            continue
        kind, end = found.lastgroup or "", found.end()
        if kind == "SPACE":
            fresh = fresh or "\n" in found.group()
            at = end
            continue
        if kind == "COMMENT":
            result.comments.append(Comment(found.group().rstrip(), fresh, Span(at, end)))
        else:
            value = found.group()
            if kind == "WORD":
                kind = _KINDS.get(value, "IDENT")
            elif kind == "PUNCTUATION":
                kind = _PUNCTUATION[value]
            tokens.append(Token(kind, value, at, end_pos=end))
        fresh = False
        at = end
    return result


def check_depth(tokens: list[Token]) -> None:
    """Refuse text nested so deeply that a reader of its tree could run out of stack."""
    pending = [0]
    depth = 0
    for token in tokens:
        kind = token.type
        if kind == "NOT":
            pending[-1] += 1
            depth += 1
        elif kind in _OPENING:
            pending.append(0)
            depth += 1
        else:
            if kind in _CLOSING and len(pending) > 1:
                depth -= 1 + pending.pop()
            if pending[-1]:
                depth -= pending[-1]
                pending[-1] = 0
        if depth > MAX_DEPTH:
            raise ResourceLimit(
                f"the query is nested deeper than {MAX_DEPTH} levels",
                resource="query nesting",
                limit=MAX_DEPTH,
                actual=depth,
            )
