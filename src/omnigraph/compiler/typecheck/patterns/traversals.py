"""Traversals: which edge, which way, and what the two ends are."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Traverse, Variable, VariableKind, Way
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.patterns.paths import bind_found, check_path
from omnigraph.compiler.typecheck.patterns.united import describe_kind, describe_types
from omnigraph.compiler.typecheck.patterns.ways import (
    ANY_EDGE,
    BoundEnds,
    ChosenWays,
    choose_ways_of_hops,
    choose_ways_of_one_hop,
    describe_edge,
    is_any_edge,
)
from omnigraph.compiler.typecheck.scope import ANONYMOUS, Bound, CheckContext, Scope

_TEST_WORDS = ("in", "contains", "starts_with")
"""Words that are tests after a value, and edges after a bare variable."""


def check_traversal(check: CheckContext, scope: Scope, node: ast.Traversal) -> Traverse | None:
    """Return the typed traversal, or None after reporting a problem; its variables become bound."""
    before = len(check.problems)
    low, high = _bounds(check, node)
    edges = _find_edges(check, node)
    if edges is None:
        _bind_as_faulty(scope, node)
        return None
    _check_edge_variable(check, scope, node)
    related = _relate(check, scope, node, edges, (low, high) == (1, 1))
    if related is None:
        _bind_as_faulty(scope, node)
        return None
    source, target = related.source, related.target
    edge_variable = _edge_variable(check, scope, node, related.ways)
    length = _length(check, scope, node)
    path = check_path(check, scope, node, related.ways)
    if len(check.problems) > before:
        return None
    first, *more = related.ways
    return Traverse(
        first.edge_type,
        source.slot,
        target.slot,
        first.direction,
        low,
        high,
        edge_variable.slot if edge_variable else None,
        length.slot if length else None,
        tuple(more),
        path.variable.slot if path else None,
        path.shortest if path else None,
    )


def _find_edges(check: CheckContext, node: ast.Traversal) -> list[EdgeType] | None:
    """Return the edges that a traversal names, each once; None after reporting a problem."""
    named = (node.edge, *node.more)
    if is_any_edge(node):
        return list(check.catalog.edges)
    found: dict[str, EdgeType] = {}
    for item in named:
        edge = check.catalog.edge(item.text)
        if edge is None:
            _report_unknown_edge(check, node, item)
            return None
        found[edge.name] = edge
        if node.undirected and edge.source != edge.target:
            message = f"<{item.text}> needs an edge between equal types, {describe_edge(edge)}"
            check.report("T22", message, item.span)
    return list(found.values())


def _report_unknown_edge(check: CheckContext, node: ast.Traversal, item: ast.Identifier) -> None:
    hint = suggest(item.text, [_lower_first(edge.name) for edge in check.catalog.edges])
    if item.text in _TEST_WORDS:
        hint = f"after a bare variable this is an edge; to test a value write $v.property {item.text} …"
    if item.text == ANY_EDGE and node.more:
        hint = f"{ANY_EDGE} is any edge, and stands alone"
    check.report("T4", f"unknown edge {item.text!r}", item.span, hint)


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


def _relate(
    check: CheckContext, scope: Scope, node: ast.Traversal, edges: list[EdgeType], is_one_hop: bool
) -> Related | None:
    """Find which way each edge is followed from what is bound, and bind the other end."""
    source, target = _find_variable(scope, node.source), _find_variable(scope, node.target)
    if (source and source.kind is not VariableKind.NODE) or (target and target.kind is not VariableKind.NODE):
        for end, variable in ((node.source, source), (node.target, target)):
            if variable is not None and not variable.type_name:
                check.report("T5", f"${end.name} is {describe_kind(variable)}, not a node", end.span)
        return None
    if _is_faulty(scope, node.source) or _is_faulty(scope, node.target):
        return None
    is_loop = node.source.name == node.target.name != ANONYMOUS
    ends = BoundEnds(source.types if source else None, target.types if target else None, is_loop)
    choose = choose_ways_of_one_hop if is_one_hop else choose_ways_of_hops
    chosen = choose(edges, ends, node.undirected, is_any_edge(node))
    if not isinstance(chosen, ChosenWays):
        _report_wrong_end(check, node, source, target, chosen)
        return None
    source = source or _bind(check, scope, node.source, chosen.near)
    # Both ends may be the same new variable, so the target is looked up again.
    target = _find_variable(scope, node.target) or _bind(check, scope, node.target, chosen.far)
    return Related(chosen.ways, source, target)


@dataclass(frozen=True, slots=True)
class Related:
    """The ways of a traversal, and its two ends."""

    ways: tuple[Way, ...]
    source: Variable
    target: Variable


def _find_variable(scope: Scope, node: ast.VariableReference) -> Variable | None:
    found = scope.get(node.name)
    return found.variable if found else None


def _is_faulty(scope: Scope, node: ast.VariableReference) -> bool:
    found = scope.get(node.name)
    return found is not None and found.variable is None


def _bind(check: CheckContext, scope: Scope, node: ast.VariableReference, types: tuple[str, ...]) -> Variable:
    variable = check.new_variable(node.name, VariableKind.NODE, types, scope.optional)
    scope.bind(node.name, Bound(variable))
    return variable


def _edge_variable(
    check: CheckContext, scope: Scope, node: ast.Traversal, ways: tuple[Way, ...]
) -> Variable | None:
    if node.edge_variable is None:
        return None
    name = node.edge_variable.name
    types = tuple(sorted(way.edge_type for way in ways))
    variable = check.new_variable(name, VariableKind.EDGE, types, scope.optional)
    if scope.get(name) is None:
        scope.bind(name, Bound(variable))
    return variable


def _length(check: CheckContext, scope: Scope, node: ast.Traversal) -> Variable | None:
    if node.length is None:
        return None
    return bind_found(check, scope, node.length, VariableKind.LENGTH)


def _bind_as_faulty(scope: Scope, node: ast.Traversal) -> None:
    """Mark what a faulty traversal would have bound, so that uses of it are not reported again."""
    for item in node.variables:
        if scope.get(item.name) is None:
            scope.bind(item.name, Bound(None))


def _report_wrong_end(
    check: CheckContext,
    node: ast.Traversal,
    source: Variable | None,
    target: Variable | None,
    edge: EdgeType | None,
) -> None:
    """Report an edge that does not fit the ends, or that none does."""
    if edge is None:
        bound = ((node.source, source), (node.target, target))
        ends = [f"${end.name} is a {describe_types(item)}" for end, item in bound if item is not None]
        what = f": {', '.join(ends)}" if ends else ""
        check.report("T5", f"no edge can be followed here{what}", node.edge.span)
        return
    wrong, variable = node.source, source
    if source is None or set(source.types) & {edge.source, edge.target}:
        wrong, variable = node.target, target
    shown = variable or source
    what = f"${wrong.name} is a {describe_types(shown)}, " if shown else ""
    check.report("T5", f"{what}{describe_edge(edge)}", wrong.span)


def _lower_first(name: str) -> str:
    return name[0].lower() + name[1:]
