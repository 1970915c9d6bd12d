"""The clauses of `match`, in written order: each sees what earlier ones bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.compiler.ir import conditions
from omnigraph.compiler.ir.pattern import (
    AntiJoin,
    Block,
    CountJoin,
    Filter,
    LeftJoin,
    Scan,
    Step,
    Traverse,
    Variable,
    VariableKind,
)
from omnigraph.compiler.ir.values import STRING, Constant, EntityType, PathLength, PropertyValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import Span, suggest
from omnigraph.compiler.typecheck.conditions import check_condition, relate
from omnigraph.compiler.typecheck.expressions import check_expression
from omnigraph.compiler.typecheck.patterns.distinct_edges import name_edges, tell_edges_apart
from omnigraph.compiler.typecheck.patterns.traversals import check_traversal
from omnigraph.compiler.typecheck.patterns.united import describe_kind, describe_types, find_shared_property
from omnigraph.compiler.typecheck.properties import check_compared, property_target
from omnigraph.compiler.typecheck.scope import (
    ANONYMOUS,
    UNCODED,
    Bound,
    CheckContext,
    Scope,
)
from omnigraph.compiler.types import Scalar


def check_match(check: CheckContext, scope: Scope, node: ast.MatchClause) -> Block:
    """Return the typed block of a whole pattern."""
    if not node.distinct_edges:
        return check_clauses(check, scope, node.clauses)
    return tell_edges_apart(check, check_clauses(check, scope, name_edges(check, node.clauses)))


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
            steps += check.take_awaited()
            steps += [] if condition is None else [Filter(condition)]
        elif isinstance(clause, ast.Negation):
            steps.append(_negation(check, scope, clause))
        else:
            steps.append(_optional(check, scope, clause))
    return Block(tuple(steps))


def _binding(check: CheckContext, scope: Scope, node: ast.Binding) -> Iterator[Step]:
    owners = _find_node_types(check, node)
    name = node.variable.name
    if not owners:
        if scope.get(name) is None:
            scope.bind(name, Bound(None))
        return
    found = scope.get(name)
    types = tuple(owner.name for owner in owners)
    if found is None or found.variable is None:
        variable = check.new_variable(name, VariableKind.NODE, types, scope.optional)
        scope.bind(name, Bound(variable))
    else:
        variable = found.variable
        if variable.kind is VariableKind.EDGE:
            check.report("T23", f"edge variable ${name} cannot be bound as a node", node.variable.span)
            return
        common = tuple(item for item in variable.types if item in types)
        if not variable.type_name or not common:
            what = f"bound to {describe_types(variable)}" if variable.type_name else describe_kind(variable)
            message = f"variable ${name} is already {what}, it cannot be rebound to {' or '.join(types)}"
            check.report(UNCODED, message, node.variable.span)
            return
        if common != variable.types:
            yield from _narrow(check, scope, name, variable, common)
            variable = replace(variable, type_name=common[0], more_types=common[1:])
        owners = [owner for owner in owners if owner.name in common]
    yield Scan(variable.slot)
    for match in node.matches:
        condition = _match(check, scope, owners, variable, match)
        if condition is not None:
            yield Filter(condition)


def _narrow(
    check: CheckContext, scope: Scope, name: str, variable: Variable, types: tuple[str, ...]
) -> Iterator[Step]:
    """Give a variable fewer types: everywhere, or as a filter of a block that did not introduce it."""
    if name in scope.own and scope.own[name].is_own:
        scope.bind(name, Bound(check.narrow(variable, types)))
        return
    narrowed = replace(variable, type_name=types[0], more_types=types[1:])
    scope.bind(name, Bound(narrowed, is_own=False))
    members = Constant(types, replace(STRING, is_list=True))
    yield Filter(conditions.ListContains(members, EntityType(variable.slot, variable.optional)))


def _find_node_types(check: CheckContext, node: ast.Binding) -> list[NodeType]:
    """Return the node types that a binding names, sorted; none after reporting an unknown one."""
    found: set[str] = set()
    for item in (node.type_name, *node.more):
        owner = check.catalog.node(item.text)
        names = {owner.name} if owner else _find_implementing(check, item.text)
        if not names:
            _unknown_node_type(check, item)
            return []
        found |= names
    return [owner for owner in check.catalog.nodes if owner.name in found]


def _find_implementing(check: CheckContext, interface: str) -> set[str]:
    """Return the node types that implement an interface."""
    return {owner.name for owner in check.catalog.nodes if interface in owner.implements}


def _unknown_node_type(check: CheckContext, node: ast.Identifier) -> None:
    name = node.text
    interfaces = [item.name for item in check.catalog.interfaces]
    hint = suggest(name, [*(item.name for item in check.catalog.nodes), *interfaces])
    if check.catalog.edge(name) is not None:
        hint = f"{name} is an edge type; write $a {name[0].lower()}{name[1:]} $b"
    elif name in interfaces:
        hint = f"{name} is an interface that no node type implements"
    check.report("T1", f"unknown node type {name!r}", node.span, hint)


def _match(
    check: CheckContext, scope: Scope, owners: list[NodeType], variable: Variable, node: ast.PropertyMatch
) -> conditions.Condition | None:
    if node.property.text == "id" and not any("id" in owner.by_any_name for owner in owners):
        message = f"node type {owners[0].name} has no property 'id' to match in a binding"
        check.report("T2", message, node.property.span, "write a filter: $v.id = …")
        return None
    item = find_shared_property(check, owners, node.property, "T2")
    if item is None:
        return None
    if item.type.scalar is Scalar.BLOB:
        check.report("T3", f"the Blob property {owners[0].name}.{item.name} cannot be matched", node.span)
        return None
    stored = PropertyValue(variable.slot, item, variable.optional)
    if _is_value(check, scope, node.value):
        found = check_expression(check, scope, node.value)
        operator = ast.Operator.CONTAINS if item.type.is_list else ast.Operator.EQ
        return None if found is None else relate(check, operator, stored, found, node.span)
    value = check_compared(check, property_target(owners[0], item), node.value, UNCODED)
    if value is None:
        return None
    if item.type.is_list:
        return conditions.ListContains(stored, value)
    return conditions.Compare(conditions.Comparator.EQ, stored, value)


def _is_value(check: CheckContext, scope: Scope, node: ast.Value) -> bool:
    """Return whether a variable holds a number or value that was found before; parameters go before it."""
    if not isinstance(node, ast.VariableReference) or node.name in check.parameters:
        return False
    found = scope.get(node.name)
    return found is not None and found.kind in (VariableKind.VALUE, VariableKind.LENGTH)


def _negation(check: CheckContext, scope: Scope, node: ast.Negation) -> AntiJoin:
    _check_correlation(check, scope, node.clauses, node.span, "not")
    return AntiJoin(check_clauses(check, scope.inner(), node.clauses))


def _optional(check: CheckContext, scope: Scope, node: ast.OptionalBlock) -> LeftJoin:
    inner = scope.inner(optional=True)
    block = check_clauses(check, inner, node.clauses)
    own = {name: found for name, found in inner.own.items() if found.is_own}
    for name, found in own.items():
        scope.bind(name, found)
    slots = {found.variable.slot for found in own.values() if found.variable is not None}
    return LeftJoin(block, tuple(sorted(slots.union(_find_unnamed_ends(check, block)))))


def _find_unnamed_ends(check: CheckContext, block: Block) -> Iterator[int]:
    """Yield the ends of paths that have no names, and by which the paths are told apart all the same."""
    for step in block.steps:
        ends: tuple[int, ...] = ()
        if isinstance(step, Traverse) and step.path is not None:
            ends = (step.source, step.target)
        elif isinstance(step, LeftJoin):
            ends = step.introduces
        yield from (slot for slot in ends if check.variables[slot].name is None)


def check_block_value(check: CheckContext, scope: Scope, node: ast.BlockValue) -> PathLength:
    """Return how many matches a pattern has, or with `exists` 1 or 0; the block around it counts them."""
    _check_correlation(check, scope, node.clauses, node.span, node.function.value)
    before = check.take_awaited()
    block = check_clauses(check, scope.inner(), node.clauses)
    counted = check.new_variable(ANONYMOUS, VariableKind.LENGTH, ("",), False)
    step = CountJoin(block, counted.slot, node.function is ast.BlockFunction.EXISTS)
    check.awaited.extend([*before, step])
    return PathLength(counted.slot)


def _check_correlation(
    check: CheckContext, scope: Scope, clauses: tuple[ast.Clause, ...], span: Span, word: str
) -> None:
    if not any(scope.get(name) for clause in clauses for name in _mentions(check, clause)):
        message = f"no clause of this {word} {{ }} mentions a variable of the outer pattern"
        check.report("T9", message, span)


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


def _find_variables(node: ast.Condition | ast.Expression) -> Iterator[tuple[str, bool]]:
    """Yield every variable below a condition, and whether a property of it is read."""
    if isinstance(node, ast.VariableReference):
        yield node.name, False
    elif isinstance(node, ast.PropertyAccess | ast.EntityCall):
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
    else:
        for part in ast.parts_of(node):
            yield from _find_variables(part)
