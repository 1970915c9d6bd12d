"""What an assignment stores: a given value, or one that is computed."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir.values import Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.spelling import expression_text
from omnigraph.compiler.typecheck.common_type import as_vector
from omnigraph.compiler.typecheck.expressions import LITERALS, check_expression
from omnigraph.compiler.typecheck.properties import PropertyTarget, check_stored
from omnigraph.compiler.typecheck.scope import CheckContext, Scope
from omnigraph.compiler.typecheck.types import are_comparable
from omnigraph.compiler.types import PropertyType

_MOST_SHOWN_CHARACTERS = 40


def check_assigned(
    check: CheckContext, scope: Scope, target: PropertyTarget, node: ast.Expression
) -> Value | None:
    """Return the value that an assignment stores, or None after reporting a problem."""
    if isinstance(node, (ast.NowCall, *LITERALS)):
        return check_stored(check, target, node)
    if isinstance(node, ast.VariableReference) and scope.get(node.name) is None:
        return check_stored(check, target, node)
    value = check_expression(check, scope, node)
    if value is None:
        return None
    if target.type.is_vector:
        value = as_vector(value)
    problem = _find_problem(target, node, value.type)
    if problem is not None:
        check.report("T7", problem[0], node.span, problem[1])
        return None
    return value


def _find_problem(
    target: PropertyTarget, node: ast.Expression, found: PropertyType
) -> tuple[str, str | None] | None:
    """Return why a computed value does not fit a property, with a hint; None if it fits."""
    text = expression_text(node)
    shown = text if len(text) <= _MOST_SHOWN_CHARACTERS else text[:_MOST_SHOWN_CHARACTERS] + "…"
    problem = f"{target.subject} is {target.type}, {shown} is {replace(found, nullable=False)}"
    if found.map is not None:
        return f"{target.subject} is {target.type}, {shown} is a map, which is not stored", None
    if not are_comparable(target.type, found):
        return problem, None
    if target.type.scalar.is_integer and found.scalar.is_float:
        return problem, "use div(a, b) for a whole quotient, or to_integer(…)"
    return None
