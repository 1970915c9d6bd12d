"""The grammar of the language's first version, as it was: ordered choice, the first that fits wins.

It returns the same syntax tree as our parser, or None. Words that mean something are not taken as
aliases outside `order`, where they never passed the later checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lark import Token

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.tokens import KEYWORDS, scan
from omnigraph.compiler.source import NOWHERE
from omnigraph.compiler.types import PropertyType, Scalar

ADDED = frozenset({"optional", "and", "or", "in", "is", "null", "skip", "distinct", "collect"})
"""Words that were plain identifiers."""
_MEANT = KEYWORDS - ADDED
_BASES = {item.value: item for item in Scalar}


class _Fail(Exception):
    pass


def parse_original(text: str) -> ast.File | None:
    """Parse a file as the first version did."""
    tokens = scan(text).tokens
    parser = _Peg(tokens)
    try:
        queries = parser.many(parser.query)
    except _Fail:
        return None
    return ast.File(tuple(queries)) if parser.at == len(tokens) else None


class _Peg:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at = tokens, 0

    # Combinators

    def token(self, *texts: str, kind: str | None = None) -> str:
        if self.at >= len(self.tokens):
            raise _Fail
        found = self.tokens[self.at]
        if (texts and str(found) not in texts) or (kind and found.type != kind) or found.type == "STRAY":
            raise _Fail
        if texts and found.type == "STRING":
            raise _Fail
        self.at += 1
        return str(found)

    def maybe(self, rule: Callable[[], Any]) -> Any:
        start = self.at
        try:
            return rule()
        except _Fail:
            self.at = start
            return None

    def many(self, rule: Callable[[], Any], least: int = 0) -> list[Any]:
        found = []
        while (item := self.maybe(rule)) is not None:
            found.append(item)
        if len(found) < least:
            raise _Fail
        return found

    def first(self, *rules: Callable[[], Any]) -> Any:
        for rule in rules:
            found = self.maybe(rule)
            if found is not None:
                return found
        raise _Fail

    def separated(self, rule: Callable[[], Any]) -> list[Any]:
        return [rule(), *self.many(lambda: (self.token(","), rule())[1])]

    # Tokens

    def ident(self) -> str:
        text = self.token()
        if not (text[0].islower() or text[0] == "_"):
            raise _Fail
        return text

    def name(self) -> ast.Identifier:
        return ast.Identifier(self.ident(), NOWHERE)

    def type_name(self) -> ast.Identifier:
        return ast.Identifier(self.token(kind="TYPE"), NOWHERE)

    def var(self) -> ast.VariableReference:
        return ast.VariableReference(self.token(kind="VAR")[1:], NOWHERE)

    def string(self) -> str:
        text = self.token(kind="STRING")[1:-1]
        out, at = "", 0
        while at < len(text):
            if text[at] == "\\":
                plain = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}.get(text[at + 1])
                if plain is None:
                    raise _Fail
                out, at = out + plain, at + 2
            else:
                out, at = out + text[at], at + 1
        return out

    def whole(self) -> int:
        value = int(self.token(kind="INT")[:30])
        if value > 2**63 - 1:
            raise _Fail
        return value

    # Queries

    def query(self) -> ast.Query:
        self.token("query")
        name = self.name()
        self.token("(")
        params = self.maybe(lambda: self.separated(self.param)) or []
        self.token(")")
        notes = self.many(self.note)
        self.token("{")
        body = self.first(self.read, self.write)
        self.token("}")
        if len({item for item, _ in notes}) < len(notes) or len({item.name for item in params}) < len(params):
            raise _Fail
        given = dict(notes)
        return ast.Query(
            name, tuple(params), given.get("@description"), given.get("@instruction"), body, NOWHERE
        )

    def note(self) -> tuple[str, str]:
        word = self.token("@description", "@instruction")
        self.token("(")
        text = self.string()
        self.token(")")
        return word, text

    def param(self) -> ast.ParameterDeclaration:
        name = self.var().name
        self.token(":")
        type_ = self.first(self.list_type, self.vector_type, self.base_type)
        nullable = self.maybe(lambda: self.token("?")) is not None
        full = PropertyType(type_.scalar, nullable, type_.is_list, vector=type_.vector)
        return ast.ParameterDeclaration(name, full, NOWHERE)

    def base_type(self) -> PropertyType:
        name = self.token(kind="TYPE")
        if name not in _BASES:
            raise _Fail
        return PropertyType(_BASES[name])

    def list_type(self) -> PropertyType:
        self.token("[")
        inner = self.base_type()
        self.token("]")
        return PropertyType(inner.scalar, is_list=True)

    def vector_type(self) -> PropertyType:
        self.token("Vector")
        self.token("(")
        size = min(self.whole(), 2**31)
        self.token(")")
        return PropertyType(Scalar.F32, vector=size)

    def read(self) -> ast.Read:
        self.token("match")
        self.token("{")
        clauses = self.many(self.clause, 1)
        self.token("}")
        self.token("return")
        self.token("{")
        items = self.many(self.proj, 1)
        self.token("}")
        order = self.maybe(self.order)
        limit = self.maybe(lambda: (self.token("limit"), ast.IntLiteral(self.whole(), NOWHERE))[1])
        return ast.Read(
            ast.MatchClause(tuple(clauses), NOWHERE),
            ast.ReturnClause(tuple(items), False, NOWHERE),
            order,
            None,
            limit,
            NOWHERE,
        )

    def order(self) -> ast.OrderClause:
        self.token("order")
        self.token("{")
        items = self.separated(self.ordering)
        self.token("}")
        return ast.OrderClause(tuple(items), NOWHERE)

    # Clauses, tried in this order

    def clause(self) -> Any:
        return self.first(self.negation, self.binding, self.traversal, self.filter, self.text_filter)

    def negation(self) -> ast.Negation:
        self.token("not")
        self.token("{")
        clauses = self.many(self.clause, 1)
        self.token("}")
        return ast.Negation(tuple(clauses), NOWHERE)

    def binding(self) -> ast.Binding:
        variable = self.var()
        self.token(":")
        type_name = self.type_name()
        matches = self.maybe(self.matches) or ()
        return ast.Binding(variable, type_name, matches, NOWHERE)

    def matches(self) -> tuple[ast.PropertyMatch, ...]:
        self.token("{")
        items = self.separated(self.match)
        self.maybe(lambda: self.token(","))
        self.token("}")
        return tuple(items)

    def match(self) -> ast.PropertyMatch:
        name = self.name()
        self.token(":")
        return ast.PropertyMatch(name, self.value(), NOWHERE)

    def traversal(self) -> ast.Traversal:
        source = self.var()
        edge_variable = self.maybe(lambda: (self.var(), self.token(":"))[0])
        undirected = self.maybe(lambda: self.token("<")) is not None
        edge = self.name()
        if edge.text == "not":
            raise _Fail
        if undirected:
            self.token(">")
        bounds = self.maybe(self.bounds)
        return ast.Traversal(source, edge_variable, edge, undirected, bounds, self.var(), None, NOWHERE)

    def bounds(self) -> ast.Bounds:
        self.token("{")
        low = self.whole()
        self.token(",")
        high = self.maybe(self.whole)
        self.token("}")
        return ast.Bounds(low, high, NOWHERE)

    def filter(self) -> ast.FilterClause:
        left = self.expr()
        operator = self.token("starts_with", "contains", ">=", "<=", "!=", ">", "<", "=")
        return ast.FilterClause(
            ast.ComparisonCondition(left, ast.Operator(operator), self.expr(), NOWHERE), NOWHERE
        )

    def text_filter(self) -> ast.FilterClause:
        return ast.FilterClause(self.text_call(), NOWHERE)

    # Expressions

    def proj(self) -> ast.ReturnItem:
        value = self.expr()
        alias = self.maybe(lambda: (self.token("as"), self.name())[1])
        self.maybe(lambda: self.token(","))
        return ast.ReturnItem(value, alias, NOWHERE)

    def ordering(self) -> ast.OrderItem:
        nearest = self.maybe(self.nearest)
        if nearest is not None:
            return ast.OrderItem(nearest, None, NOWHERE)
        value = self.first(self.known, lambda: ast.AliasReference(self.ident(), NOWHERE))
        direction = self.maybe(lambda: self.token("asc", "desc"))
        return ast.OrderItem(value, None if direction is None else direction == "desc", NOWHERE)

    def expr(self) -> Any:
        return self.first(self.known, self.alias)

    def known(self) -> Any:
        return self.first(
            self.now,
            self.nearest,
            self.text_call,
            self.bm25,
            self.rrf,
            self.aggregate,
            self.property,
            self.var,
            self.literal,
        )

    def alias(self) -> ast.AliasReference:
        text = self.ident()
        if text in KEYWORDS:
            raise _Fail
        return ast.AliasReference(text, NOWHERE)

    def now(self) -> ast.NowCall:
        for text in ("now", "(", ")"):
            self.token(text)
        return ast.NowCall(NOWHERE)

    def property(self) -> ast.PropertyAccess:
        variable = self.var()
        self.token(".")
        return ast.PropertyAccess(variable, self.name(), NOWHERE)

    def call(self, words: tuple[str, ...], *rules: Callable[[], Any]) -> list[Any]:
        found: list[Any] = [self.token(*words)]
        self.token("(")
        for number, rule in enumerate(rules):
            if number:
                self.token(",")
            found.append(rule())
        return found

    def nearest(self) -> ast.Nearest:
        _, field, query = self.call(("nearest",), self.property, self.expr)
        self.token(")")
        return ast.Nearest(field, query, NOWHERE)

    def text_call(self) -> ast.TextCall:
        word, field, text = self.call(("search", "match_text", "fuzzy"), self.expr, self.expr)
        edits = self.maybe(lambda: (self.token(","), self.expr())[1]) if word == "fuzzy" else None
        self.token(")")
        return ast.TextCall(ast.TextFunction(word), field, text, edits, NOWHERE)

    def bm25(self) -> ast.Bm25:
        _, field, text = self.call(("bm25",), self.expr, self.expr)
        self.token(")")
        return ast.Bm25(field, text, NOWHERE)

    def rrf(self) -> ast.Rrf:
        ranking = lambda: self.first(self.nearest, self.bm25)  # noqa: E731
        _, left, right = self.call(("rrf",), ranking, ranking)
        k = self.maybe(lambda: (self.token(","), self.expr())[1])
        self.token(")")
        return ast.Rrf((left, right), k, NOWHERE)

    def aggregate(self) -> ast.AggregateCall:
        word, argument = self.call(("count", "sum", "avg", "min", "max"), self.expr)
        self.token(")")
        return ast.AggregateCall(ast.AggregateFunction(word), argument, False, NOWHERE)

    def value(self) -> Any:
        return self.first(self.literal, self.var, self.now)

    def literal(self) -> Any:
        return self.first(self.list_literal, self.moment, self.plain)

    def list_literal(self) -> ast.ListLiteral:
        self.token("[")
        items = self.maybe(lambda: self.separated(self.literal)) or []
        self.token("]")
        return ast.ListLiteral(tuple(items), NOWHERE)

    def moment(self) -> Any:
        word = self.token("date", "datetime")
        self.token("(")
        text = self.string()
        self.token(")")
        return ast.DateLiteral(text, NOWHERE) if word == "date" else ast.DateTimeLiteral(text, NOWHERE)

    def plain(self) -> Any:
        text = self.maybe(self.string)
        if text is not None:
            return ast.StringLiteral(text, NOWHERE)
        number = self.maybe(lambda: self.token(kind="FLOAT"))
        if number is not None:
            return ast.FloatLiteral(float(number), number, NOWHERE)
        whole = self.maybe(self.whole)
        if whole is not None:
            return ast.IntLiteral(whole, NOWHERE)
        return ast.BoolLiteral(self.token("true", "false") == "true", NOWHERE)

    # Mutations

    def write(self) -> ast.Write:
        return ast.Write(tuple(self.many(self.statement, 1)), NOWHERE)

    def statement(self) -> Any:
        word = self.token("insert", "update", "delete")
        type_name = self.type_name()
        if word == "delete":
            self.token("where")
            return ast.DeleteStatement(type_name, self.predicate(), NOWHERE)
        if word == "update":
            self.token("set")
        self.token("{")
        items = tuple(self.many(self.assignment, 1))
        self.token("}")
        if word == "insert":
            return ast.InsertStatement(type_name, items, NOWHERE)
        self.token("where")
        return ast.UpdateStatement(type_name, items, self.predicate(), NOWHERE)

    def assignment(self) -> ast.PropertyAssignment:
        name = self.name()
        self.token(":")
        value = self.value()
        self.maybe(lambda: self.token(","))
        return ast.PropertyAssignment(name, value, NOWHERE)

    def predicate(self) -> ast.ComparisonCondition:
        field = ast.BareProperty(self.ident(), NOWHERE)
        operator = self.token(">=", "<=", "!=", ">", "<", "=")
        return ast.ComparisonCondition(field, ast.Operator(operator), self.value(), NOWHERE)
