"""What `with` lists: variables that stay what they are, and values that get a name."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.scope import ANONYMOUS, UNCODED, CheckContext, Scope


def find_kept(check: CheckContext, scope: Scope, node: ast.Expression) -> Variable | None:
    """Return the node or edge that an item is, which what follows can traverse; None for a value."""
    if not isinstance(node, ast.VariableReference) or node.name in check.parameters:
        return None
    found = scope.get(node.name)
    kept = None if found is None else found.variable
    return kept if kept is not None and kept.kind in (VariableKind.NODE, VariableKind.EDGE) else None


def name_variable(check: CheckContext, item: ast.ReturnItem) -> str:
    """Return the variable that an item binds, after reporting an item without a name for it."""
    node = item.expression
    if item.alias is None and isinstance(node, ast.AliasReference):
        return ANONYMOUS  # it is reported as no value
    if item.alias is None and not isinstance(node, ast.VariableReference):
        check.report(UNCODED, "with binds variables, and this has no name", item.span, "write … as $name")
        return ANONYMOUS
    name = item.alias.text if item.alias else node.name  # type: ignore[union-attr]
    span = item.alias.span if item.alias else node.span
    if name in check.parameters:
        hint = None if item.alias else "leave it out: parameters are known everywhere"
        check.report(UNCODED, f"${name} needs a new name, it is a parameter", span, hint)
    return name


def report_repeated(check: CheckContext, items: Sequence[ast.ReturnItem]) -> None:
    """Report a variable that `with` binds twice."""
    seen: set[str] = set()
    for item in items:
        named = item.alias or item.expression
        name = getattr(named, "text", None) or getattr(named, "name", None)
        if isinstance(named, ast.Identifier | ast.VariableReference) and name in seen:
            check.report(UNCODED, f"with binds ${name} twice", named.span)
        seen.add(str(name))
