"""Mutation statements: types, properties, required values, predicates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property
from omnigraph.compiler.ir import conditions
from omnigraph.compiler.ir.queries import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    Statement,
    TouchedTable,
    Update,
    Upsert,
)
from omnigraph.compiler.ir.values import (
    STRING,
    Constant,
    EdgeEnd,
    End,
    EntityId,
    Parameter,
    PropertyValue,
    Value,
)
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.conditions import relate
from omnigraph.compiler.typecheck.expressions import LITERALS, check_literal
from omnigraph.compiler.typecheck.properties import (
    PropertyTarget,
    check_compared,
    check_stored,
    property_target,
)
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext
from omnigraph.compiler.typecheck.types import convert_to_stored
from omnigraph.compiler.typecheck.united import report_no_property
from omnigraph.compiler.types import Scalar

_ROW_VARIABLE = 0
_END_NAMES = ("from", "to")
_ID_NAME = "id"

Verb: TypeAlias = Literal["insert", "upsert", "update"]


def check_statement(check: CheckContext, node: ast.Statement) -> Statement | None:
    """Return the typed statement, or None after reporting its problems."""
    name = node.type_name.text
    owner: NodeType | EdgeType | None = check.catalog.node(name) or check.catalog.edge(name)
    if owner is None:
        known = [item.name for item in check.catalog.tables]
        check.report("T10", f"unknown type {name!r}", node.type_name.span, suggest(name, known))
        return None
    before = len(check.problems)
    table = TouchedTable(owner.kind, owner.name)
    if isinstance(node, ast.InsertStatement):
        statement: Statement | None = _insert(check, owner, node)
    elif isinstance(node, ast.UpsertStatement):
        statement = _upsert(check, owner, table, node)
    elif isinstance(node, ast.UpdateStatement):
        assigned = _assignments(check, owner, node.assignments, "update")
        where = _predicate(check, owner, node.where)
        values = tuple(Assignment(owner.by_name[name], value) for name, value in assigned.items())
        statement = Update(table, values, where) if where is not None else None
    else:
        where = _predicate(check, owner, node.where)
        statement = Delete(table, where) if where is not None else None
    return statement if len(check.problems) == before else None


def _assignments(
    check: CheckContext, owner: NodeType | EdgeType, nodes: tuple[ast.PropertyAssignment, ...], verb: Verb
) -> dict[str, Value]:
    result: dict[str, Value] = {}
    seen: set[str] = set()
    for node in nodes:
        name = node.property.text
        if name in seen:
            check.report("T13", f"duplicate assignment of {name!r}", node.property.span)
            continue
        seen.add(name)
        target = _assignable(check, owner, node.property, verb)
        value = check_stored(check, target, node.value) if target else None
        if value is not None:
            result[name] = value
    if verb != "update":
        _check_required(check, owner, seen, nodes, verb)
    return result


def _assignable(
    check: CheckContext, owner: NodeType | EdgeType, name: ast.Identifier, verb: Verb
) -> PropertyTarget | None:
    if isinstance(owner, EdgeType) and name.text in _END_NAMES:
        if verb == "update":
            message = f"update cannot move an edge: {name.text!r} of {owner.name} is fixed"
            check.report("T16", message, name.span, "delete the edge and insert a new one")
            return None
        return PropertyTarget(f"{owner.name}.{name.text}", STRING)
    if verb == "upsert" and name.text == _ID_NAME:
        if not owner.key:
            return PropertyTarget(f"{owner.name}.{_ID_NAME}", STRING)
        check.report("T11", f"the id of {owner.name} is made of its key, which names the row", name.span)
        return None
    item = owner.by_name.get(name.text)
    if item is None:
        report_no_property(check, "T11", owner, name)
        return None
    if verb == "update" and owner.key and name.text in owner.key:
        check.report(UNCODED, f"cannot update @key property {owner.name}.{name.text}", name.span)
        return None
    return property_target(owner, item)


def _check_required(
    check: CheckContext,
    owner: NodeType | EdgeType,
    seen: set[str],
    nodes: tuple[ast.PropertyAssignment, ...],
    verb: Verb,
) -> None:
    wanted = _key_members(owner) if verb == "upsert" else owner.properties
    missing = [item.name for item in wanted if _is_required(item, seen)]
    hint = None
    if verb == "upsert" and not owner.key and _ID_NAME not in seen:
        missing.append(_ID_NAME)
        hint = f"{owner.name} has no key: give the id of the row, or declare a @key"
    if isinstance(owner, EdgeType):
        missing = [name for name in _END_NAMES if name not in seen] + missing
    if missing:
        shown = ", ".join(repr(name) for name in missing)
        span = nodes[0].span.to(nodes[-1].span)
        check.report("T12", f"{verb} {owner.name} lacks required {shown}", span, hint)


def _is_required(item: Property, seen: set[str]) -> bool:
    if item.name in seen or item.type.nullable or item.default is not None:
        return False
    return item.embed is None or item.embed.source not in seen


def _key_members(owner: NodeType | EdgeType) -> tuple[Property, ...]:
    """Return the properties that a key is made of."""
    return tuple(owner.by_name[name] for name in owner.key or () if name in owner.by_name)


def _upsert(
    check: CheckContext, owner: NodeType | EdgeType, table: TouchedTable, node: ast.UpsertStatement
) -> Statement | None:
    given = _assignments(check, owner, node.assignments, "upsert")
    if isinstance(owner, EdgeType) and any(name not in given for name in _END_NAMES):
        return None
    ends = (given["from"], given["to"]) if isinstance(owner, EdgeType) else None
    assigned = set(given) | {item.name for item in _key_members(owner)}
    row = list(_row(owner, given))
    return Upsert(
        table,
        None if owner.key else given.get(_ID_NAME),
        ends,
        tuple(item for item in row if item.property.name in assigned),
        tuple(item for item in row if item.property.name not in assigned),
    )


def _insert(check: CheckContext, owner: NodeType | EdgeType, node: ast.InsertStatement) -> Statement | None:
    given = _assignments(check, owner, node.assignments, "insert")
    values = tuple(_row(owner, given))
    if isinstance(owner, NodeType):
        return InsertNode(owner.name, values)
    if any(name not in given for name in _END_NAMES):
        return None
    return InsertEdge(owner.name, given["from"], given["to"], values)


def _row(owner: NodeType | EdgeType, given: dict[str, Value]) -> Iterator[Assignment]:
    """Yield a value for every property: the one given, else the default, else NULL."""
    for item in owner.properties:
        if item.name in given:
            yield Assignment(item, given[item.name])
        elif item.default is not None:
            yield Assignment(item, default_value(item))
        elif item.type.nullable:
            yield Assignment(item, Constant(None, item.type))


def default_value(item: Property) -> Constant:
    """Return a property's default as a constant of its type; dates are kept as text in the catalog."""
    value = item.default.value if item.default else None
    return Constant(convert_to_stored(value, item.type), item.type)


