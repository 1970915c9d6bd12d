"""Conditions of filters to typed conditions in three-valued logic."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.computed import ConditionTruth, ListOf
from omnigraph.compiler.ir.values import BOOL, Constant, EntityId, Now, Parameter, RoundedToF32, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import Span
from omnigraph.compiler.typecheck.expressions import check_expression, check_property, check_text_call
from omnigraph.compiler.typecheck.patterns.ends import name_compared_ends
from omnigraph.compiler.typecheck.scope import CheckContext, Scope
from omnigraph.compiler.typecheck.types import are_alike, are_comparable, convert_for_comparison, element_type
from omnigraph.compiler.types import Scalar

TRUE = Constant(True, replace(BOOL, nullable=False))


def check_condition(check: CheckContext, scope: Scope, node: ast.Condition) -> ir.Condition | None:
    """Return the typed condition, or None after reporting a problem."""
    if isinstance(node, ast.AndCondition | ast.OrCondition):
        terms = tuple(check_condition(check, scope, term) for term in node.terms)
        known = tuple(term for term in terms if term is not None)
        if len(known) < len(terms):
            return None
        return ir.All(known) if isinstance(node, ast.AndCondition) else ir.Any(known)
    if isinstance(node, ast.NotCondition):
        term = check_condition(check, scope, node.term)
        return None if term is None else ir.Not(term)
    if isinstance(node, ast.TextCall):
        match = check_text_call(check, scope, node)
        return None if match is None else ir.Compare(ir.Comparator.EQ, match, TRUE)
    if isinstance(node, ast.NullTest):
        operand = _operand(check, scope, node.operand, bare_nodes=True)
        if operand is None:
            return None
        return ir.Not(ir.IsNull(operand)) if node.negated else ir.IsNull(operand)
    if isinstance(node, ast.TruthTest):
        return _check_truth(check, scope, node)
    left = _operand(check, scope, node.left)
    right = _operand(check, scope, node.right)
    if left is None or right is None:
        return None
    left, right = name_compared_ends(check, scope, node.operator, left, right)
    return relate(check, node.operator, left, right, node.span)


def _check_truth(check: CheckContext, scope: Scope, node: ast.TruthTest) -> ir.Condition | None:
    value = check_expression(check, scope, node.operand)
    if value is None:
        return None
    if value.type.is_list or value.type.is_map or value.type.scalar is not Scalar.BOOL:
        hint = "compare it, as in $v.p = 1"
        check.report("T7", f"a condition must be Bool, found {value.type}", node.span, hint)
        return None
    return value.condition if isinstance(value, ConditionTruth) else ir.Compare(ir.Comparator.EQ, value, TRUE)


def _operand(
    check: CheckContext, scope: Scope, node: ast.Expression, bare_nodes: bool = False
) -> Value | None:
    if isinstance(node, ast.AggregateCall) and scope.groups is None:
        check.report("T7", f"a filter compares scalar operands, {node.function} is an aggregate", node.span)
        return None
    if isinstance(node, ast.PropertyAccess) and bare_nodes:
        return check_property(check, scope, node, blobs=True)
    value = check_expression(check, scope, node)
    if isinstance(value, EntityId) and isinstance(node, ast.VariableReference) and not bare_nodes:
        message = f"a filter compares scalar operands, ${node.name} is a node"
        check.report("T7", message, node.span, f"compare a property, or ${node.name}.id")
        return None
    if value is not None and value.type.is_map and not (bare_nodes and value.type.is_list):
        check.report(
            "T7", "a Map cannot be compared", node.span, "compare an id or a property, as in $v.p = 1"
        )
        return None
    if value is not None and value.type.is_vector and not bare_nodes:
        check.report("T7", "a Vector cannot be compared", node.span, "use nearest(…)")
        return None
    return value


def relate(
    check: CheckContext, operator: ast.Operator, left: Value, right: Value, span: Span
) -> ir.Condition | None:
    """Return the typed comparison of two values, or None after reporting T7."""
    left, right = _align(left, right)
    problem = _problem(operator, left, right)
    if problem is not None:
        check.report("T7", problem, span)
        return None
    if operator is ast.Operator.IN:
        return ir.ListContains(right, left)
    if operator is ast.Operator.STARTS_WITH:
        return ir.TextStartsWith(left, right)
    if operator is ast.Operator.CONTAINS:
        return ir.ListContains(left, right) if left.type.is_list else ir.TextContains(left, right)
    return ir.Compare(ir.Comparator(operator.value), left, right)


def _align(left: Value, right: Value) -> tuple[Value, Value]:
    """Give constants the type of the other side: NULL takes it, and numbers are rounded for F32."""
    return _align_one(left, right), _align_one(right, left)


def _align_one(value: Value, other: Value) -> Value:
    if isinstance(value, ListOf) and value.type.is_list and other.type.is_plain:
        items = tuple(_align_one(item, other) for item in value.items)
        rounded = other.type.scalar is Scalar.F32 and value.type.scalar.is_numeric
        return ListOf(items, replace(value.type, scalar=Scalar.F64) if rounded else value.type)
    if is_all_null(value) and other.type.is_plain:
        return Constant(value.value, replace(other.type, is_list=True, nullable=False, enum=None))
    if isinstance(value, Constant) and (value.value is None or not isinstance(other, Constant)):
        return convert_for_comparison(value, other.type)
    fixed = isinstance(other, Constant | Parameter)
    if isinstance(value, Parameter) and not fixed and other.type.scalar is Scalar.F32:
        scalar = value.type.scalar
        if scalar.is_numeric and scalar is not Scalar.F32 and not value.type.is_vector:
            return RoundedToF32(value)
    return value


def _problem(operator: ast.Operator, left: Value, right: Value) -> str | None:
    """Return why two values cannot be compared, or None."""
    if isinstance(left, Now) or isinstance(right, Now):
        other = right if isinstance(left, Now) else left
        if other.type.is_list or other.type.scalar is not Scalar.DATETIME:
            return f"now() compares with a scalar DateTime only, found {other.type}"
    if operator is ast.Operator.IN:
        return _member_problem(right, left, "in needs a list on its right side")
    if operator is ast.Operator.CONTAINS and left.type.is_list:
        return _member_problem(left, right, "contains needs a list on its left side")
    if operator is ast.Operator.CONTAINS and left.type.scalar is not Scalar.STRING:
        return f"contains needs a list or a String on its left side, found {left.type}"
    if operator in (ast.Operator.CONTAINS, ast.Operator.STARTS_WITH):
        for value in (left, right):
            if value.type.is_list or value.type.scalar is not Scalar.STRING:
                return f"{operator} needs String on both sides, found {value.type}"
        return None
    for value in (left, right):
        if value.type.is_list:
            return f"a list compares with contains or in only, found {value.type}"
    if not are_comparable(left.type, right.type):
        return f"{left.type} and {right.type} cannot be compared"
    return None


def is_all_null(value: Value) -> TypeGuard[Constant]:
    """Return whether a value is a list without a member that has a type."""
    members = value.value if isinstance(value, Constant) else None
    return isinstance(members, tuple) and all(item is None for item in members)


def _member_problem(container: Value, item: Value, wanted: str) -> str | None:
    if not container.type.is_list:
        return f"{wanted}, found {container.type}"
    if item.type.is_list:
        return f"a list has scalar members: expected a scalar right operand, found {item.type}"
    if not are_alike(element_type(container.type).scalar, item.type.scalar):
        return f"a list of {container.type.scalar} has no member of type {item.type}"
    return None
