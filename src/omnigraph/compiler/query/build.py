"""Grammar rules to syntax tree: queries, clauses and statements.

One method per rule, called bottom-up while parsing.
"""

from __future__ import annotations

from dataclasses import replace

from lark import Token

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build_expressions import check_depth
from omnigraph.compiler.query.build_values import ValueBuilder
from omnigraph.compiler.query.expectation import HINTS_BY_WORD
from omnigraph.compiler.query.rule_children import (
    Nodes,
    Unacceptable,
    drop_tokens,
    full_span,
    has_token,
    node_span,
    read_integer,
    read_string,
    select_kind,
    token_span,
    variable_of,
)
from omnigraph.compiler.query.spelling import expression_text
from omnigraph.compiler.source import Span, suggest
from omnigraph.compiler.types import PropertyType, Scalar

MAX_VECTOR_DIMENSION = 2**31 - 1
MAX_STAGES = 64
"""The read of a stage holds the one before it, so that many would be a tree too deep to read."""
_KEEPS_EQUAL = "all"
"""The word after `union` that keeps equal rows."""
_BASES = {item.value: item for item in Scalar}
_NOTES = ("@description", "@instruction")


class Builder(ValueBuilder):
    """Build whole queries; every method takes the children of its rule, tokens included."""

    # Queries

    def query(self, nodes: Nodes) -> ast.Query:
        """Build one query from its header and body."""
        notes: dict[str, str] = {}
        for note, text, span in select_kind(nodes, tuple):
            if note in notes:
                raise Unacceptable(f"duplicate {note} on query {nodes[1].text!r}", span)
            notes[note] = text
        parameters = select_kind(nodes, ast.ParameterDeclaration)
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
            full_span(nodes),
        )

    def note(self, nodes: Nodes) -> tuple[str, str, Span]:
        """Build an annotation of a query."""
        if nodes[0] not in _NOTES:
            hint = suggest(str(nodes[0]), _NOTES)
            raise Unacceptable(
                f"expected @description or @instruction, found {nodes[0]}", token_span(nodes[0]), hint
            )
        return str(nodes[0]), read_string(nodes[2]), token_span(nodes[0])

    def scalar_param(self, nodes: Nodes) -> ast.ParameterDeclaration:
        """Build `$p: Base`."""
        return self._parameter(nodes, PropertyType(self._base(nodes[2]), has_token(nodes, "QMARK")))

    def list_param(self, nodes: Nodes) -> ast.ParameterDeclaration:
        """Build `$p: [Base]`."""
        return self._parameter(
            nodes, PropertyType(self._base(nodes[3]), has_token(nodes, "QMARK"), is_list=True)
        )

    def vector_param(self, nodes: Nodes) -> ast.ParameterDeclaration:
        """Build `$p: Vector(n)`."""
        if nodes[2] != "Vector":
            raise Unacceptable(f"expected Vector(n), found {nodes[2]}(…)", token_span(nodes[2]))
        size = min(read_integer(nodes[4]), MAX_VECTOR_DIMENSION + 1)
        return self._parameter(nodes, PropertyType(Scalar.F32, has_token(nodes, "QMARK"), vector=size))

    def _parameter(self, nodes: Nodes, type_: PropertyType) -> ast.ParameterDeclaration:
        return ast.ParameterDeclaration(str(nodes[0])[1:], type_, full_span(nodes))

    def _base(self, token: Token) -> Scalar:
        base = _BASES.get(str(token))
        if base is None:
            hint = "give the dimension: Vector(n)" if token == "Vector" else suggest(str(token), _BASES)
            raise Unacceptable(
                f"unknown parameter type {token}, expected a base type", token_span(token), hint
            )
        return base

    def read(self, nodes: Nodes) -> ast.Read | ast.Union:
        """Build the body of a read query; order and pages behind a union are its own."""
        parts = select_kind(nodes, ast.Read)
        order, pages, end = _shape(nodes)
        skip, limit = pages.get("skip"), pages.get("limit")
        span = Span(nodes[0].span.start, end)
        if len(parts) == 1:
            return replace(parts[0], order=order, skip=skip, limit=limit, span=span)
        words = select_kind(nodes, ast.Identifier)
        for word in words[1:]:
            if word.text != words[0].text:
                message = "union and union all in one query: their sequence would decide the result"
                raise Unacceptable(message, word.span, "give both the same word, or ask two queries")
        return ast.Union(parts, words[0].text == _KEEPS_EQUAL, order, skip, limit, span)

    def union(self, nodes: Nodes) -> ast.Identifier:
        """Build `union` or `union all`, as the word after `union`, if any."""
        word = nodes[1] if len(nodes) > 1 else None
        if word is not None and word != _KEEPS_EQUAL:
            message = f"expected {_KEEPS_EQUAL!r} or 'match', found {str(word)!r}"
            raise Unacceptable(message, token_span(word), suggest(str(word), [_KEEPS_EQUAL, "match"]))
        return ast.Identifier("" if word is None else str(word), full_span(nodes))

    def part(self, nodes: Nodes) -> ast.Read:
        """Build what a union joins, which alone is a whole read: it ends with the last stage's match."""
        first, returns = nodes[0], select_kind(nodes, ast.ReturnClause)[0]
        stages = list(select_kind(nodes, ast.Stage))
        if len(stages) > MAX_STAGES:
            message = f"the read has more than {MAX_STAGES} stages"
            raise ResourceLimit(message, resource="query stages", limit=MAX_STAGES, actual=len(stages))
        patterns = [first, *(stage.match for stage in stages)]
        stages = [replace(stage, match=match) for stage, match in zip(stages, patterns, strict=False)]
        having = next(iter(select_kind(nodes, ast.HavingClause)), None)
        span = full_span(nodes)
        return ast.Read(patterns[-1], returns, None, None, None, span, having, tuple(stages))

    def stage(self, nodes: Nodes) -> ast.Stage:
        """Build `with { … }`, and for `part` the pattern that follows it."""
        order, pages, end = _shape(nodes)
        closing = next(node for node in nodes if isinstance(node, Token) and node.type == "RBRACE")
        span = token_span(nodes[0]).to(token_span(closing))
        returns = ast.ReturnClause(select_kind(nodes, ast.ReturnItem), has_token(nodes, "DISTINCT"), span)
        having = next(iter(select_kind(nodes, ast.HavingClause)), None)
        match = next(iter(select_kind(nodes, ast.MatchClause)), None)
        skip, limit = pages.get("skip"), pages.get("limit")
        whole = Span(span.start, max(span.end, end))
        return ast.Stage(match, returns, having, order, skip, limit, whole)

    def with_item(self, nodes: Nodes) -> ast.ReturnItem:
        """Build what a stage lists: a variable, or a value and the variable that it becomes."""
        value = nodes[0]
        check_depth(value)
        if not has_token(nodes, "AS"):
            return ast.ReturnItem(value, None, value.span)
        name = variable_of(nodes[2])
        return ast.ReturnItem(value, ast.Identifier(name.name, name.span), value.span.to(name.span))

    def match(self, nodes: Nodes) -> ast.MatchClause:
        """Build the pattern of a query."""
        distinct = has_token(nodes, "DISTINCT")
        if distinct:
            _check_word(nodes[2], "edges")
        return ast.MatchClause(drop_tokens(nodes), full_span(nodes), distinct)

    def returns(self, nodes: Nodes) -> ast.ReturnClause:
        """Build the returned columns."""
        return ast.ReturnClause(drop_tokens(nodes), has_token(nodes, "DISTINCT"), full_span(nodes))

    def having(self, nodes: Nodes) -> ast.HavingClause:
        """Build the conditions over groups."""
        conditions = drop_tokens(nodes)
        for condition in conditions:
            check_depth(condition)
        return ast.HavingClause(conditions, full_span(nodes))

    def order(self, nodes: Nodes) -> ast.OrderClause:
        """Build the sort keys."""
        return ast.OrderClause(drop_tokens(nodes), full_span(nodes))

    def page(self, nodes: Nodes) -> tuple[str, ast.PageValue]:
        """Build `limit` or `skip`."""
        token = nodes[1]
        value: ast.PageValue = (
            variable_of(token)
            if token.type == "VAR"
            else ast.IntLiteral(read_integer(token), token_span(token))
        )
        return str(nodes[0]), value

    def proj(self, nodes: Nodes) -> ast.ReturnItem:
        """Build one returned column."""
        alias = nodes[2] if has_token(nodes, "AS") else None
        value = nodes[0]
        check_depth(value)
        return ast.ReturnItem(value, alias, value.span.to(node_span(alias or value)))

    def all_properties(self, nodes: Nodes) -> ast.ReturnItem:
        """Build `$v.*`."""
        span = full_span(nodes[:3])
        return ast.ReturnItem(ast.AllProperties(variable_of(nodes[0]), span), None, span)

    def ordering(self, nodes: Nodes) -> ast.OrderItem:
        """Build one sort key; a nearest search has no direction, and a column may be called `null`."""
        key = nodes[0]
        check_depth(key)
        if isinstance(key, ast.NullLiteral):
            key = ast.AliasReference("null", key.span)
        if isinstance(key, ast.Nearest) and len(nodes) > 1:
            raise Unacceptable(
                f"unexpected '{nodes[1]}', nearest orders by distance alone: expected ',' or '}}'",
                token_span(nodes[1]),
            )
        descending = nodes[1] == "desc" if len(nodes) > 1 else None
        return ast.OrderItem(key, descending, full_span(nodes))

    # Clauses

    def negation(self, nodes: Nodes) -> ast.Negation:
        """Build `not { … }`."""
        return ast.Negation(drop_tokens(nodes), full_span(nodes))

    def optional_block(self, nodes: Nodes) -> ast.OptionalBlock:
        """Build `optional { … }`."""
        return ast.OptionalBlock(drop_tokens(nodes), full_span(nodes))

    def binding(self, nodes: Nodes) -> ast.Binding:
        """Build `$v: Type { … }`."""
        types = [node for node in nodes if isinstance(node, Token) and node.type == "TYPE"]
        first, *more = (ast.Identifier(str(token), token_span(token)) for token in types)
        matches = select_kind(nodes, ast.PropertyMatch)
        return ast.Binding(variable_of(nodes[0]), first, matches, full_span(nodes), tuple(more))

    def pmatch(self, nodes: Nodes) -> ast.PropertyMatch:
        """Build `p: value`."""
        return ast.PropertyMatch(nodes[0], nodes[2], full_span(nodes))

    def bounds(self, nodes: Nodes) -> ast.Bounds:
        """Build `{low,high}`."""
        high = read_integer(nodes[3]) if len(nodes) == 5 else None
        return ast.Bounds(read_integer(nodes[1]), high, full_span(nodes))

    def traversal(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a edge $b`."""
        edges = select_kind(nodes, ast.Identifier)
        if isinstance(nodes[1], Token):
            edges = (ast.Identifier(str(nodes[1]), token_span(nodes[1])), *edges)
        return self._traversal(nodes, None, edges, False)

    def undirected(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a <edge> $b`."""
        return self._traversal(nodes, None, select_kind(nodes, ast.Identifier), True)

    def edge_traversal(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a $e:edge $b`."""
        return self._traversal(nodes, nodes[1], select_kind(nodes, ast.Identifier), False)

    def undirected_edge(self, nodes: Nodes) -> ast.Traversal:
        """Build `$a $e:<edge> $b`."""
        return self._traversal(nodes, nodes[1], select_kind(nodes, ast.Identifier), True)

    def _traversal(
        self, nodes: Nodes, variable: Token | None, edges: tuple[ast.Identifier, ...], undirected: bool
    ) -> ast.Traversal:
        *ends, last = nodes
        target = last if isinstance(last, Token) else ends[-1]
        return ast.Traversal(
            variable_of(nodes[0]),
            None if variable is None else variable_of(variable),
            edges[0],
            undirected,
            next(iter(select_kind(nodes, ast.Bounds)), None),
            variable_of(target),
            last if isinstance(last, ast.VariableReference) else None,
            full_span(nodes),
            edges[1:],
            last if isinstance(last, ast.FoundPath) else None,
        )

    def path_length(self, nodes: Nodes) -> ast.VariableReference:
        """Build `as $n`."""
        return variable_of(nodes[1])

    def path(self, nodes: Nodes) -> ast.FoundPath:
        """Build `as path $w`."""
        _check_word(nodes[-2], "path")
        return ast.FoundPath(variable_of(nodes[-1]), None, full_span(nodes))

    def shortest(self, nodes: Nodes) -> ast.FoundPath:
        """Build `shortest 3 by weight as path $w`."""
        _check_word(nodes[-2], "path")
        counts = [node for node in nodes if isinstance(node, Token) and node.type == "INT"]
        weight = next(iter(select_kind(nodes, ast.Identifier)), None)
        if weight is not None:
            _check_word(nodes[nodes.index(weight) - 1], "by")
        asked = nodes[:-3]
        shortest = ast.ShortestBy(read_integer(counts[0]) if counts else None, weight, full_span(asked))
        return ast.FoundPath(variable_of(nodes[-1]), shortest, full_span(nodes))

    def filter(self, nodes: Nodes) -> ast.FilterClause:
        """Build a filter clause; a bare variable or literal is none."""
        condition = nodes[0]
        check_depth(condition)
        if isinstance(condition, ast.TruthTest) and not isinstance(
            condition.operand,
            ast.PropertyAccess | ast.FunctionCall | ast.CaseExpression | ast.BlockValue | ast.ListTest,
        ):
            text = expression_text(condition.operand)
            raise Unacceptable(
                f"unexpected {text}: a value alone is not a clause",
                condition.span,
                HINTS_BY_WORD.get(text, "compare it, as in $v.p = 1, or bind a variable, as in $v: Type"),
            )
        return ast.FilterClause(condition, condition.span)

    # Mutations

    def write(self, nodes: Nodes) -> ast.Write:
        """Build the body of a mutation."""
        match = next(iter(select_kind(nodes, ast.MatchClause)), None)
        statements = tuple(node for node in drop_tokens(nodes) if node is not match)
        return ast.Write(statements, full_span(nodes), match)

    def insert(self, nodes: Nodes) -> ast.InsertStatement:
        """Build `insert`."""
        return ast.InsertStatement(
            self._type(nodes), select_kind(nodes, ast.PropertyAssignment), full_span(nodes)
        )

    def upsert(self, nodes: Nodes) -> ast.UpsertStatement:
        """Build `upsert`."""
        return ast.UpsertStatement(
            self._type(nodes), select_kind(nodes, ast.PropertyAssignment), full_span(nodes)
        )

    def update(self, nodes: Nodes) -> ast.UpdateStatement:
        """Build `update`."""
        _check_predicate(nodes[-1])
        return ast.UpdateStatement(
            self._type(nodes), select_kind(nodes, ast.PropertyAssignment), nodes[-1], full_span(nodes)
        )

    def delete(self, nodes: Nodes) -> ast.DeleteStatement:
        """Build `delete`."""
        _check_predicate(nodes[-1])
        return ast.DeleteStatement(self._type(nodes), nodes[-1], full_span(nodes))

    def update_matched(self, nodes: Nodes) -> ast.MatchedUpdateStatement:
        """Build `update $v`."""
        assignments = select_kind(nodes, ast.PropertyAssignment)
        return ast.MatchedUpdateStatement(variable_of(nodes[1]), assignments, full_span(nodes))

    def delete_matched(self, nodes: Nodes) -> ast.MatchedDeleteStatement:
        """Build `delete $v`."""
        return ast.MatchedDeleteStatement(variable_of(nodes[1]), full_span(nodes))

    def _type(self, nodes: Nodes) -> ast.Identifier:
        return ast.Identifier(str(nodes[1]), token_span(nodes[1]))

    def assignment(self, nodes: Nodes) -> ast.PropertyAssignment:
        """Build `p: value`."""
        check_depth(nodes[2])
        return ast.PropertyAssignment(nodes[0], nodes[2], nodes[0].span.to(nodes[2].span))


def _check_word(found: Token, wanted: str) -> None:
    """Refuse a word where the grammar has any name and only one means something."""
    if found != wanted:
        raise Unacceptable(f"expected '{wanted}', found '{found}'", token_span(found))


def _check_predicate(condition: ast.Condition) -> None:
    check_depth(condition)
    if isinstance(condition, ast.TruthTest) and isinstance(condition.operand, ast.BoolLiteral):
        raise Unacceptable(
            f"unexpected {expression_text(condition.operand)}: a value alone is not a condition",
            condition.span,
            "every row has an id: `where id is not null` selects all of them",
        )


def _shape(nodes: Nodes) -> tuple[ast.OrderClause | None, dict[str, ast.PageValue], int]:
    """Return order and pages of a read or stage, and where they end."""
    pages: dict[str, ast.PageValue] = {}
    for word, value in select_kind(nodes, tuple):
        if word in pages:
            raise Unacceptable(f"duplicate {word}", value.span)
        pages[word] = value
    order = next(iter(select_kind(nodes, ast.OrderClause)), None)
    parts = [node for node in nodes if not isinstance(node, Token | tuple)]
    return order, pages, max(item.span.end for item in (*parts, *pages.values()))
