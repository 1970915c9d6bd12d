"""What computes: operators, functions, `case`, and conditions as values."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.functions.registry import COALESCE, FUNCTIONS, ITEM, NAMES, NEGATIVE, find_overload
from omnigraph.compiler.functions.vectors import VECTORS
from omnigraph.compiler.ir.computed import Call, Case, CaseChoice, ConditionTruth
from omnigraph.compiler.ir.conditions import Comparator, Compare
from omnigraph.compiler.ir.values import I64, Constant, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.build_expressions import ENTITY_FUNCTIONS
from omnigraph.compiler.query.tokens import KEYWORDS
from omnigraph.compiler.source import Span, suggest
from omnigraph.compiler.typecheck.clauses import check_block_value
from omnigraph.compiler.typecheck.common_type import as_vector, common_type, give_null_type
from omnigraph.compiler.typecheck.conditions import check_condition
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.patterns.paths import PATH_NAMES, check_path_function, is_path_function
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.typecheck.special_functions import (
    MATCHES,
    check_list,
    check_list_test,
    check_matches,
    count_members,
)
from omnigraph.compiler.types import PropertyType, Scalar

_CALLED = (*ENTITY_FUNCTIONS, MATCHES, *PATH_NAMES, *NAMES)
"""What can be called, but for searches and aggregates."""
_OTHER_SPELLINGS = {
    "contains": "write $a contains $b",
    "starts_with": "write $a starts_with $b",
    "concat": "write $a + $b",
    "cast": "use to_string, to_integer, to_float, to_bool, to_date or to_datetime",
    "mod": "write $a % $b",
    "len": "use length for a String and size for a list",
    "if": "write case when … then … else … end",
}
_LENGTHS = {("length", True): "size for a list", ("size", False): "length for a String"}
"""What is meant, by what was called and whether it was called with a list."""


def check_computed(check: CheckContext, scope: Scope, node: ast.ComputedExpression) -> Value | None:
    """Return the typed value of what computes, or None after reporting a problem."""
    match node:
        case ast.Operation():
            return _call(check, scope, node.operator.value, (node.left, node.right), node.span)
        case ast.Negative():
            return _call(check, scope, NEGATIVE, (node.operand,), node.span)
        case ast.IndexAccess():
            return _call(check, scope, ITEM, (node.list, node.position), node.span)
        case ast.FunctionCall():
            return _check_function(check, scope, node)
        case ast.ListExpression():
            return check_list(check, scope, node)
        case ast.CaseExpression():
            return _check_case(check, scope, node)
        case ast.BlockValue():
            return _check_block_value(check, scope, node)
        case ast.ListTest():
            return check_list_test(check, scope, node)
        case ast.ConditionValue():
            condition = check_condition(check, scope, node.condition)
            return None if condition is None else ConditionTruth(condition)
    raise AssertionError(f"no expression is a {type(node).__name__}")


def _check_block_value(check: CheckContext, scope: Scope, node: ast.BlockValue) -> Value | None:
    if count_members(scope):
        message = (
            f"{node.function} {{ }} cannot stand inside any, all or none: a pattern is matched once a row"
        )
        check.report("T25", message, node.span)
        return None
    found = check_block_value(check, scope, node)
    if node.function is ast.BlockFunction.COUNT:
        return found
    return ConditionTruth(Compare(Comparator.GT, found, Constant(0, I64)))


def _check_function(check: CheckContext, scope: Scope, node: ast.FunctionCall) -> Value | None:
    name = node.name.text
    if is_path_function(scope, node):
        return check_path_function(check, scope, node)
    if name == COALESCE:
        return _check_coalesce(check, scope, node)
    if name in ENTITY_FUNCTIONS:
        check.report("T7", f"{name} needs a node or an edge, as in {name}($v)", node.span)
        return None
    if name == MATCHES:
        return check_matches(check, scope, node)
    if name not in NAMES:
        hint = _OTHER_SPELLINGS.get(name) or suggest(name, [*_CALLED, *KEYWORDS])
        check.report(
            UNCODED, f"unknown function {name!r}", node.name.span, hint or f"there are {_list_names()}"
        )
        return None
    return _call(check, scope, name, node.arguments, node.span)


def _list_names() -> str:
    return ", ".join(sorted({MATCHES, *PATH_NAMES, *NAMES}))


def _call(
    check: CheckContext, scope: Scope, function: str, nodes: tuple[ast.Expression, ...], span: Span
) -> Value | None:
    arguments = _check_arguments(check, scope, nodes)
    if arguments is None:
        return None
    for value, node in zip(arguments, nodes, strict=True):
        if isinstance(value, Constant) and value.value is None:
            check.report(
                "T25",
                f"{_show_function(function)} of null is null",
                node.span,
                "leave it out, or use coalesce",
            )
            return None
    if function in VECTORS:
        arguments = tuple(map(as_vector, arguments))
    types = tuple(item.type for item in arguments)
    form = find_overload(function, types)
    if form is None:
        found = ", ".join(str(replace(item, nullable=False)) for item in types)
        what = f"does not take {found}" if found else "needs a value"
        check.report("T25", f"{_show_function(function)} {what}", span, _hint_at_types(function, types))
        return None
    return Call(function, arguments, form.result(types))


def _show_function(function: str) -> str:
    return {NEGATIVE: "-", ITEM: "[…]"}.get(function, function)


def _hint_at_types(function: str, types: tuple[PropertyType, ...]) -> str:
    if function == ITEM:
        return "an index needs a list and an integer; of a String use substring"
    if function == "+" and any(item.scalar is Scalar.STRING for item in types):
        return "convert the other side with to_string(…)"
    other = _LENGTHS.get((function, types[0].is_list)) if types else None
    if other:
        return f"use {other}"
    return f"it takes {_forms(function)}"


def _forms(function: str) -> str:
    forms = dict.fromkeys(
        f"({', '.join(kind.name for kind in form.parameters)})" for form in FUNCTIONS[function]
    )
    return " or ".join(forms)


def _check_arguments(
    check: CheckContext, scope: Scope, nodes: tuple[ast.Expression, ...]
) -> tuple[Value, ...] | None:
    found = [check_expression(check, scope, node) for node in nodes]
    known = tuple(item for item in found if item is not None)
    return known if len(known) == len(found) else None


def _check_coalesce(check: CheckContext, scope: Scope, node: ast.FunctionCall) -> Value | None:
    arguments = _check_arguments(check, scope, node.arguments)
    if arguments is None:
        return None
    if len(arguments) < 2:
        check.report("T25", "coalesce takes at least two values", node.span)
        return None
    type_ = common_type(check, "coalesce", arguments, node.arguments)
    return (
        None
        if type_ is None
        else Call(COALESCE, tuple(give_null_type(item, type_) for item in arguments), type_)
    )


def _check_case(check: CheckContext, scope: Scope, node: ast.CaseExpression) -> Value | None:
    conditions = [check_condition(check, scope, item.condition) for item in node.branches]
    results = [item.value for item in node.branches]
    values = _check_arguments(check, scope, tuple(results))
    otherwise: Value | None = Constant(None, PropertyType(Scalar.STRING, nullable=True))
    if node.otherwise is not None:
        otherwise = check_expression(check, scope, node.otherwise)
        results.append(node.otherwise)
    if values is None or otherwise is None or None in conditions:
        return None
    every = values if node.otherwise is None else (*values, otherwise)
    common = common_type(check, "case", every, tuple(results))
    if common is None:
        return None
    # What is counted depends on it: a value that is never NULL is counted as rows.
    type_ = replace(common, nullable=otherwise.type.nullable or any(item.type.nullable for item in values))
    branches = tuple(
        CaseChoice(condition, give_null_type(value, type_))
        for condition, value in zip(conditions, values, strict=True)
        if condition is not None
    )
    return Case(branches, give_null_type(otherwise, type_), type_)
