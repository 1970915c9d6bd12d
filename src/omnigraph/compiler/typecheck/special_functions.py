"""Functions with rules of their own: tests of list members, regular expressions, vectors."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.functions.patterns import find_pattern_problem, require_few_options
from omnigraph.compiler.ir.computed import ConditionTruth, ListOf, MemberTest
from omnigraph.compiler.ir.conditions import TextMatches
from omnigraph.compiler.ir.values import Constant, ListMember, Parameter, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.common_type import common_type, give_null_type
from omnigraph.compiler.typecheck.conditions import check_condition
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.scope import UNCODED, Bound, CheckContext, Scope
from omnigraph.compiler.typecheck.types import element_type
from omnigraph.compiler.types import PropertyType, Scalar

MATCHES = "matches"
"""The function that looks for a regular expression."""


def check_list_test(check: CheckContext, scope: Scope, node: ast.ListTest) -> Value | None:
    """Return `any($x in list where …)` and its like."""
    name = node.variable.name
    members = check_expression(check, scope, node.list)
    if name in check.parameters:
        message = f"${name} is a parameter, so a member of a list cannot be called so"
        check.report(UNCODED, message, node.variable.span, "take another name")
        return None
    if members is not None and not members.type.is_list:
        message = f"{node.quantifier} looks at the members of a list, found {members.type}"
        check.report("T25", message, node.list.span)
        members = None
    inner = Scope(
        scope,
        row=scope.row,
        unbound=scope.unbound,
        groups=scope.groups,
        names_columns=scope.names_columns,
        row_variable=scope.row_variable,
    )
    type_ = PropertyType(Scalar.STRING) if members is None else element_type(members.type)
    member = ListMember(count_members(scope), name, type_)
    inner.bind(name, Bound(None, value=None if members is None else member))
    condition = check_condition(check, inner, node.condition)
    if members is None or condition is None:
        return None
    return MemberTest(node.quantifier, members, member, condition)


def check_list(check: CheckContext, scope: Scope, node: ast.ListExpression) -> Value | None:
    """Return `[a, b]`: a list of plain values that have a type together; a member may be NULL."""
    found = [check_expression(check, scope, item) for item in node.items]
    items = tuple(item for item in found if item is not None)
    if len(items) < len(found):
        return None
    for item, part in zip(items, node.items, strict=True):
        if not item.type.is_plain:
            message = f"a list holds plain values, not {replace(item.type, nullable=False)}"
            check.report("T25", message, part.span)
            return None
    type_ = common_type(check, "a list", items, node.items)
    if type_ is None:
        return None
    member = replace(type_, nullable=True)
    items = tuple(give_null_type(item, member) for item in items)
    return ListOf(items, replace(type_, nullable=False, is_list=True))


def count_members(scope: Scope) -> int:
    """Return how many tests of list members a scope is inside of."""
    found = (scope.get(name) for name in scope.names())
    return sum(item is not None and isinstance(item.value, ListMember) for item in found)


def check_matches(check: CheckContext, scope: Scope, node: ast.FunctionCall) -> Value | None:
    """Return `matches(text, pattern)`; the pattern is known before anything is read."""
    if len(node.arguments) != 2:
        check.report("T25", "matches takes a String and a pattern", node.span)
        return None
    text, pattern = (check_expression(check, scope, item) for item in node.arguments)
    if text is None or pattern is None:
        return None
    for value, part in zip((text, pattern), node.arguments, strict=True):
        if value.type.scalar is not Scalar.STRING or not value.type.is_plain:
            check.report("T25", f"matches does not take {value.type}", part.span, "it takes (String, String)")
            return None
    if not isinstance(pattern, Constant | Parameter):
        hint = "look for a part of a String with contains"
        check.report("T25", "a pattern is a literal or a parameter", node.arguments[1].span, hint)
        return None
    if isinstance(pattern, Constant) and isinstance(pattern.value, str):
        problem = find_pattern_problem(pattern.value)
        if problem is not None:
            message = f"the pattern is not a regular expression (RE2): {problem}"
            check.report("T25", message, node.arguments[1].span)
            return None
        require_few_options(pattern.value)
    return ConditionTruth(TextMatches(text, pattern))
