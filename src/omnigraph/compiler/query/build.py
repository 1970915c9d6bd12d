"""Grammar rules to syntax tree: one method per rule, called bottom-up while parsing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from lark import Token, Transformer

from omnigraph.compiler.catalog.model import PropertyType, Scalar
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import Span, suggest

I64_MAX = 2**63 - 1
MAX_VECTOR = 2**31 - 1
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BASES = {item.value: item for item in Scalar}
_NOTES = ("@description", "@instruction")

Nodes = Sequence[Any]
Node = TypeVar("Node")


class Unacceptable(Exception):
    """Text that fits the grammar and still cannot stand."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


def _at(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)


def _place(node: Any) -> Span:
    span: Span = _at(node) if isinstance(node, Token) else node.span
    return span


def _over(nodes: Nodes) -> Span:
    return _place(nodes[0]).to(_place(nodes[-1]))


def _only(nodes: Nodes, kind: type[Node]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if isinstance(node, kind) and not isinstance(node, Token))


def _trees(nodes: Nodes) -> tuple[Any, ...]:
    return tuple(node for node in nodes if not isinstance(node, Token))


def _has(nodes: Nodes, kind: str) -> bool:
    return any(isinstance(node, Token) and node.type == kind for node in nodes)


def _variable(token: Token) -> ast.Variable:
    return ast.Variable(token[1:], _at(token))


def _text(token: Token) -> str:
    """Return the value of a string token."""

    def resolve(found: re.Match[str]) -> str:
        plain = _ESCAPES.get(found.group(1))
        if plain is None:
            start = (token.start_pos or 0) + 1 + found.start()
            raise Unacceptable(
                f"unsupported escape sequence {found.group()!r}",
                Span(start, start + 2),
                'the escapes are \\" \\\\ \\n \\r \\t',
            )
        return plain

    inner = token[1:-1]
    return _ESCAPE.sub(resolve, inner) if "\\" in inner else inner


def _whole(token: Token, negative: bool = False) -> int:
    """Return the value of an integer token that fits 64 bits."""
    digits = token.lstrip("0") or "0"
    value = int(digits) if len(digits) <= 19 else I64_MAX + 2
    if value > I64_MAX + negative:
        shown = token if len(token) <= 40 else f"{token[:40]}…"
        raise Unacceptable(f"integer {shown} exceeds the range of I64", _at(token))
    return -value if negative else value