def _predicate(
    check: CheckContext, owner: NodeType | EdgeType, node: ast.Condition
) -> conditions.Condition | None:
    if isinstance(node, ast.AndCondition | ast.OrCondition):
        terms = [_predicate(check, owner, term) for term in node.terms]
        known = tuple(term for term in terms if term is not None)
        if len(known) < len(terms):
            return None
        return conditions.All(known) if isinstance(node, ast.AndCondition) else conditions.Any(known)
    if isinstance(node, ast.NotCondition):
        term = _predicate(check, owner, node.term)
        return None if term is None else conditions.Not(term)
    if isinstance(node, ast.NullTest):
        column = _column(check, owner, node.operand, blobs=True)
        if column is None:
            return None
        test = conditions.IsNull(column)
        return conditions.Not(test) if node.negated else test
    if isinstance(node, ast.TextCall | ast.TruthTest):
        return None
    column = _column(check, owner, node.left)
    if column is None:
        return None
    value = _check_right_side(check, owner, node, column)
    return None if value is None else relate(check, node.operator, column, value, node.span)


def _check_right_side(
    check: CheckContext, owner: NodeType | EdgeType, node: ast.ComparisonCondition, column: Value
) -> Value | None:
    """Return the right side of a comparison in `where`."""
    right, name = node.right, node.left.name if isinstance(node.left, ast.BareProperty) else ""
    target = PropertyTarget(f"{owner.name}.{name}", replace(column.type, nullable=True))
    if isinstance(right, ast.ListLiteral) and node.operator is ast.Operator.IN:
        members = [check_compared(check, target, item, "T14") for item in right.items]
        return check_literal(check, right) if None not in members else None
    if node.operator is ast.Operator.IN and isinstance(right, ast.VariableReference):
        return _list_parameter(check, right)
    if column.type.is_list:
        check.report("T7", f"{target.subject} is a list, which a where cannot compare", node.span)
        return None
    if not isinstance(right, (ast.NowCall, ast.VariableReference, *LITERALS)):
        return None
    if isinstance(right, ast.NullLiteral) and not column.type.nullable:
        check.report("T3", f"{target.subject} is never null", right.span)
        return None
    return check_compared(check, target, right, "T14")


def _list_parameter(check: CheckContext, node: ast.VariableReference) -> Value | None:
    declared = check.parameters.get(node.name)
    if declared is None:
        check.report("T14", f"variable ${node.name} is not a declared parameter", node.span)
        return None
    return Parameter(node.name, declared)


def _column(
    check: CheckContext, owner: NodeType | EdgeType, node: ast.Expression, blobs: bool = False
) -> PropertyValue | EntityId | EdgeEnd | None:
    if not isinstance(node, ast.BareProperty):
        return None
    if node.name == "id":
        return EntityId(_ROW_VARIABLE)
    if isinstance(owner, EdgeType) and node.name in _END_NAMES:
        return EdgeEnd(_ROW_VARIABLE, End.SOURCE if node.name == "from" else End.TARGET)
    item = owner.by_name.get(node.name)
    if item is None:
        report_no_property(check, "T11", owner, ast.Identifier(node.name, node.span))
        return None
    if item.type.scalar is Scalar.BLOB and not blobs:
        message = f"the Blob property {owner.name}.{item.name} cannot be used in where"
        check.report("T11", message, node.span, "only `is null` and `is not null` ask for a blob")
        return None
    if item.type.is_vector:
        check.report("T7", f"the Vector property {owner.name}.{item.name} cannot be compared", node.span)
        return None
    return PropertyValue(_ROW_VARIABLE, item)
