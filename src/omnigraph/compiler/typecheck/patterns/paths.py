"""Paths: which are searched, the variable that holds one, and the functions that read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnigraph.compiler.catalog.model import EdgeType, Property
from omnigraph.compiler.ir.pattern import Shortest, Variable, VariableKind, Way
from omnigraph.compiler.ir.values import I64, STRING, PathPart, PathValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.patterns.united import find_shared_property
from omnigraph.compiler.typecheck.scope import UNCODED, Bound, CheckContext, Scope
from omnigraph.compiler.types import PropertyType, Scalar

MAX_PATHS = 1000
"""The most paths that a search finds between two nodes."""
_PARTS = {item.value: item for item in (PathPart.NODES, PathPart.EDGES, PathPart.LENGTH, PathPart.COST)}
PATH_NAMES = tuple(_PARTS)
"""The functions of a path; `length` is one of a String, too."""
PATH_HINT = "read nodes($w), edges($w), length($w) or cost($w) of a path $w"


@dataclass(frozen=True, slots=True)
class CheckedPath:
    """The path of a traversal."""

    variable: Variable
    shortest: Shortest | None


def check_path(
    check: CheckContext, scope: Scope, node: ast.Traversal, ways: tuple[Way, ...]
) -> CheckedPath | None:
    """Return the path of a traversal, whose variable becomes bound; None without one, or with a problem."""
    path = node.path
    if path is None:
        return None
    if node.edge_variable is not None:
        message = f"a path has its own edges, and stands beside no edge variable ${node.edge_variable.name}"
        check.report("T26", message, path.span, f"read edges(${path.variable.name})")
    shortest, cost = None, replace(I64, nullable=scope.optional)
    if path.shortest is not None:
        weight = _check_weight(check, path.shortest.weight, ways)
        shortest = Shortest(_check_count(check, path.shortest), weight)
        if node.bounds is not None and node.bounds.low > 1:
            message = "the minimum of hop bounds must be 1 with shortest"
            check.report("T15", message, node.bounds.span, "compare length($w) to ask for longer paths")
        if weight is not None:
            scalar = Scalar.F64 if weight.type.scalar.is_float else Scalar.I64
            cost = PropertyType(scalar, nullable=True)
    variable = bind_found(check, scope, path.variable, VariableKind.PATH)
    if variable is None:
        return None
    check.costs[variable.slot] = cost
    return CheckedPath(variable, shortest)


def bind_found(
    check: CheckContext, scope: Scope, node: ast.VariableReference, kind: VariableKind
) -> Variable | None:
    """Bind the variable of a path or of its length; return None after reporting a name that is taken."""
    name = node.name
    if scope.get(name) is not None or name in check.parameters:
        taken = "a parameter" if name in check.parameters else "already bound"
        what = "path" if kind is VariableKind.PATH else "path length"
        check.report(UNCODED, f"{what} ${name} needs a new name, it is {taken}", node.span)
        return None
    variable = check.new_variable(name, kind, ("",), scope.optional)
    scope.bind(name, Bound(variable))
    return variable


def _check_count(check: CheckContext, node: ast.ShortestBy) -> int:
    count = 1 if node.count is None else node.count
    if not 1 <= count <= MAX_PATHS:
        check.report("T26", f"shortest finds 1 to {MAX_PATHS} paths, not {count}", node.span)
    return count


def _check_weight(check: CheckContext, node: ast.Identifier | None, ways: tuple[Way, ...]) -> Property | None:
    """Return the property that paths are short by; None without one, or after reporting a problem."""
    if node is None:
        return None
    found = [check.catalog.edge(name) for name in sorted({way.edge_type for way in ways})]
    owners: list[EdgeType] = [edge for edge in found if edge is not None]
    weight = find_shared_property(check, owners, node, "T6")
    if weight is None:
        return None
    if not weight.type.is_plain or not weight.type.scalar.is_numeric:
        check.report("T26", f"shortest by needs a number, {node.text!r} is {weight.type}", node.span)
        return None
    return weight


def is_path_function(scope: Scope, node: ast.FunctionCall) -> bool:
    """Return whether a call reads a path: by its name, or as it is called with one."""
    bound = [
        scope.get(item.name) if isinstance(item, ast.VariableReference) else None for item in node.arguments
    ]
    is_path = len(bound) == 1 and bound[0] is not None and bound[0].kind is VariableKind.PATH
    return is_path or (node.name.text in _PARTS and node.name.text != PathPart.LENGTH.value)


def check_path_function(check: CheckContext, scope: Scope, node: ast.FunctionCall) -> PathValue | None:
    """Return what a function reads of a path, or None after reporting a problem."""
    name = node.name.text
    argument = node.arguments[0] if len(node.arguments) == 1 else None
    if not isinstance(argument, ast.VariableReference):
        check.report("T26", f"{name} needs a path, as in {name}($w)", node.span)
        return None
    found = scope.get(argument.name)
    if found is not None and found.variable is None and found.value is None:
        return None
    variable = None if found is None else found.variable
    if variable is None or variable.kind is not VariableKind.PATH:
        hint = f"find one, as in $a edge{{1,3}} $b as path ${argument.name}" if found is None else None
        what = "is not bound" if found is None else "is not a path"
        check.report("T26", f"{name} needs a path, ${argument.name} {what}", argument.span, hint)
        return None
    if name not in _PARTS:
        check.report("T26", f"{name} does not take a path", node.span, PATH_HINT)
        return None
    part, optional = _PARTS[name], variable.optional
    ids = replace(STRING, nullable=optional, is_list=True)
    types = {PathPart.LENGTH: replace(I64, nullable=optional), PathPart.COST: check.costs[variable.slot]}
    return PathValue(variable.slot, part, types.get(part, ids))
