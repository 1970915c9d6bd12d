"""Read a broken schema text part by part, so that one mistake does not hide the next."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import cast

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.convert import Converter
from omnigraph.compiler.schema.expectation import describe_expected, hint_for
from omnigraph.compiler.schema.grammar import Start, parse_slice
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.schema.scan import RoughToken, rough_tokens
from omnigraph.compiler.source import Span, make_printable

_DECLARATION_WORDS = ("interface", "node", "edge")
_CONTINUING = (":", "@", ",", "=", "(", "[", "..", "->")
_CONSTRAINT_WORDS = ("key", "unique", "index", "range", "check")


def read_broken(
    text: str, end: int, converter: Converter, problems: SchemaProblems
) -> tuple[ast.Declaration, ...]:
    """Return the declarations that can be read and report one problem per unreadable part."""
    reader = _BrokenSchemaReader(text, end, list(rough_tokens(text, end)), converter, problems)
    return reader.read()


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of tokens, by index, and the offset at which the next part begins."""

    first: int
    last: int
    end: int


class _BrokenSchemaReader:
    def __init__(
        self, text: str, end: int, tokens: list[RoughToken], converter: Converter, problems: SchemaProblems
    ) -> None:
        self._text = text
        self._end = end
        self._tokens = tokens
        self._starts = [token.span.start for token in tokens]
        self._convert = converter
        self._problems = problems
        self._reported = -1

    def read(self) -> tuple[ast.Declaration, ...]:
        declarations: list[ast.Declaration] = []
        for part in self._split(0, len(self._tokens), self._declaration_starts()):
            if self._problems.full:
                break
            if self._tokens[part.first].text in _DECLARATION_WORDS:
                declaration = self._declaration(part)
                if declaration is not None:
                    declarations.append(declaration)
            else:
                self._report_stray(part.first)
        return tuple(declarations)

    def _declaration(self, part: _Part) -> ast.Declaration | None:
        word = self._tokens[part.first].text
        opening = self._find("{", part.first, part.last)
        header_end = self._offset(opening) if opening < part.last else part.end
        header_start = cast(Start, f"{word}_header")
        header = self._parse(self._offset(part.first), header_end, header_start)
        if opening == part.last:
            if header is not None and word != "edge":
                self._report(part.end, {"LBRACE"}, header_start)
            return self._convert.header(header) if header is not None else None
        closing = self._find("}", opening + 1, part.last)
        members = self._members(opening + 1, closing, "properties" if word == "interface" else "members")
        if closing == part.last:
            if self._end == len(self._text):
                self._report(part.end, {"RBRACE"}, "members")
        elif closing + 1 < part.last:
            self._report_stray(closing + 1)
        return self._convert.header(header, members) if header is not None else None

    def _members(self, first: int, last: int, start: Start) -> tuple[ast.Member, ...]:
        members: list[ast.Member] = []
        for part in self._split(first, last, self._member_starts(first, last)):
            if self._problems.full:
                break
            tree = self._parse(self._offset(part.first), part.end, start)
            if tree is not None:
                members += self._convert.members(tree.children)
        return tuple(members)

    def _parse(self, begin: int, end: int, start: Start) -> Tree[Token] | None:
        try:
            return parse_slice(self._text, begin, end, start)
        except UnexpectedInput as error:
            token = getattr(error, "token", None)
            at = end if token is not None and token.type == "$END" else error.pos_in_stream or begin
            self._report(at, _list_expected(error), start)
        return None

    def _report(self, offset: int, expected: set[str], start: Start) -> None:
        place = bisect_left(self._starts, offset)
        cut = place == len(self._tokens) and self._end < len(self._text)
        if cut or place == self._reported:
            return
        self._reported = place
        found = self._tokens[place] if place < len(self._tokens) else None
        span = found.span if found else Span(self._end, self._end)
        named = f"'{_shorten(found.text)}'" if found else "the end of the text"
        self._problems.add(
            Code.SYNTAX,
            f"syntax error: expected {describe_expected(expected, start)}, found {named}",
            span,
            hint_for(expected, found, start),
        )

    def _report_stray(self, place: int) -> None:
        self._report(self._offset(place), {"NODE", "EDGE", "INTERFACE"}, "start")

    def _offset(self, place: int) -> int:
        return self._starts[place] if place < len(self._starts) else self._end

    def _find(self, mark: str, first: int, last: int) -> int:
        for place in range(first, last):
            if self._tokens[place].text == mark:
                return place
        return last

    def _split(self, first: int, last: int, starts: list[int]) -> list[_Part]:
        if first == last:
            return []
        if not starts or starts[0] != first:
            starts = [first, *starts]
        ends = [*starts[1:], last]
        return [_Part(begin, stop, self._offset(stop)) for begin, stop in zip(starts, ends, strict=True)]

    def _text_at(self, place: int) -> str:
        return self._tokens[place].text if place < len(self._tokens) else ""

    def _declaration_starts(self) -> list[int]:
        starts: list[int] = []
        depth = 0
        for place, token in enumerate(self._tokens):
            if token.text in _DECLARATION_WORDS and token.kind == "word":
                following = self._text_at(place + 1)
                # In a body such a word names a property, unless a type name follows: a brace is missing.
                if (depth == 0 and following != ":") or following[:1].isupper():
                    starts.append(place)
                    depth = 0
            elif token.text == "{":
                depth += 1
            elif token.text == "}":
                depth = max(0, depth - 1)
        return starts

    def _member_starts(self, first: int, last: int) -> list[int]:
        starts: list[int] = []
        depth = 0
        for place in range(first, last):
            if self._starts_member(place) or (depth == 0 and self._starts_line(place)):
                starts.append(place)
                depth = 0
            text = self._tokens[place].text
            depth += (text in ("(", "[")) - (text in (")", "]"))
        return starts

    def _starts_member(self, place: int) -> bool:
        if self._tokens[place].kind == "word":
            return self._text_at(place + 1) == ":"
        return (
            self._tokens[place].text == "@"
            and self._text_at(place + 1) in _CONSTRAINT_WORDS
            and self._text_at(place + 2) == "("
        )

    def _starts_line(self, place: int) -> bool:
        """Return whether a word begins a line and cannot belong to what precedes it."""
        if self._tokens[place].kind != "word" or self._text_at(place - 1) in _CONTINUING:
            return False
        gap = self._text[self._tokens[place - 1].span.end : self._starts[place]]
        return "\n" in gap


def _list_expected(error: UnexpectedInput) -> set[str]:
    """Return the terminals that were expected, without those of merged parser states."""
    parser = getattr(error, "interactive_parser", None)
    return set(parser.accepts()) if parser is not None else set()


def _shorten(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return make_printable(shown)
