"""Text to tokens: white space and comments dropped, size and nesting bounded. No grammar here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lark import Token

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.query.ast import Comment
from omnigraph.compiler.source import Span

MAX_QUERY_CHARACTERS = 2 * 1024 * 1024
"""The longest query file, in characters."""
MAX_NESTING_DEPTH = 64
"""The deepest nesting of brackets and of `not` in one query."""

_WORD_GROUPS = {
    "AGGREGATE": ("count", "sum", "avg", "min", "max", "collect"),
    "TEXT_CALL": ("search", "match_text", "fuzzy"),
    "PAGE": ("limit", "skip"),
    "DIRECTION": ("asc", "desc"),
    "BOOL": ("true", "false"),
    "TEXT_OPERATOR": ("contains", "starts_with"),
    "MOMENT": ("date", "datetime"),
}
_SINGLE_WORDS = """
query match return order distinct not optional and or in is null as now nearest bm25 rrf
insert update upsert delete set where case when then else end having with union exists shortest
"""
WORDS: dict[str, tuple[str, ...]] = {
    **_WORD_GROUPS,
    **{word.upper(): (word,) for word in _SINGLE_WORDS.split()},
}
"""The words of each kind of token; words with the same place in the grammar are one kind."""
KEYWORDS = frozenset(word for words in WORDS.values() for word in words)
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
  | (?P<PUNCTUATION><=|>=|!=|\|(?!\|)|/(?!\*)|[{}()\[\]:,.<>=?+*%\-])
    """,
    re.VERBOSE | re.DOTALL,
)
SPELLING = {
    "LBRACE": ("{",),
    "RBRACE": ("}",),
    "LPAR": ("(",),
    "RPAR": (")",),
    "LSQB": ("[",),
    "RSQB": ("]",),
    "COLON": (":",),
    "COMMA": (",",),
    "DOT": (".",),
    "LT": ("<",),
    "GT": (">",),
    "COMPARATOR": ("=", "!=", "<=", ">="),
    "QMARK": ("?",),
    "MINUS": ("-",),
    "PIPE": ("|",),
    "SIGN": ("-",),
    "PLUS": ("+",),
    "STAR": ("*",),
    "SLASH": ("/",),
    "PERCENT": ("%",),
    "INDEX": ("[",),
}
"""The texts of each kind of punctuation."""
_PUNCTUATION = {
    text: kind for kind, texts in SPELLING.items() for text in texts if kind not in ("SIGN", "INDEX")
}
OPENING = frozenset({"LBRACE", "LPAR", "LSQB", "INDEX"})
CLOSING = frozenset({"RBRACE", "RPAR", "RSQB"})
_NESTING = OPENING | CLOSING | {"NOT"}
_KIND_OF_WORD = {word: kind for kind, words in WORDS.items() for word in words}
_STRAY = re.compile(r"[^ \t\r\nA-Za-z0-9_$@\"/{}()\[\]:,.<>=!?+*%\-]+")
_NUMBER_FOLLOWS = re.compile(r"[ \t\r\n]*[0-9]")
_ENDS_AN_OPERAND = frozenset(
    {"VAR", "IDENT", "INT", "FLOAT", "STRING", "RPAR", "RSQB", "BOOL", "NULL", "END"}
)
_NEVER_AN_OPERAND = frozenset(
    {*SPELLING, "AND", "OR", "NOT", "IN", "IS", "TEXT_OPERATOR", "WHEN", "THEN", "ELSE", "DISTINCT", "WHERE"}
) - {"RPAR", "RSQB"}
"""Kinds that precede an operand; other words may be names of properties."""


@dataclass(frozen=True, slots=True)
class ScannedQuery:
    """The tokens of a text and its comments; text that is not a token has the kind STRAY."""

    tokens: list[Token]
    comments: list[Comment] = field(default_factory=list)


