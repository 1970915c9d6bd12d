"""Expressions over columns of rows that are not stored: what the mapping of a load computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError, TypeCheckError
from omnigraph.compiler.catalog.model import Catalog, NodeType, Property
from omnigraph.compiler.ir.values import Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parser import parse
from omnigraph.compiler.source import SourceText, Span
from omnigraph.compiler.typecheck.computed import check_computed
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope, TooManyProblems
from omnigraph.compiler.types import PropertyType

_BEFORE, _AFTER = "query q() { upsert Row { value: (", ") } }"
"""A statement in which an expression is one over a row, whose properties are written bare."""
_NO_CATALOG = Catalog((), (), (), 0)


@dataclass(frozen=True, slots=True)
class ColumnExpression:
    """A parsed expression, and the columns that it names."""

    text: str
    node: ast.Expression
    columns: tuple[str, ...]


@lru_cache(maxsize=256)
def parse_column_expression(text: str) -> ColumnExpression:
    """Parse an expression in which a bare name is a column, or raise ParseError."""
    try:
        file = parse(_BEFORE + text + _AFTER)
    except ParseError as error:
        raise ParseError([_shift(item, text) for item in error.diagnostics]) from None
    body = file.queries[0].body if len(file.queries) == 1 else None
    statements = body.statements if isinstance(body, ast.Write) else ()
    only = statements[0] if len(statements) == 1 else None
    if not isinstance(only, ast.UpsertStatement) or len(only.assignments) != 1:
        whole = SourceText(text).diagnostic("parse_error", "one expression is expected", Span(0, len(text)))
        raise ParseError([whole])
    node = only.assignments[0].value
    parts = list(_parts(node))
    for part in parts:
        if isinstance(part, ast.NowCall):
            problem = SourceText(_BEFORE + text).diagnostic(
                UNCODED, "now() has no meaning in rows of a source", part.span
            )
            raise TypeCheckError([_shift(problem, text)])
    names = {part.name for part in parts if isinstance(part, ast.BareProperty)}
    return ColumnExpression(text, node, tuple(sorted(names)))


@lru_cache(maxsize=1024)
def _type(expression: ColumnExpression, types: tuple[tuple[str, PropertyType], ...]) -> Value:
    text = expression.text
    columns = tuple(Property(0, name, type_) for name, type_ in types)
    check = CheckContext(_NO_CATALOG, SourceText(_BEFORE + text + _AFTER), {}, check_computed)
    try:
        value = check_expression(check, Scope(row=NodeType(0, "Row", 0, columns)), expression.node)
    except TooManyProblems:
        value = None
    if value is None or check.problems:
        raise TypeCheckError([_shift(item, text) for item in check.problems])
    return value


def type_column_expression(expression: ColumnExpression, types: Mapping[str, PropertyType]) -> Value:
    """Return what an expression computes from columns of these types, or raise TypeCheckError."""
    return _type(expression, tuple((name, types[name]) for name in expression.columns))


def _parts(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for item in node:
            yield from _parts(item)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield node
        for item in fields(node):
            yield from _parts(getattr(node, item.name))


def _shift(problem: Diagnostic, text: str) -> Diagnostic:
    """Return a problem with its place in the expression alone."""
    column = problem.column - len(_BEFORE) if problem.line == 1 else problem.column
    line = SourceText(text).line(min(problem.line, text.count("\n") + 1))
    column = max(1, min(column, len(line) + 1))
    width = max(1, min(problem.width, len(line) - column + 1))
    return replace(problem, column=column, source_line=line, width=width, shown_from=0)
