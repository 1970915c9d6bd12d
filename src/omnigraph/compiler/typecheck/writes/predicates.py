"""The condition after `where`, over the properties of the row."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir import conditions
from omnigraph.compiler.ir.values import EdgeEnd, EntityId, Parameter, PropertyValue, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.conditions import check_condition, relate
from omnigraph.compiler.typecheck.expressions import LITERALS, check_literal
from omnigraph.compiler.typecheck.patterns.ends import find_key
from omnigraph.compiler.typecheck.properties import PropertyTarget, check_compared
from omnigraph.compiler.typecheck.rows import ONLY_NULL_HINT, check_row_value
from omnigraph.compiler.typecheck.scope import CheckContext, Scope
from omnigraph.compiler.types import Scalar

_GIVEN_VALUES = (ast.NowCall, ast.VariableReference, *LITERALS)
_TEXT_OPERATORS = (ast.Operator.CONTAINS, ast.Operator.STARTS_WITH)


def check_predicate(check: CheckContext, scope: Scope, node: ast.Condition) -> conditions.Condition | None:
    """Return the typed condition of a statement, or None after reporting its problems.

    A property that is compared with a given value is held to that property's type and enum, as an assignment
    is; whatever else is compared follows the rules of filters.
    """
    if isinstance(node, ast.AndCondition | ast.OrCondition):
        terms = [check_predicate(check, scope, term) for term in node.terms]
        known = tuple(term for term in terms if term is not None)
        if len(known) < len(terms):
            return None
        return conditions.All(known) if isinstance(node, ast.AndCondition) else conditions.Any(known)
    if isinstance(node, ast.NotCondition):
        term = check_predicate(check, scope, node.term)
        return None if term is None else conditions.Not(term)
    if isinstance(node, ast.NullTest) and isinstance(node.operand, ast.BareProperty):
        column = _check_column(check, scope, node.operand, only_null=True)
        if column is None:
            return None
        test = conditions.IsNull(column)
        return conditions.Not(test) if node.negated else test
    if not isinstance(node, ast.ComparisonCondition) or node.operator in _TEXT_OPERATORS:
        return check_condition(check, scope, node)
    if not isinstance(node.left, ast.BareProperty) or not isinstance(node.right, _GIVEN_VALUES):
        return check_condition(check, scope, node)
    if isinstance(node.right, ast.VariableReference) and scope.get(node.right.name) is not None:
        return check_condition(check, scope, node)
    column = _check_column(check, scope, node.left)
    if column is None:
        return None
    if isinstance(column, EdgeEnd) and find_key(check, scope, column) is not None:
        return check_condition(check, scope, node)
    value = _check_right_side(check, scope, node, column)
    return None if value is None else relate(check, node.operator, column, value, node.span)


def _check_column(
    check: CheckContext, scope: Scope, node: ast.BareProperty, only_null: bool = False
) -> PropertyValue | EntityId | EdgeEnd | None:
    column = check_row_value(check, scope, node, blobs=True)
    if column is None:
        return None
    owner = scope.row.name if scope.row else ""
    if column.type.scalar is Scalar.BLOB and not only_null:
        message = f"the Blob property {owner}.{node.name} cannot be used in where"
        check.report("T11", message, node.span, ONLY_NULL_HINT)
        return None
    if column.type.is_vector and not only_null:
        check.report("T7", f"the Vector property {owner}.{node.name} cannot be compared", node.span)
        return None
    return column


def _check_right_side(
    check: CheckContext, scope: Scope, node: ast.ComparisonCondition, column: Value
) -> Value | None:
    """Return what is given to be compared with a property."""
    right, name = node.right, node.left.name if isinstance(node.left, ast.BareProperty) else ""
    owner = scope.row.name if scope.row else ""
    target = PropertyTarget(f"{owner}.{name}", replace(column.type, nullable=True))
    if isinstance(right, ast.ListLiteral) and node.operator is ast.Operator.IN:
        members = [check_compared(check, target, item, "T14") for item in right.items]
        return check_literal(check, right) if None not in members else None
    if node.operator is ast.Operator.IN and isinstance(right, ast.VariableReference):
        return _check_list_parameter(check, right)
    if column.type.is_list:
        hint = "ask whether it contains a value"
        check.report("T7", f"{target.subject} is a list, which a where cannot compare", node.span, hint)
        return None
    if not isinstance(right, _GIVEN_VALUES):
        return None
    if isinstance(right, ast.NullLiteral) and not column.type.nullable:
        check.report("T3", f"{target.subject} is never null", right.span)
        return None
    return check_compared(check, target, right, "T14")


def _check_list_parameter(check: CheckContext, node: ast.VariableReference) -> Value | None:
    declared = check.parameters.get(node.name)
    if declared is None:
        check.report("T14", f"variable ${node.name} is not a declared parameter", node.span)
        return None
    return Parameter(node.name, declared)