def scan(text: str) -> ScannedQuery:
    """Split a text into tokens, skipping what is not one, and refuse what is too long or too deep."""
    _check_size(text)
    result = ScannedQuery([])
    tokens, depth = result.tokens, _Depth()
    opened: list[str] = []
    at, size, match = 0, len(text), _SCANNER.match
    fresh = True
    while at < size:
        found = match(text, at)
        if found is None:
            end = _end_of_stray(text, at)
            # A token of no grammar makes the parser stop here and resume at the next query.
            tokens.append(Token("STRAY", text[at : min(end, at + 40)], at, end_pos=end))
            at = end
            fresh = False
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
                kind = _KIND_OF_WORD.get(value, "IDENT")
            elif kind == "PUNCTUATION":
                kind = _PUNCTUATION[value]
                if kind in _BY_PLACE:
                    kind = _kind_by_place(kind, text, at, tokens, opened)
                _track(kind, tokens, opened)
            if kind in _NESTING or depth.run:
                depth.feed(kind)
            tokens.append(Token(kind, value, at, end_pos=end))
        fresh = False
        at = end
    return result


def _check_size(text: str) -> None:
    if len(text) > MAX_QUERY_CHARACTERS:
        raise ResourceLimit(
            f"the query text has {len(text):,} characters; the limit is {MAX_QUERY_CHARACTERS:,}",
            resource="query text",
            limit=MAX_QUERY_CHARACTERS,
            actual=len(text),
        )


def _track(kind: str, before: list[Token], opened: list[str]) -> None:
    if kind == "LBRACE" and (not opened or (before and before[-1].type in _BEFORE_ASSIGNMENTS)):
        opened.append(_MARKED)
    elif kind in OPENING:
        opened.append(kind)
    elif kind in CLOSING and opened:
        opened.pop()


_BY_PLACE = frozenset({"MINUS", "LSQB"})
_BEFORE_ASSIGNMENTS = ("TYPE", "SET")
_MARKED = "MARKED"
"""A brace in which no value follows another without a mark: a query, and assignments."""


def _kind_by_place(kind: str, text: str, at: int, before: list[Token], opened: list[str]) -> str:
    """Return whether `-` subtracts or is the sign of a number, and whether `[` indexes or begins a list.

    Clauses and columns follow each other without a mark, so that white space decides there: `$p.a -1` is two
    columns, `$p.a - 1` and `$p.a-1` are one. A list that is indexed is directly followed by its `[`.
    """
    after_operand = _ends_an_operand(before)
    apart = bool(before) and before[-1].end_pos != at
    if kind == "LSQB":
        return "INDEX" if after_operand and not apart else kind
    if not after_operand:
        return "SIGN" if _NUMBER_FOLLOWS.match(text, at + 1) else kind
    begins = apart and text[at + 1 : at + 2].isdigit() and opened[-1:] == ["LBRACE"]
    return "SIGN" if begins else kind


def _ends_an_operand(tokens: list[Token]) -> bool:
    if not tokens:
        return False
    kind = tokens[-1].type
    if kind in _ENDS_AN_OPERAND or (len(tokens) > 1 and tokens[-2].type == "DOT" and kind in WORDS):
        return True
    return kind in WORDS and kind not in _NEVER_AN_OPERAND


def _end_of_stray(text: str, at: int) -> int:
    """Return where text that is not a token ends.

    An unclosed string or comment runs to the end, where looking again could only fail again.
    """
    if text[at] == '"' or text.startswith("/*", at):
        return len(text)
    run = _STRAY.match(text, at)
    return run.end() if run else at + 1


class _Depth:
    """Refuse text nested so deeply that a reader of its tree could run out of stack."""

    def __init__(self) -> None:
        self.depth = 0
        self.run = 0
        """How many `not` directly precede the current token."""
        self.outer: list[int] = []

    def feed(self, kind: str) -> None:
        if kind == "NOT":
            self.run += 1
            self.depth += 1
        elif kind in OPENING:
            self.outer.append(self.run)
            self.run = 0
            self.depth += 1
        else:
            self.depth -= self.run
            self.run = 0
            if kind in CLOSING and self.outer:
                self.depth -= 1 + self.outer.pop()
        if self.depth > MAX_NESTING_DEPTH:
            raise ResourceLimit(
                f"the query is nested deeper than {MAX_NESTING_DEPTH} levels",
                resource="query nesting",
                limit=MAX_NESTING_DEPTH,
                actual=self.depth,
            )
