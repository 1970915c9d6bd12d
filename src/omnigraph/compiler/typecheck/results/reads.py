"""A read: its stages one after the other, each seeing what the one before it lists."""

from __future__ import annotations

from omnigraph.compiler.ir.pattern import Block
from omnigraph.compiler.ir.values import Parameter
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.clauses import check_match
from omnigraph.compiler.typecheck.results.columns import ResultColumns
from omnigraph.compiler.typecheck.results.order import OrderCheck
from omnigraph.compiler.typecheck.results.pages import check_page
from omnigraph.compiler.typecheck.scope import CheckContext, Scope
from omnigraph.compiler.typecheck.typed import TypedRead, TypedSource


def check_read(
    check: CheckContext, name: str, parameters: tuple[Parameter, ...], body: ast.Read
) -> TypedRead | None:
    """Return the typed read, or None after reporting problems."""
    scope, source = Scope(), None
    for stage in body.stages:
        columns, typed = _check_stage(check, scope, source, name, parameters, stage)
        scope, slots = columns.bind()
        source = None if typed is None else TypedSource((typed,), slots)
    return _check_stage(check, scope, source, name, parameters, body)[1]


def _check_stage(
    check: CheckContext,
    scope: Scope,
    source: TypedSource | None,
    name: str,
    parameters: tuple[Parameter, ...],
    node: ast.Stage | ast.Read,
) -> tuple[ResultColumns, TypedRead | None]:
    """Return the columns of a stage or of the end of a read, and its typed form if there is no problem."""
    match = Block(()) if node.match is None else check_match(check, scope, node.match)
    columns = ResultColumns(check, scope, node.returns, node.having, isinstance(node, ast.Stage))
    orderings = OrderCheck(check, scope, columns, node.order, node.limit is not None).run()
    skip = check_page(check, node.skip, "skip")
    limit = check_page(check, node.limit, "limit")
    match = Block((*match.steps, *check.take_awaited()))
    visible = [found.variable for _, found in sorted(scope.own.items())]
    if check.problems:
        return columns, None
    return columns, TypedRead(
        name,
        parameters,
        tuple(check.variables),
        tuple(item for item in visible if item is not None),
        match,
        tuple(columns.all),
        columns.grouped,
        columns.distinct,
        tuple(item for item in orderings if item is not None),
        skip,
        limit,
        columns.having,
        source,
    )