class Builder(Transformer[Token, Any]):
    """Build the syntax tree; every method takes the children of its rule, tokens included."""

    # Queries

    def query(self, nodes: Nodes) -> ast.Query:
        """Build one query from its header and body."""
        notes: dict[str, str] = {}
        for note, text in _only(nodes, tuple):
            if note in notes:
                raise Unacceptable(f"duplicate {note} on query {nodes[1].text!r}", _place(nodes[1]))
            notes[note] = text
        parameters = _only(nodes, ast.Parameter)
        seen: set[str] = set()
        for parameter in parameters:
            if parameter.name in seen:
                raise Unacceptable(f"duplicate parameter ${parameter.name}", parameter.span)
            seen.add(parameter.name)
        return ast.Query(
            nodes[1],
            parameters,
            notes.get("@description"),
            notes.get("@instruction"),
            nodes[-2],
            _over(nodes),
        )

    def note(self, nodes: Nodes) -> tuple[str, str]:
        """Build an annotation of a query."""
        if nodes[0] not in _NOTES:
            hint = suggest(str(nodes[0]), _NOTES)
            raise Unacceptable(
                f"expected @description or @instruction, found {nodes[0]}", _at(nodes[0]), hint
            )
        return str(nodes[0]), _text(nodes[2])

    def scalar_param(self, nodes: Nodes) -> ast.Parameter:
        """Build `$p: Base`."""
        return self._parameter(nodes, PropertyType(self._base(nodes[2]), _has(nodes, "QMARK")))

    def list_param(self, nodes: Nodes) -> ast.Parameter:
        """Build `$p: [Base]`."""
        return self._parameter(nodes, PropertyType(self._base(nodes[3]), _has(nodes, "QMARK"), is_list=True))

    def vector_param(self, nodes: Nodes) -> ast.Parameter:
        """Build `$p: Vector(n)`."""
        if nodes[2] != "Vector":
            raise Unacceptable(f"expected Vector(n), found {nodes[2]}(…)", _at(nodes[2]))
        size = min(_whole(nodes[4]), MAX_VECTOR + 1)
        return self._parameter(nodes, PropertyType(Scalar.F32, _has(nodes, "QMARK"), vector=size))

    def _parameter(self, nodes: Nodes, type_: PropertyType) -> ast.Parameter:
        return ast.Parameter(str(nodes[0])[1:], type_, _over(nodes))

    def _base(self, token: Token) -> Scalar:
        base = _BASES.get(str(token))
        if base is None:
            hint = "give the dimension: Vector(n)" if token == "Vector" else suggest(str(token), _BASES)
            raise Unacceptable(f"unknown parameter type {token}, expected a base type", _at(token), hint)
        return base

    def read(self, nodes: Nodes) -> ast.Read:
        """Build the body of a read query."""
        pages: dict[str, ast.PageValue] = {}
        for word, value in _only(nodes, tuple):
            if word in pages:
                raise Unacceptable(f"duplicate {word}", value.span)
            pages[word] = value
        order = next(iter(_only(nodes, ast.Orderings)), None)
        last = order or nodes[1]
        ends = [last.span.end, *(value.span.end for value in pages.values())]
        span = Span(nodes[0].span.start, max(ends))
        return ast.Read(nodes[0], nodes[1], order, pages.get("skip"), pages.get("limit"), span)

    def match(self, nodes: Nodes) -> ast.Match:
        """Build the pattern of a read query."""
        return ast.Match(_trees(nodes), _over(nodes))

    def returns(self, nodes: Nodes) -> ast.Projections:
        """Build the returned columns."""
        return ast.Projections(_trees(nodes), _has(nodes, "DISTINCT"), _over(nodes))

    def order(self, nodes: Nodes) -> ast.Orderings:
        """Build the sort keys."""
        return ast.Orderings(_trees(nodes), _over(nodes))

    def page(self, nodes: Nodes) -> tuple[str, ast.PageValue]:
        """Build `limit` or `skip`."""
        token = nodes[1]
        value: ast.PageValue = (
            _variable(token) if token.type == "VAR" else ast.IntLiteral(_whole(token), _at(token))
        )
        return str(nodes[0]), value

    def proj(self, nodes: Nodes) -> ast.Projection:
        """Build one returned column."""
        alias = nodes[2] if _has(nodes, "AS") else None
        return ast.Projection(nodes[0], alias, _place(nodes[0]).to(_place(alias or nodes[0])))

    def ordering(self, nodes: Nodes) -> ast.Ordering:
        """Build one sort key."""
        descending = nodes[1].type == "DESC" if len(nodes) > 1 else None
        return ast.Ordering(nodes[0], descending, _over(nodes))

    def nearest_ordering(self, nodes: Nodes) -> ast.Ordering:
        """Build a sort key that has no direction."""
        return ast.Ordering(nodes[0], None, nodes[0].span)

    # Clauses

    def negation(self, nodes: Nodes) -> ast.Negation:
        """Build `not { … }`."""
        return ast.Negation(_trees(nodes), _over(nodes))

    def optional_block(self, nodes: Nodes) -> ast.OptionalBlock:
        """Build `optional { … }`."""
        return ast.OptionalBlock(_trees(nodes), _over(nodes))

    def binding(self, nodes: Nodes) -> ast.Binding:
        """Build `$v: Type { … }`."""
        type_name = ast.Name(str(nodes[2]), _at(nodes[2]))
        return ast.Binding(_variable(nodes[0]), type_name, _only(nodes, ast.PropertyMatch), _over(nodes))

    def pmatch(self, nodes: Nodes) -> ast.PropertyMatch:
        """Build `p: value`."""
        return ast.PropertyMatch(nodes[0], nodes[2], _over(nodes))

    def bounds(self, nodes: Nodes) -> ast.Bounds:
        """Build `{low,high}`."""
        high = _whole(nodes[3]) if len(nodes) == 5 else None
        return ast.Bounds(_whole(nodes[1]), high, _over(nodes))

    def traversal(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a edge $b`."""
        edge = nodes[1]
        if isinstance(edge, Token):
            edge = ast.Name(str(edge), _at(edge))
        return self._traversal(nodes, None, edge, False)

    def undirected(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a <edge> $b`."""
        return self._traversal(nodes, None, nodes[2], True)

    def edge_traversal(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a $e:edge $b`."""
        return self._traversal(nodes, nodes[1], nodes[3], False)

    def undirected_edge(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a $e:<edge> $b`."""
        return self._traversal(nodes, nodes[1], nodes[4], True)

    def _traversal(
        self, nodes: Nodes, variable: Token | None, edge: ast.Name, undirected: bool
    ) -> ast.Traversal:
        ends = nodes[:-2] if _has(nodes, "AS") and nodes[-2].type == "AS" else nodes
        return ast.Traversal(
            _variable(nodes[0]),
            None if variable is None else _variable(variable),
            edge,
            undirected,
            next(iter(_only(nodes, ast.Bounds)), None),
            _variable(ends[-1]),
            None if ends is nodes else _variable(nodes[-1]),
            _over(nodes),
        )

    def filter(self, nodes: Nodes) -> ast.Filter:
        """Build a filter clause."""
        return ast.Filter(nodes[0], nodes[0].span)

    # Conditions

    def disjunction(self, nodes: Nodes) -> ast.Condition:
        """Build `a or b`."""
        terms = _trees(nodes)
        return terms[0] if len(terms) == 1 else ast.Or(terms, _over(terms))

    def conjunction(self, nodes: Nodes) -> ast.Condition:
        """Build `a and b`."""
        terms = _trees(nodes)
        return terms[0] if len(terms) == 1 else ast.And(terms, _over(terms))

    def inverse(self, nodes: Nodes) -> ast.Not:
        """Build `not a`."""
        return ast.Not(nodes[1], _over(nodes))

    def group(self, nodes: Nodes) -> ast.Condition:
        """Drop the parentheses: the tree keeps the grouping."""
        inner: ast.Condition = nodes[1]
        return inner

    def comparison(self, nodes: Nodes) -> ast.Comparison:
        """Build `a op b`."""
        return ast.Comparison(nodes[0], ast.Operator(str(nodes[1])), nodes[2], _over(nodes))

    def lead_comparison(self, nodes: Nodes) -> ast.Comparison:
        """Build a comparison that begins a clause with a bare variable."""
        return self.comparison([_variable(nodes[0]), *nodes[1:]])

    def lead_property(self, nodes: Nodes) -> ast.Comparison:
        """Build `$a contains $b.p` at the beginning of a clause."""
        return self.comparison([_variable(nodes[0]), nodes[1], self.property(nodes[2:])])

    def null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `a is null`."""
        return ast.NullTest(nodes[0], _has(nodes, "NOT"), _over(nodes))

    def lead_null_test(self, nodes: Nodes) -> ast.NullTest:
        """Build `$a is null` at the beginning of a clause."""
        return self.null_test([_variable(nodes[0]), *nodes[1:]])

    def field(self, nodes: Nodes) -> ast.Field:
        """Build a property name in `where`."""
        return ast.Field(str(nodes[0]), _at(nodes[0]))

    # Expressions

    def variable(self, nodes: Nodes) -> ast.Variable:
        """Build `$v`."""
        return _variable(nodes[0])

    def property(self, nodes: Nodes) -> ast.PropertyAccess:
        """Build `$v.p`."""
        return ast.PropertyAccess(_variable(nodes[0]), nodes[2], _over(nodes))

    def alias(self, nodes: Nodes) -> ast.AliasReference:
        """Build a reference to a returned column."""
        return ast.AliasReference(str(nodes[0]), _at(nodes[0]))

    any_alias = alias

    def name(self, nodes: Nodes) -> ast.Name:
        """Build a name from any word."""
        return ast.Name(str(nodes[0]), _at(nodes[0]))

    edge_name = name
    plain_edge = name

    def now(self, nodes: Nodes) -> ast.Now:
        """Build `now()`."""
        return ast.Now(_over(nodes))

    def nearest(self, nodes: Nodes) -> ast.Nearest:
        """Build `nearest(…)`."""
        return ast.Nearest(nodes[2], nodes[4], _over(nodes))

    def text_call(self, nodes: Nodes) -> ast.TextCall:
        """Build `search(…)`, `match_text(…)` or `fuzzy(…)`."""
        edits = nodes[6] if len(nodes) > 6 else None
        return ast.TextCall(ast.TextFunction(str(nodes[0])), nodes[2], nodes[4], edits, _over(nodes))

    def bm25(self, nodes: Nodes) -> ast.Bm25:
        """Build `bm25(…)`."""
        return ast.Bm25(nodes[2], nodes[4], _over(nodes))

    def rrf(self, nodes: Nodes) -> ast.Rrf:
        """Build `rrf(…)`."""
        k = nodes[6] if len(nodes) > 6 else None
        return ast.Rrf((nodes[2], nodes[4]), k, _over(nodes))

    def aggregate(self, nodes: Nodes) -> ast.Aggregate:
        """Build an aggregate; only `count` and `collect` take `distinct`."""
        distinct = _has(nodes, "DISTINCT")
        function = ast.AggregateFunction(str(nodes[0]))
        if distinct and function not in (ast.AggregateFunction.COUNT, ast.AggregateFunction.COLLECT):
            raise Unacceptable(f"{function} does not take distinct, expected a value", _at(nodes[2]))
        return ast.Aggregate(function, nodes[-2], distinct, _over(nodes))

    # Literals

    def list(self, nodes: Nodes) -> ast.ListLiteral:
        """Build a list."""
        return ast.ListLiteral(_trees(nodes), _over(nodes))

    def date(self, nodes: Nodes) -> ast.DateLiteral:
        """Build `date("…")`."""
        return ast.DateLiteral(_text(nodes[2]), _over(nodes))

    def datetime(self, nodes: Nodes) -> ast.DateTimeLiteral:
        """Build `datetime("…")`."""
        return ast.DateTimeLiteral(_text(nodes[2]), _over(nodes))

    def string(self, nodes: Nodes) -> ast.StringLiteral:
        """Build a text."""
        return ast.StringLiteral(_text(nodes[0]), _at(nodes[0]))

    def float(self, nodes: Nodes) -> ast.FloatLiteral:
        """Build a number with a fraction part."""
        text = "".join(nodes)
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise Unacceptable("the number is too large for F64", _over(nodes))
        return ast.FloatLiteral(value, text, _over(nodes))

    def int(self, nodes: Nodes) -> ast.IntLiteral:
        """Build a whole number."""
        return ast.IntLiteral(_whole(nodes[-1], len(nodes) == 2), _over(nodes))

    def bool(self, nodes: Nodes) -> ast.BoolLiteral:
        """Build `true` or `false`."""
        return ast.BoolLiteral(nodes[0].type == "TRUE", _at(nodes[0]))

    def null(self, nodes: Nodes) -> ast.NullLiteral:
        """Build `null`."""
        return ast.NullLiteral(_at(nodes[0]))

    # Mutations

    def write(self, nodes: Nodes) -> ast.Write:
        """Build the body of a mutation."""
        return ast.Write(tuple(nodes), _over(nodes))

    def insert(self, nodes: Nodes) -> ast.Insert:
        """Build `insert`."""
        return ast.Insert(self._type(nodes), _only(nodes, ast.Assignment), _over(nodes))

    def update(self, nodes: Nodes) -> ast.Update:
        """Build `update`."""
        return ast.Update(self._type(nodes), _only(nodes, ast.Assignment), nodes[-1], _over(nodes))

    def delete(self, nodes: Nodes) -> ast.Delete:
        """Build `delete`."""
        return ast.Delete(self._type(nodes), nodes[-1], _over(nodes))

    def _type(self, nodes: Nodes) -> ast.Name:
        return ast.Name(str(nodes[1]), _at(nodes[1]))

    def assignment(self, nodes: Nodes) -> ast.Assignment:
        """Build `p: value`."""
        return ast.Assignment(nodes[0], nodes[2], nodes[0].span.to(nodes[2].span))
