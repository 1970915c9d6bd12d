"""The compiled grammar: one fast parser for whole files and for the parts of broken ones."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

from lark import Lark, TextSlice, Token, Tree

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


@cache
def _parser() -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start=list(_STARTS), maybe_placeholders=False)
