"""Statements that write what a `match` before them has found."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.ir.values import EntityId, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.patterns.united import describe_kind, describe_types
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope


def find_matched(
    check: CheckContext, scope: Scope | None, node: ast.VariableReference
) -> tuple[Variable, NodeType | EdgeType] | None:
    """Return the variable that is to be written and its type, or None after reporting why there is none."""
    found = scope.get(node.name) if scope is not None else None
    if found is None:
        hint = None if scope is not None else "match it before: match { … } update $v set { … }"
        check.report("T14", f"variable ${node.name} is not bound by a match", node.span, hint)
        return None
    variable = found.variable
    if variable is None:
        return None
    if variable.kind in (VariableKind.LENGTH, VariableKind.PATH):
        what = describe_kind(variable)
        check.report(UNCODED, f"${node.name} is {what}, which is not stored", node.span)
        return None
    if variable.more_types:
        message = f"${node.name} is a {describe_types(variable)}: one statement writes one type"
        check.report(
            UNCODED, message, node.span, f"bind it to one type, as ${node.name}: {variable.type_name}"
        )
        return None
    (owner,) = check.owners(variable)
    return variable, owner


def check_end(check: CheckContext, edge: EdgeType, name: str, value: Value, node: ast.Expression) -> bool:
    """Return whether a node variable fits the end of an edge, after reporting T5 if it does not."""
    if not isinstance(value, EntityId) or not isinstance(node, ast.VariableReference):
        return True
    variable = check.variables[value.variable]
    wanted = edge.source if name == "from" else edge.target
    if variable.kind is VariableKind.NODE and set(variable.types) == {wanted}:
        return True
    found = describe_types(variable)
    check.report("T5", f"{edge.name}.{name} is a {wanted}, ${node.name} is a {found}", node.span)
    return False


def refuse_where(check: CheckContext, node: ast.UpdateStatement | ast.DeleteStatement) -> None:
    """Report a statement that selects rows itself, after a match."""
    word = "update" if isinstance(node, ast.UpdateStatement) else "delete"
    form = "update $v set { … }" if word == "update" else "delete $v"
    message = f"after match, {word} names what was matched"
    check.report(UNCODED, message, node.type_name.span, f"write {form}, or split it into two queries")
