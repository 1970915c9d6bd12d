"""The numbers of `limit` and `skip`."""

from __future__ import annotations

from omnigraph.compiler.ir import values as ir
from omnigraph.compiler.ir.queries import PageValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext


def check_page(check: CheckContext, node: ast.PageValue | None, word: str) -> PageValue | None:
    """Return the number of rows of `limit` or `skip`: a literal or an integer parameter."""
    if node is None:
        return None
    if isinstance(node, ast.IntLiteral):
        return ir.Constant(node.value, ir.I64)
    declared = check.parameters.get(node.name)
    if declared is None:
        check.report(
            UNCODED, f"{word} takes an integer or a parameter, ${node.name} is not declared", node.span
        )
        return None
    if declared.is_list or declared.nullable or not declared.scalar.is_integer:
        message = f"{word} needs a non-nullable integer parameter, ${node.name} is {declared}"
        check.report(UNCODED, message, node.span)
        return None
    return ir.Parameter(node.name, declared)
