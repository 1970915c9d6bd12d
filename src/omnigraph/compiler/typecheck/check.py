"""Check one query: all its problems at once, or its typed form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.pattern import Block, Variable, VariableKind
from omnigraph.compiler.ir.queries import Statement
from omnigraph.compiler.ir.reading import values_read
from omnigraph.compiler.ir.values import (
    BOOL,
    Constant,
    EntityId,
    EntityKey,
    Parameter,
    PathLength,
    Value,
    path_rank,
)
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build import MAX_VECTOR_DIMENSION
from omnigraph.compiler.source import SourceText
from omnigraph.compiler.typecheck.clauses import check_match
from omnigraph.compiler.typecheck.computed import check_computed
from omnigraph.compiler.typecheck.results.reads import check_read
from omnigraph.compiler.typecheck.results.unions import check_union
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope, TooManyProblems
from omnigraph.compiler.typecheck.typed import TypedProjection, TypedQuery, TypedRead, TypedWrite
from omnigraph.compiler.typecheck.writes.statements import check_statement
from omnigraph.compiler.types import Scalar

RESERVED_PARAMETER = "__nanograph_now"
"""A parameter name that cannot be declared, as in the first version."""
D2_HINT = "split it into one query that inserts and updates and one that deletes"


def check_query(
    query: ast.Query, catalog: Catalog, source: SourceText
) -> tuple[TypedQuery | None, tuple[Diagnostic, ...]]:
    """Return the typed query and no problems, or None and all problems; rule D2 is not part of this."""
    parameters = {item.name: item.type for item in query.parameters}
    check = CheckContext(catalog, source, parameters, check_computed)
    typed: TypedQuery | None = None
    with suppress(TooManyProblems):
        typed = _check(check, query)
    problems = sorted(check.problems, key=lambda item: (item.line, item.column))
    return (None if problems else typed), tuple(problems)


def _check(check: CheckContext, query: ast.Query) -> TypedQuery | None:
    _check_parameters(check, query)
    parameters = tuple(Parameter(item.name, item.type) for item in query.parameters)
    if isinstance(query.body, ast.Write):
        return _write(check, query.name.text, parameters, query.body)
    if isinstance(query.body, ast.Union):
        return check_union(check, query.name.text, parameters, query.body)
    return check_read(check, query.name.text, parameters, query.body)


def check_d2(query: ast.Query, source: SourceText) -> Diagnostic | None:
    """Return the problem of a mutation that both deletes and inserts or updates."""
    if not isinstance(query.body, ast.Write):
        return None
    deletes = [
        isinstance(node, ast.DeleteStatement | ast.MatchedDeleteStatement) for node in query.body.statements
    ]
    if all(deletes) or not any(deletes):
        return None
    odd = query.body.statements[deletes.index(not deletes[0])]
    message = f"query {query.name.text!r} mixes delete with insert or update"
    return source.diagnostic("D2", message, odd.span, D2_HINT)


def _check_parameters(check: CheckContext, query: ast.Query) -> None:
    for item in query.parameters:
        if item.name == RESERVED_PARAMETER:
            check.report(UNCODED, f"the parameter name ${item.name} is reserved", item.span)
        if item.type.vector is not None and not 1 <= item.type.vector <= MAX_VECTOR_DIMENSION:
            check.report(UNCODED, f"bad parameter type: Vector dimension {item.type.vector}", item.span)
        if item.type.is_list and item.type.scalar is Scalar.BLOB:
            check.report(UNCODED, "bad parameter type: a list of Blob", item.span)


def _write(
    check: CheckContext, name: str, parameters: tuple[Parameter, ...], body: ast.Write
) -> TypedWrite | None:
    scope, match = None, None
    if body.match is not None:
        scope = Scope(unbound="T14")
        match = check_match(check, scope, body.match)
    statements = [check_statement(check, node, scope) for node in body.statements]
    if match is not None:
        match = Block((*match.steps, *check.take_awaited()))
    if check.problems:
        return None
    known = tuple(item for item in statements if item is not None)
    read = None
    if scope is not None and match is not None:
        visible = tuple(found.variable for _, found in sorted(scope.own.items()) if found.variable)
        read = TypedRead(
            name,
            parameters,
            tuple(check.variables),
            visible,
            match,
            tuple(_read_columns(check, visible, known)),
            grouped=False,
            distinct=False,
            orderings=(),
            skip=None,
            limit=None,
        )
    return TypedWrite(name, parameters, known, read)


def _read_columns(
    check: CheckContext, visible: tuple[Variable, ...], statements: tuple[Statement, ...]
) -> Iterator[TypedProjection]:
    """Yield what a match returns to its statements: what its variables are, and what the statements read."""
    own: list[Value] = []
    for item in visible:
        if item.kind is VariableKind.PATH:
            own.append(path_rank(item.slot, item.optional))
            continue
        one = EntityKey if check.variables[item.slot].more_types else EntityId
        value_of = PathLength if item.kind is VariableKind.LENGTH else one
        own.append(value_of(item.slot, item.optional))
    values = dict.fromkeys([*own, *values_read(statements)]) or {Constant(True, BOOL): None}
    for at, value in enumerate(values):
        yield TypedProjection(f"c{at}", value)
