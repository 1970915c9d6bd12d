"""Turn the parser's raw trees into the syntax tree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias, cast

from lark import Token, Tree

from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import Span
from omnigraph.compiler.strings import unquote

RawTree: TypeAlias = "Tree[Token]"
_WORD_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
_MAX_INTEGER_CHARACTERS = 25


class Converter:
    """Converts raw trees of one text; numbers that fit nowhere are reported."""

    def __init__(self, problems: SchemaProblems) -> None:
        self._problems = problems

    def declaration(self, tree: RawTree) -> ast.Declaration:
        """Convert an interface, node or edge."""
        header = cast(RawTree, tree.children[0])
        tokens = [child for child in tree.children if isinstance(child, Token)]
        members = self.members(tree.children[1:])
        if not tokens:
            return self.header(header, members, None)
        return self.header(header, members, Span(_start(tokens[0]), _end(tokens[-1])))

    def header(
        self, tree: RawTree, members: tuple[ast.Member, ...] = (), braces: Span | None = None
    ) -> ast.Declaration:
        """Convert a header, with the members of its body."""
        names = [_name(child) for child in tree.children if _is(child, "TYPE_NAME")]
        annotations = tuple(self.annotation(child) for child in _subtrees(tree, "annotation"))
        for child in _subtrees(tree, "constraint"):
            self._report_misplaced(child, "node" if tree.data == "node_header" else "edge", names[0].text)
        span = Span(_start(tree), braces.end if braces else _end(tree))
        if tree.data == "interface_header":
            return ast.Interface(names[0], members, span=span, braces=braces)
        if tree.data == "node_header":
            implements = tuple(
                _name(child)
                for clause in _subtrees(tree, "implements")
                for child in clause.children
                if _is(child, "TYPE_NAME")
            )
            return ast.Node(names[0], annotations, implements, members, span=span, braces=braces)
        cards = [self._card(child) for child in _subtrees(tree, "card")]
        name, source, target = names
        card = cards[0] if cards else None
        return ast.Edge(name, source, target, card, annotations, members, span=span, braces=braces)

    def members(self, children: Iterable[Token | RawTree]) -> tuple[ast.Member, ...]:
        """Convert the properties and constraints among `children`."""
        return tuple(
            self._property(child) if child.data == "property" else self._constraint(child)
            for child in children
            if isinstance(child, Tree)
        )

    def annotation(self, tree: RawTree) -> ast.AnnotationExpr:
        """Convert an annotation."""
        name, *rest = tree.children
        arguments = [child for child in rest if not _is(child, "RPAR") and not _is_tree(child, "keyword")]
        return ast.AnnotationExpr(
            _word_at_end(cast(Token, name)),
            self._argument(arguments[0]) if arguments else None,
            tuple(
                ast.Keyword(_name(child.children[0]), self._literal(cast(Token, child.children[1])))
                for child in _subtrees(tree, "keyword")
            ),
            _span(tree),
        )

    def _property(self, tree: RawTree) -> ast.PropertyDeclaration:
        name, written_type, *_ = tree.children
        return ast.PropertyDeclaration(
            _name(name),
            self._type(cast(RawTree, written_type)),
            tuple(self.annotation(child) for child in _subtrees(tree, "annotation")),
            span=_span(tree),
        )

    def _type(self, tree: RawTree) -> ast.TypeExpr:
        shape, nullable, span = tree.children[0], len(tree.children) == 2, _span(tree)
        if isinstance(shape, Token):
            return ast.TypeExpr(str(shape), nullable, span=span)
        if shape.data == "list":
            return ast.TypeExpr(str(shape.children[1]), nullable, is_list=True, span=span)
        if shape.data == "enum":
            values = tuple(_name(child) for child in shape.children if _is(child, "ENUM_VALUE"))
            return ast.TypeExpr("String", nullable, enum=values, span=span)
        return ast.TypeExpr(
            "F32", nullable, vector=self._dimension(cast(Token, shape.children[1])), span=span
        )

    def _constraint(self, tree: RawTree) -> ast.Constraint:
        kind = _word_at_end(cast(Token, tree.children[0])).text
        arguments = tuple(
            self._range(child) if _is_tree(child, "range") else self._scalar(child)
            for child in tree.children[1:-1]
        )
        return ast.Constraint(cast(ast.ConstraintKind, kind), cast(Any, arguments), span=_span(tree))

    def _report_misplaced(self, tree: RawTree, kind: str, owner: str) -> None:
        word = _word_at_end(cast(Token, tree.children[0])).text
        if kind == "edge":
            code, message = Code.EDGE_LEVEL, f"@{word} is not supported on edges, found on edge {owner}"
        else:
            code, message = (
                Code.NODE_LEVEL,
                f"@{word} is only supported on node properties, not on node {owner}",
            )
        allowed = kind == "node" or word in ("unique", "index")
        hint = f"put @{word}(…) into the braces" if allowed else None
        self._problems.add(code, message, _span(tree), hint)

    def _range(self, tree: Token | RawTree) -> ast.RangeBounds:
        children = cast("list[Token]", cast(RawTree, tree).children)
        dots = next(place for place, child in enumerate(children) if child.type == "DOTS")
        low = self._literal(children[0]) if dots else None
        high = self._literal(children[-1]) if dots < len(children) - 1 else None
        return ast.RangeBounds(low, high, _span(tree))

    def _card(self, tree: RawTree) -> ast.Card:
        numbers = [
            self._integer(child)
            for child in tree.children
            if isinstance(child, Token) and child.type == "INT"
        ]
        return ast.Card(numbers[0], numbers[1] if len(numbers) == 2 else None, _span(tree))

    def _argument(self, child: Token | RawTree) -> ast.Scalar | ast.ListArgument:
        if _is_tree(child, "list_literal"):
            items = tuple(self._scalar(item) for item in cast(RawTree, child).children[1:-1])
            return ast.ListArgument(items, _span(child))
        return self._scalar(child)

    def _scalar(self, child: Token | RawTree) -> ast.Scalar:
        if isinstance(child, Token):
            return self._literal(child)
        word = cast(Token, child.children[0])
        return ast.Word(str(word), _span(word))

    def _literal(self, token: Token) -> ast.Literal:
        span = _span(token)
        if token.type == "STRING":
            return ast.Literal(unquote(str(token)), span)
        if token.type == "BOOL":
            return ast.Literal(token == "true", span)
        if "." not in token:
            return ast.Literal(self._integer(token), span)
        value = float(token)
        if math.isinf(value):
            self._problems.add(Code.NUMBER, "number is too large for F64", span)
            value = 0.0
        return ast.Literal(value, span)

    def _integer(self, token: Token) -> int:
        digits = token.lstrip("-").lstrip("0") or "0"
        if len(digits) <= _MAX_INTEGER_CHARACTERS:
            value = -int(digits) if token.startswith("-") else int(digits)
            if _LOWEST <= value <= _HIGHEST:
                return value
        self._problems.add(Code.NUMBER, "number does not fit 64 bits", _span(token))
        return 0

    def _dimension(self, token: Token) -> int:
        digits = token.lstrip("0") or "0"
        if len(digits) <= _MAX_INTEGER_CHARACTERS:
            return int(digits)
        self._problems.add(Code.VECTOR_DIMENSION, "Vector dimension is far too large", _span(token))
        return 1


def _is(child: Token | RawTree, kind: str) -> bool:
    return isinstance(child, Token) and child.type == kind


def _is_tree(child: Token | RawTree, rule: str) -> bool:
    return isinstance(child, Tree) and child.data == rule


def _subtrees(tree: RawTree, rule: str) -> list[RawTree]:
    return [child for child in tree.children if isinstance(child, Tree) and child.data == rule]


def _name(token: Token | RawTree) -> ast.Name:
    return ast.Name(str(token), _span(token))


def _word_at_end(token: Token) -> ast.Name:
    """Return the word after the `@`; white space and comments may come between them."""
    before = len(token.rstrip(_WORD_LETTERS))
    return ast.Name(str(token)[before:], Span(_start(token), _end(token)))


def _span(child: Token | RawTree) -> Span:
    return Span(_start(child), _end(child))


def _start(child: Token | RawTree) -> int:
    while isinstance(child, Tree):
        child = child.children[0]
    return cast(int, child.start_pos)


def _end(child: Token | RawTree) -> int:
    while isinstance(child, Tree):
        child = child.children[-1]
    return cast(int, child.end_pos)
