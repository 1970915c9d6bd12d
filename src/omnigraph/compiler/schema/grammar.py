"""The compiled grammar: one fast parser for whole files and for the parts of broken ones."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

from lark import Lark, TextSlice, Token, Tree
from lark.lexer import Lexer, LexerState, LexerThread, LineCounter

Start = Literal["start", "interface_header", "node_header", "edge_header", "members", "properties"]
_STARTS: tuple[Start, ...] = (
    "start",
    "interface_header",
    "node_header",
    "edge_header",
    "members",
    "properties",
)


def parse_text(text: str, start: Start = "start") -> Tree[Token]:
    """Parse a whole text; raise Lark's UnexpectedInput at the first mistake."""
    return _parser().parse(text, start=start)


def parse_slice(text: str, begin: int, end: int, start: Start) -> Tree[Token]:
    """Parse a part of a text; places count from the beginning of the whole text."""
    return _parser().parse(TextSlice(text, begin, end), start=start)


class _Thread(LexerThread):
    """Start at a slice without counting the lines before it, which nobody reads.

    Counting them for each of many slices would take time in the square of the text's length.
    """

    @classmethod
    def from_text(cls, lexer: Lexer, text_or_slice: str | bytes | TextSlice) -> LexerThread:  # type: ignore[type-arg]
        text = TextSlice.cast_from(text_or_slice)
        lines = LineCounter("\n")  # type: ignore[no-untyped-call]
        lines.char_pos = text.start
        return cls(lexer, LexerState(text, lines))


@cache
def _parser() -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=list(_STARTS),
        maybe_placeholders=False,
        _plugins={"LexerThread": _Thread},
    )
