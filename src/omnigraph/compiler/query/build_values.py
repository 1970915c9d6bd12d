"""Grammar rules to syntax tree: literals, expressions and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from lark import Token, Transformer

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


class ValueBuilder(Transformer[Token, Any]):
    """Build values and conditions; every method takes the children of its rule, tokens included."""

    # Conditions

    def disjunction(self, nodes: Nodes) -> ast.Condition:
        """Build `a or b`."""
        terms = drop_tokens(nodes)
        return terms[0] if len(terms) == 1 else ast.OrCondition(terms, full_span(terms))

    def conjunction(self, nodes: Nodes) -> ast.Condition:
        """Build `a and b`."""
        terms = drop_tokens(nodes)
        return terms[0] if len(terms) == 1 else ast.AndCondition(terms, full_span(terms))

    def inverse(self, nodes: Nodes) -> ast.NotCondition:
        """Build `not a`."""
        return ast.NotCondition(nodes[1], full_span(nodes))

    def group(self, nodes: Nodes) -> ast.Condition:
        """Drop the parentheses: the tree keeps the grouping."""
        inner: ast.Condition = nodes[1]
        return inner

    def comparison(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build `a op b`."""
        return ast.ComparisonCondition(nodes[0], ast.Operator(str(nodes[1])), nodes[2], full_span(nodes))

    def lead_comparison(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build a comparison that begins a clause with a bare variable."""
        return self.comparison([variable_of(nodes[0]), *nodes[1:]])

    def lead_property(self, nodes: Nodes) -> ast.ComparisonCondition:
        """Build `$a contains $b.p` at the beginning of a clause."""
        return self.comparison([variable_of(nodes[0]), nodes[1], self.property(nodes[2:])])

    def null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `a is null`."""
        return ast.NullTest(nodes[0], has_token(nodes, "NOT"), full_span(nodes))

    def lead_null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `$a is null` at the beginning of a clause."""
        return self.null_test([variable_of(nodes[0]), *nodes[1:]])

    def field(self, nodes: Nodes) -> ast.BareProperty:
        """Build a property name in `where`."""
        return ast.BareProperty(str(nodes[0]), token_span(nodes[0]))

    # Expressions

    def variable(self, nodes: Nodes) -> ast.VariableReference:
        """Build `$v`."""
        return variable_of(nodes[0])

    def property(self, nodes: Nodes) -> ast.PropertyAccess:
        """Build `$v.p`."""
        return ast.PropertyAccess(variable_of(nodes[0]), nodes[2], full_span(nodes))

    def alias(self, nodes: Nodes) -> ast.AliasReference:
        """Build a reference to a returned column."""
        return ast.AliasReference(str(nodes[0]), token_span(nodes[0]))

    any_alias = alias

    def name(self, nodes: Nodes) -> ast.Identifier:
        """Build a name from any word."""
        return ast.Identifier(str(nodes[0]), token_span(nodes[0]))

    edge_name = name
    plain_edge = name

    def now(self, nodes: Nodes) -> ast.NowCall:
        """Build `now()`."""
        return ast.NowCall(full_span(nodes))

    def entity_call(self, nodes: Nodes) -> ast.EntityCall:
        """Build `type($v)`."""
        function = ast.Identifier(str(nodes[0]), token_span(nodes[0]))
        return ast.EntityCall(function, variable_of(nodes[2]), full_span(nodes))

    def nearest(self, nodes: Nodes) -> ast.Nearest:
        """Build `nearest(…)`."""
        return ast.Nearest(nodes[2], nodes[4], full_span(nodes))

    def text_call(self, nodes: Nodes) -> ast.TextCall:
        """Build `search(…)`, `match_text(…)` or `fuzzy(…)`."""
        function = ast.TextFunction(str(nodes[0]))
        edits = nodes[6] if len(nodes) > 6 else None
        if edits is not None and function is not ast.TextFunction.FUZZY:
            raise Unacceptable(f"{function} takes two values, expected ')'", edits.span)
        return ast.TextCall(function, nodes[2], nodes[4], edits, full_span(nodes))

    def bm25(self, nodes: Nodes) -> ast.Bm25:
        """Build `bm25(…)`."""
        return ast.Bm25(nodes[2], nodes[4], full_span(nodes))

    def rrf(self, nodes: Nodes) -> ast.Rrf:
        """Build `rrf(…)`."""
        k = nodes[6] if len(nodes) > 6 else None
        return ast.Rrf((nodes[2], nodes[4]), k, full_span(nodes))

    def aggregate(self, nodes: Nodes) -> ast.AggregateCall:
        """Build an aggregate; only `count` and `collect` take `distinct`."""
        distinct = has_token(nodes, "DISTINCT")
        function = ast.AggregateFunction(str(nodes[0]))
        if distinct and function not in (ast.AggregateFunction.COUNT, ast.AggregateFunction.COLLECT):
            raise Unacceptable(f"{function} does not take distinct, expected a value", token_span(nodes[2]))
        return ast.AggregateCall(function, nodes[-2], distinct, full_span(nodes))

    # Literals

    def list(self, nodes: Nodes) -> ast.ListLiteral:
        """Build a list."""
        return ast.ListLiteral(drop_tokens(nodes), full_span(nodes))

    def moment(self, nodes: Nodes) -> ast.DateLiteral | ast.DateTimeLiteral:
        """Build `date("…")` or `datetime("…")`."""
        text, span = read_string(nodes[2]), full_span(nodes)
        return ast.DateLiteral(text, span) if nodes[0] == "date" else ast.DateTimeLiteral(text, span)

    def string(self, nodes: Nodes) -> ast.StringLiteral:
        """Build a string."""
        return ast.StringLiteral(read_string(nodes[0]), token_span(nodes[0]))

    def float(self, nodes: Nodes) -> ast.FloatLiteral:
        """Build a float."""
        text = "".join(nodes)
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise Unacceptable("the number is too large for F64", full_span(nodes))
        return ast.FloatLiteral(value, text, full_span(nodes))

    def int(self, nodes: Nodes) -> ast.IntLiteral:
        """Build a whole number."""
        return ast.IntLiteral(read_integer(nodes[-1], len(nodes) == 2), full_span(nodes))

    def bool(self, nodes: Nodes) -> ast.BoolLiteral:
        """Build `true` or `false`."""
        return ast.BoolLiteral(nodes[0] == "true", token_span(nodes[0]))

    def null(self, nodes: Nodes) -> ast.NullLiteral:
        """Build `null`."""
        return ast.NullLiteral(token_span(nodes[0]))
