"""Text to syntax tree, with every problem of the text found in one pass."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build import Builder
from omnigraph.compiler.query.expectation import describe_expected, describe_token, hint_for
from omnigraph.compiler.query.grammar import GRAMMAR
from omnigraph.compiler.query.rule_children import Unacceptable
from omnigraph.compiler.query.tables import load_or_build, pack_tables
from omnigraph.compiler.query.tokens import CLOSING, OPENING, WORDS, ScannedQuery, scan
from omnigraph.compiler.source import SourceText, Span, find_lone_surrogate

MAX_PROBLEMS = 100
"""How many problems of one text are reported."""

_PARSE_ERROR = "parse_error"
_ENDS_A_CLAUSE = frozenset(
    {"LBRACE", "RBRACE", "RPAR", "RSQB", "COMMA", "VAR", "TYPE", "STRING", "INT", "FLOAT", "BOOL", "NULL"}
)
_MAX_TOKENS_TO_REREAD = 5000
"""How many tokens a query may have to be searched for more than its first mistake."""


def parse(text: str, file: str = "") -> ast.File:
    """Parse a query file, or raise ParseError with all its problems."""
    parsed, problems = parse_all(text)
    if problems:
        raise ParseError(problems, file)
    return parsed


def parse_all(text: str) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    """Parse what can be parsed of a query file and return it with the problems of the rest."""
    source = SourceText(text)
    found = scan(text)
    reader = _QueryReader(source, found)
    if bad := find_lone_surrogate(text):
        # Also inside a string or a comment, where the parser would not mind.
        reader.report("unexpected half of a surrogate pair, expected text", bad, None)
    start = 0
    while start < len(found.tokens) and len(reader.problems) < MAX_PROBLEMS:
        start = reader.read(start, _end_of_query(found.tokens, start))
    return ast.File(tuple(reader.queries), tuple(found.comments)), tuple(reader.problems[:MAX_PROBLEMS])


class _QueryReader:
    """Parse runs of tokens; after a problem, continue at the next line or the next query."""

    def __init__(self, source: SourceText, found: ScannedQuery) -> None:
        self.source, self.tokens = source, found.tokens
        self.queries: list[ast.Query] = []
        self.problems: list[Diagnostic] = []

    def read(self, start: int, end: int) -> int:
        """Parse one run and return where the next one starts: inside this one if a bracket is missing."""
        kept = self.tokens[start:end]
        query, at = self._parse(kept)
        if query is not None:
            self.queries.append(query)
            return end
        after = _next_query(self.tokens, start + max(at, 1), end)
        if after == end and len(kept) <= _MAX_TOKENS_TO_REREAD and _is_balanced(kept):
            self._read_on(kept, at)
        return after

    def _read_on(self, kept: list[Token], at: int) -> None:
        """Leave out the line of a problem and look for the next one, as long as the rest parses."""
        while len(self.problems) < MAX_PROBLEMS:
            line = _lines_of(self.source, kept, at)
            if line is None:
                return
            first, last = line
            kept = kept[:first] + kept[last:]
            before = len(self.problems)
            query, at = self._parse(kept)
            if query is not None:
                return
            if at <= first or at == len(kept) or kept[at].type in CLOSING:
                # This problem comes from the line that was left out, not from the text.
                del self.problems[before:]
                return

    def _parse(self, tokens: list[Token]) -> tuple[ast.Query | None, int]:
        """Return the query, or report the problem and return the index of its token."""
        try:
            return _parser().parse(_TokenRun(tokens)), 0  # type: ignore[return-value]
        except UnexpectedToken as error:
            at = len(tokens) if error.token.type == "$END" else _index(tokens, error.token.start_pos or 0)
            self._report_unexpected(error, tokens, at)
        except Unacceptable as error:
            at = max(0, _index(tokens, error.span.start + 1) - 1)
            self.report(error.message, error.span, error.hint)
        return None, at

    def _report_unexpected(self, error: UnexpectedToken, tokens: list[Token], at: int) -> None:
        expected = set(error.accepts or error.expected)
        hint = None
        if at == len(tokens):
            length = len(self.source.text)
            last = tokens[-1].end_pos or length
            span, what = Span(min(last, max(length - 1, 0)), length), "the end of the query"
        else:
            token = tokens[at]
            span, what, hint = (
                Span(token.start_pos or 0, token.end_pos or 0),
                describe_token(token),
                hint_for(token, expected, tokens[at - 1] if at else None),
            )
            if token.type == "STRAY":
                self.report(what, span, hint)
                return
        self.report(f"unexpected {what}, expected {describe_expected(expected)}", span, hint)

    def report(self, message: str, span: Span, hint: str | None) -> None:
        """Record a problem."""
        self.problems.append(self.source.diagnostic(_PARSE_ERROR, message, span, hint))


class _TokenRun:
    """The tokens that one run of the parser reads."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens


class _Tokens(Lexer):
    """Pass Lark the tokens that were scanned already."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        return iter(lexer_state.tokens)


_OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "start": "query",
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}


_MADE_FROM = f"{GRAMMAR}\n{_OPTIONS}"
TABLES = Path(__file__).with_name("parser.tables")
"""The tables of the grammar, which are shipped."""


def make_tables() -> bytes:
    """Return what the file of the tables is to hold."""
    return pack_tables(_MADE_FROM, _build_parser())


@cache
def _parser() -> Lark:
    return load_or_build(_MADE_FROM, _build_parser, TABLES)


def _build_parser() -> Lark:
    return Lark(GRAMMAR, lexer=_Tokens, transformer=Builder(), **_OPTIONS)


def _end_of_query(tokens: list[Token], start: int) -> int:
    """Return the next `query` outside all brackets; a query may itself be named `query`."""
    depth = 0
    for at in range(start, len(tokens)):
        kind = tokens[at].type
        if kind in ("LBRACE", "LPAR"):
            depth += 1
        elif kind in ("RBRACE", "RPAR"):
            depth = max(0, depth - 1)
        elif (
            kind == "QUERY"
            and depth == 0
            and (at > start + 1 or (at > start and tokens[start].type != "QUERY"))
        ):
            return at
    return len(tokens)


def _next_query(tokens: list[Token], start: int, end: int) -> int:
    """Return the next `query name (`, at any depth."""
    for at in range(start, end - 2):
        if tokens[at].type == "QUERY" and tokens[at + 2].type == "LPAR" and tokens[at + 1].type in _NAMES:
            return at
    return end


_NAMES = frozenset({"IDENT", *WORDS})


def _index(tokens: list[Token], position: int) -> int:
    """Return the index of the first token that starts at or after an offset."""
    return bisect_left(tokens, position, key=lambda token: token.start_pos or 0)


def _lines_of(source: SourceText, tokens: list[Token], at: int) -> tuple[int, int] | None:
    """Return the tokens of a line that can be left out: it closes what it opens and continues nothing.

    When the parser stopped near the start of a line, the line before it may be the wrong one: both go.
    """
    if at >= len(tokens):
        return None
    begin, end = source.bounds(source.position(tokens[at].start_pos or 0)[0])
    first, last = _index(tokens, begin), _index(tokens, end)
    if first and at - first <= 1:
        before = source.bounds(source.position(tokens[first - 1].start_pos or 0)[0])[0]
        wider = _index(tokens, before)
        first = wider if _is_separable(tokens, wider, last) else first
    return (first, last) if _is_separable(tokens, first, last) else None


def _is_separable(tokens: list[Token], first: int, last: int) -> bool:
    if first == 0 or last == len(tokens) or tokens[first - 1].type not in _ENDS_A_CLAUSE:
        return False
    return _is_balanced(tokens[first:last])


def _is_balanced(tokens: list[Token]) -> bool:
    opened: list[str] = []
    for token in tokens:
        if token.type in OPENING:
            opened.append(token.type[1:])
        elif token.type in CLOSING and (not opened or opened.pop() != token.type[1:]):
            return False
    return not opened
