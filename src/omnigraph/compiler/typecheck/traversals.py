"""Traversals: which edge, which way, and what the two ends are."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Direction, Traverse, Variable, VariableKind
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.scope import ANONYMOUS, UNCODED, Bound, CheckContext, Scope

_TEST_WORDS = ("in", "contains", "starts_with")
"""Words that are tests after a value, and edges after a bare variable."""


def check_traversal(check: CheckContext, scope: Scope, node: ast.Traversal) -> Traverse | None:
    """Return the typed traversal, or None after reporting a problem; its variables become bound."""
    before = len(check.problems)
    edge = check.catalog.edge(node.edge.text)
    low, high = _bounds(check, node)
    if edge is None:
        hint = suggest(node.edge.text, [_lower_first(item.name) for item in check.catalog.edges])
        if node.edge.text in _TEST_WORDS:
            hint = (
                f"after a bare variable this is an edge; to test a value write $v.property {node.edge.text} …"
            )
        check.report("T4", f"unknown edge {node.edge.text!r}", node.edge.span, hint)
        _bind_as_faulty(scope, node)
        return None
    if node.undirected and edge.source != edge.target:
        message = f"<{node.edge.text}> needs an edge between equal types, {_describe_edge(edge)}"
        check.report("T22", message, node.edge.span)
    _check_edge_variable(check, scope, node)
    ends = _ends(check, scope, node, edge)
    if ends is None:
        _bind_as_faulty(scope, node)
        return None
    direction, source, target = ends
    edge_variable = _edge_variable(check, scope, node, edge)
    length = _length(check, scope, node)
    if len(check.problems) > before:
        return None
    return Traverse(
        edge.name,
        source.slot,
        target.slot,
        Direction.BOTH if node.undirected else direction,
        low,
        high,
        edge_variable.slot if edge_variable else None,
        length.slot if length else None,
    )


def _bounds(check: CheckContext, node: ast.Traversal) -> tuple[int, int]:
    bounds = node.bounds
    if bounds is None:
        return 1, 1
    if bounds.high is None:
        check.report("T15", f"the hop bounds {{{bounds.low},}} have no maximum", bounds.span)
        return 1, 1
    if bounds.low == 0:
        check.report("T15", "the minimum of hop bounds must be at least 1", bounds.span)
    elif bounds.high < bounds.low:
        check.report("T15", f"the maximum {bounds.high} is below the minimum {bounds.low}", bounds.span)
    if node.edge_variable is not None and (bounds.low, bounds.high) != (1, 1):
        message = f"edge variable ${node.edge_variable.name} needs exactly one hop"
        check.report("T23", message, node.edge_variable.span)
    return bounds.low, bounds.high


def _check_edge_variable(check: CheckContext, scope: Scope, node: ast.Traversal) -> None:
    for end in (node.source, node.target):
        found = scope.get(end.name)
        if found is not None and found.kind is VariableKind.EDGE:
            check.report("T23", f"edge variable ${end.name} cannot be an endpoint", end.span)
    variable = node.edge_variable
    if variable is None or variable.name == ANONYMOUS:
        return
    if variable.name in (node.source.name, node.target.name):
        check.report("T23", f"edge variable ${variable.name} is also an endpoint", variable.span)
    elif scope.get(variable.name) is not None:
        check.report("T23", f"edge variable ${variable.name} is already bound", variable.span)


def _ends(
    check: CheckContext, scope: Scope, node: ast.Traversal, edge: EdgeType
) -> tuple[Direction, Variable, Variable] | None:
    """Find the direction from what is bound, and bind the other end."""
    source, target = _find_variable(scope, node.source), _find_variable(scope, node.target)
    if (source and source.kind is not VariableKind.NODE) or (target and target.kind is not VariableKind.NODE):
        for end, variable in ((node.source, source), (node.target, target)):
            if variable is not None and variable.kind is VariableKind.LENGTH:
                check.report("T5", f"${end.name} is a path length, not a node", end.span)
        return None
    if _is_faulty(scope, node.source) or _is_faulty(scope, node.target):
        return None
    if source is not None:
        if source.type_name not in (edge.source, edge.target):
            _report_wrong_end(check, node.source, source, edge)
            return None
        direction = Direction.FORWARD if source.type_name == edge.source else Direction.BACKWARD
    elif target is not None:
        if target.type_name not in (edge.source, edge.target):
            _report_wrong_end(check, node.target, target, edge)
            return None
        direction = Direction.FORWARD if target.type_name == edge.target else Direction.BACKWARD
    else:
        direction = Direction.FORWARD
    forward = direction is Direction.FORWARD
    first, last = (edge.source, edge.target) if forward else (edge.target, edge.source)
    source = source or _bind(check, scope, node.source, first)
    # Both ends may be the same new variable, so the target is looked up again.
    target = _find_variable(scope, node.target) or _bind(check, scope, node.target, last)
    if target.type_name != last:
        _report_wrong_end(check, node.target, target, edge)
        return None
    return direction, source, target


def _find_variable(scope: Scope, node: ast.VariableReference) -> Variable | None:
    found = scope.get(node.name)
    return found.variable if found else None


def _is_faulty(scope: Scope, node: ast.VariableReference) -> bool:
    found = scope.get(node.name)
    return found is not None and found.variable is None


def _bind(check: CheckContext, scope: Scope, node: ast.VariableReference, type_name: str) -> Variable:
    variable = check.new_variable(node.name, VariableKind.NODE, type_name, scope.optional)
    scope.bind(node.name, Bound(variable))
    return variable


def _edge_variable(check: CheckContext, scope: Scope, node: ast.Traversal, edge: EdgeType) -> Variable | None:
    if node.edge_variable is None:
        return None
    name = node.edge_variable.name
    variable = check.new_variable(name, VariableKind.EDGE, edge.name, scope.optional)
    if scope.get(name) is None:
        scope.bind(name, Bound(variable))
    return variable


def _length(check: CheckContext, scope: Scope, node: ast.Traversal) -> Variable | None:
    if node.length is None:
        return None
    name = node.length.name
    if scope.get(name) is not None or name in check.parameters:
        what = "a parameter" if name in check.parameters else "already bound"
        check.report(UNCODED, f"path length ${name} needs a new name, it is {what}", node.length.span)
        return None
    variable = check.new_variable(name, VariableKind.LENGTH, "", scope.optional)
    scope.bind(name, Bound(variable))
    return variable


def _bind_as_faulty(scope: Scope, node: ast.Traversal) -> None:
    """Mark what a faulty traversal would have bound, so that uses of it are not reported again."""
    for item in (node.source, node.target, node.edge_variable, node.length):
        if item is not None and scope.get(item.name) is None:
            scope.bind(item.name, Bound(None))


def _report_wrong_end(
    check: CheckContext, node: ast.VariableReference, variable: Variable, edge: EdgeType
) -> None:
    check.report("T5", f"${node.name} is a {variable.type_name}, {_describe_edge(edge)}", node.span)


def _describe_edge(edge: EdgeType) -> str:
    return f"edge {edge.name} joins {edge.source} -> {edge.target}"


def _lower_first(name: str) -> str:
    return name[0].lower() + name[1:]
