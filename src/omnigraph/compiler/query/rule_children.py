"""The children of a grammar rule: their spans, their kinds, and the values of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from lark import Token

from omnigraph.compiler.query import ast
from omnigraph.compiler.source import Span
from omnigraph.compiler.strings import ESCAPES_HINT, unquote, wrong_escapes

I64_MAX = 2**63 - 1

Nodes = Sequence[Any]
Node = TypeVar("Node")


class Unacceptable(Exception):
    """Text that fits the grammar and is still not valid."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


def token_span(token: Token) -> Span:
    """Return the span of a token."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def node_span(node: Any) -> Span:
    """Return the span of a node or token."""
    span: Span = token_span(node) if isinstance(node, Token) else node.span
    return span


def full_span(nodes: Nodes) -> Span:
    """Return the span from the first to the last node."""
    return node_span(nodes[0]).to(node_span(nodes[-1]))


def select_kind(nodes: Nodes, kind: type[Node]) -> tuple[Node, ...]:
    """Return the nodes of one kind."""
    return tuple(node for node in nodes if isinstance(node, kind) and not isinstance(node, Token))


def drop_tokens(nodes: Nodes) -> tuple[Any, ...]:
    """Return the nodes without the tokens."""
    return tuple(node for node in nodes if not isinstance(node, Token))


def has_token(nodes: Nodes, kind: str) -> bool:
    """Return whether a token of this kind is among the nodes."""
    return any(isinstance(node, Token) and node.type == kind for node in nodes)


def variable_of(token: Token) -> ast.VariableReference:
    """Return the variable that a token names."""
    return ast.VariableReference(token[1:], token_span(token))


def read_string(token: Token) -> str:
    """Return the value of a string token."""
    for message, span in wrong_escapes(token, token.start_pos or 0):
        raise Unacceptable(message, span, ESCAPES_HINT)
    return unquote(token)


def read_integer(token: Token, negative: bool = False) -> int:
    """Return the value of an integer token that fits 64 bits."""
    digits = token.lstrip("0") or "0"
    value = int(digits) if len(digits) <= 19 else I64_MAX + 2
    if value > I64_MAX + negative:
        shown = token if len(token) <= 40 else f"{token[:40]}…"
        raise Unacceptable(f"integer {shown} exceeds the range of I64", token_span(token))
    return -value if negative else value
