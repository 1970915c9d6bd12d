"""The clauses of `match`, in written order: each sees what earlier ones bound."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.ir import conditions
from omnigraph.compiler.ir.pattern import AntiJoin, Block, Filter, LeftJoin, Scan, Step, VariableKind
from omnigraph.compiler.ir.values import PropertyValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.conditions import check_condition
from omnigraph.compiler.typecheck.expressions import report_no_property
from omnigraph.compiler.typecheck.properties import check_compared, property_target
from omnigraph.compiler.typecheck.scope import UNCODED, Bound, CheckContext, Scope
from omnigraph.compiler.typecheck.traversals import check_traversal
from omnigraph.compiler.types import Scalar


def check_clauses(check: CheckContext, scope: Scope, clauses: tuple[ast.Clause, ...]) -> Block:
    """Return the typed block and leave its variables in the scope; problems leave steps out."""
    steps: list[Step] = []
    for clause in clauses:
        if isinstance(clause, ast.Binding):
            steps += _binding(check, scope, clause)
        elif isinstance(clause, ast.Traversal):
            step = check_traversal(check, scope, clause)
            steps += [] if step is None else [step]
        elif isinstance(clause, ast.FilterClause):
            condition = check_condition(check, scope, clause.condition)
            steps += [] if condition is None else [Filter(condition)]
        elif isinstance(clause, ast.Negation):
            steps.append(_negation(check, scope, clause))
        else:
            steps.append(_optional(check, scope, clause))
    return Block(tuple(steps))


def _binding(check: CheckContext, scope: Scope, node: ast.Binding) -> Iterator[Step]:
    owner = check.catalog.node(node.type_name.text)
    name = node.variable.name
    if owner is None:
        _unknown_node_type(check, node)
        if scope.get(name) is None:
            scope.bind(name, Bound(None))
        return
    found = scope.get(name)
    if found is None or found.variable is None:
        variable = check.new_variable(name, VariableKind.NODE, owner.name, scope.optional)
        scope.bind(name, Bound(variable))
    else:
        variable = found.variable
        if variable.kind is VariableKind.EDGE:
            check.report("T23", f"edge variable ${name} cannot be bound as a node", node.variable.span)
            return
        if variable.kind is VariableKind.LENGTH or variable.type_name != owner.name:
            what = f"bound to {variable.type_name}" if variable.type_name else "a path length"
            message = f"variable ${name} is already {what}, it cannot be rebound to {owner.name}"
            check.report(UNCODED, message, node.variable.span)
            return
    yield Scan(variable.slot)
    for match in node.matches:
        condition = _match(check, owner, variable.slot, variable.optional, match)
        if condition is not None:
            yield Filter(condition)


def _unknown_node_type(check: CheckContext, node: ast.Binding) -> None:
    name = node.type_name.text
    hint = suggest(name, [item.name for item in check.catalog.nodes])
    if check.catalog.edge(name) is not None:
        hint = f"{name} is an edge type; write $a {name[0].lower()}{name[1:]} $b"
    elif any(item.name == name for item in check.catalog.interfaces):
        hint = f"{name} is an interface; bind one of the node types that implement it"
    check.report("T1", f"unknown node type {name!r}", node.type_name.span, hint)


def _match(
    check: CheckContext, owner: NodeType, slot: int, optional: bool, node: ast.PropertyMatch
) -> conditions.Condition | None:
    item = owner.by_any_name.get(node.property.text)
    if item is None:
        if node.property.text == "id":
            message = f"node type {owner.name} has no property 'id' to match in a binding"
            check.report("T2", message, node.property.span, "write a filter: $v.id = …")
        else:
            report_no_property(check, "T2", owner, node.property)
        return None
    if item.type.scalar is Scalar.BLOB:
        check.report("T3", f"the Blob property {owner.name}.{item.name} cannot be matched", node.span)
        return None
    value = check_compared(check, property_target(owner, item), node.value, UNCODED)
    if value is None:
        return None
    stored = PropertyValue(slot, item, optional)
    if item.type.is_list:
        return conditions.ListContains(stored, value)
    return conditions.Compare(conditions.Comparator.EQ, stored, value)


def _negation(check: CheckContext, scope: Scope, node: ast.Negation) -> AntiJoin:
    if not any(scope.get(name) for clause in node.clauses for name in _mentions(check, clause)):
        message = "no clause of this not { } mentions a variable of the outer pattern"
        check.report("T9", message, node.span)
    return AntiJoin(check_clauses(check, scope.inner(), node.clauses))


def _optional(check: CheckContext, scope: Scope, node: ast.OptionalBlock) -> LeftJoin:
    inner = scope.inner(optional=True)
    block = check_clauses(check, inner, node.clauses)
    for name, found in inner.own.items():
        scope.bind(name, found)
    slots = [found.variable.slot for found in inner.own.values() if found.variable is not None]
    return LeftJoin(block, tuple(sorted(slots)))


def _mentions(check: CheckContext, clause: ast.Clause) -> Iterator[str]:
    """Yield the variables that a clause names itself; inner blocks do not count."""
    if isinstance(clause, ast.Binding):
        yield clause.variable.name
    elif isinstance(clause, ast.Traversal):
        yield clause.source.name
        yield clause.target.name
    elif isinstance(clause, ast.FilterClause):
        for name, is_property in _find_variables(clause.condition):
            if is_property or name not in check.parameters:
                yield name


def _find_variables(node: ast.Condition | ast.Operand) -> Iterator[tuple[str, bool]]:
    """Yield every variable below a condition, and whether a property of it is read."""
    if isinstance(node, ast.AndCondition | ast.OrCondition):
        for term in node.terms:
            yield from _find_variables(term)
    elif isinstance(node, ast.NotCondition):
        yield from _find_variables(node.term)
    elif isinstance(node, ast.ComparisonCondition):
        yield from _find_variables(node.left)
        yield from _find_variables(node.right)
    elif isinstance(node, ast.NullTest):
        yield from _find_variables(node.operand)
    elif isinstance(node, ast.VariableReference):
        yield node.name, False
    elif isinstance(node, ast.PropertyAccess):
        yield node.variable.name, True
    elif isinstance(node, ast.TextCall | ast.Bm25):
        yield from _find_variables(node.field)
        yield from _find_variables(node.text)
    elif isinstance(node, ast.Nearest):
        yield from _find_variables(node.field)
        yield from _find_variables(node.query)
    elif isinstance(node, ast.Rrf):
        for ranking in node.rankings:
            yield from _find_variables(ranking)
    elif isinstance(node, ast.AggregateCall):
        yield from _find_variables(node.argument)
