"""Aggregates: what they take, and where they stand."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir import values as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.types import PropertyType, Scalar

_FLOAT = PropertyType(Scalar.F64, nullable=True)
_COUNT = PropertyType(Scalar.I64, nullable=True)
_TAKE_MAPS = (ir.AggregateFunction.COUNT, ir.AggregateFunction.COLLECT)


def has_aggregate(node: ast.Expression | ast.Condition) -> bool:
    """Return whether an aggregate is in an expression or condition."""
    left = [node]
    while left:
        found = left.pop()
        if isinstance(found, ast.AggregateCall):
            return True
        left += ast.parts_of(found)
    return False


def check_aggregate(check: CheckContext, scope: Scope, node: ast.AggregateCall) -> ir.Aggregate | None:
    """Return a typed aggregate, or None after reporting a problem."""
    if isinstance(node.argument, ast.Star):
        return ir.Aggregate(node.function, ir.EACH_ROW, False, _COUNT)
    if isinstance(node.argument, ast.AggregateCall):
        message = "unsupported projection expression: an aggregate inside an aggregate"
        check.report(UNCODED, message, node.argument.span)
        return None
    argument = check_expression(check, scope, node.argument)
    if argument is None:
        return None
    if isinstance(argument, ir.EntityId) and isinstance(node.argument, ast.VariableReference):
        # Nodes of different types may have equal ids, and are counted apart.
        united = node.distinct and check.variables[argument.variable].more_types
        argument = ir.EntityKey(argument.variable, argument.optional) if united else argument
    function, type_ = node.function, argument.type
    shaped = type_.is_list or type_.is_vector or (type_.is_map and function not in _TAKE_MAPS)
    numeric = type_.scalar.is_numeric and not shaped
    result = replace(type_, nullable=True)
    problem = None
    if function is ir.AggregateFunction.COUNT:
        result = _COUNT
    elif function in (ir.AggregateFunction.SUM, ir.AggregateFunction.AVG):
        result = _FLOAT
        problem = None if numeric else "a number"
    elif function is ir.AggregateFunction.COLLECT:
        result = replace(type_, nullable=True, is_list=True)
        problem = "a scalar value" if shaped else None
    elif shaped:
        problem = "a scalar value"
    if problem is not None:
        check.report("T8", f"{node.function} needs {problem}, found {type_}", node.argument.span)
        return None
    return ir.Aggregate(function, argument, node.distinct, result)
