"""Mutation statements: their types and properties, and the values that they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from omnigraph.compiler.catalog.keys import end_types
from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property
from omnigraph.compiler.ir.queries import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    MatchedDelete,
    MatchedUpdate,
    Statement,
    TouchedTable,
    Update,
    Upsert,
)
from omnigraph.compiler.ir.values import STRING, Computed, Constant, EntityId, PropertyValue, Value
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.expressions import LITERALS
from omnigraph.compiler.typecheck.patterns.united import report_no_property
from omnigraph.compiler.typecheck.properties import PropertyTarget, property_target
from omnigraph.compiler.typecheck.rows import END_NAMES, ID_NAME
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.typecheck.types import convert_to_stored
from omnigraph.compiler.typecheck.writes.assigned import check_assigned
from omnigraph.compiler.typecheck.writes.matched import check_end, find_matched, refuse_where
from omnigraph.compiler.typecheck.writes.predicates import check_predicate
from omnigraph.compiler.types import Scalar

Verb: TypeAlias = Literal["insert", "upsert", "update"]


def check_statement(check: CheckContext, node: ast.Statement, matched: Scope | None) -> Statement | None:
    """Return the typed statement, or None after reporting its problems; `matched` has what a match binds."""
    before = len(check.problems)
    if isinstance(node, ast.MatchedUpdateStatement | ast.MatchedDeleteStatement):
        statement: Statement | None = _type_matched(check, matched, node)
    elif matched is not None and isinstance(node, ast.UpdateStatement | ast.DeleteStatement):
        refuse_where(check, node)
        return None
    else:
        statement = _type_statement(check, node, matched)
    return statement if len(check.problems) == before else None


def _type_matched(
    check: CheckContext, matched: Scope | None, node: ast.MatchedUpdateStatement | ast.MatchedDeleteStatement
) -> Statement | None:
    found = find_matched(check, matched, node.variable)
    if found is None:
        return None
    variable, owner = found
    table = TouchedTable(owner.kind, owner.name)
    entity = EntityId(variable.slot, variable.optional)
    if isinstance(node, ast.MatchedDeleteStatement):
        return MatchedDelete(table, entity)
    scope = Scope(matched, row=owner, unbound="T14", row_variable=variable.slot)
    assigned = _assignments(check, owner, node.assignments, "update", scope)
    values = tuple(Assignment(owner.by_name[name], value) for name, value in assigned.items())
    return MatchedUpdate(table, entity, values)


def _type_statement(
    check: CheckContext,
    node: ast.InsertStatement | ast.UpsertStatement | ast.UpdateStatement | ast.DeleteStatement,
    matched: Scope | None,
) -> Statement | None:
    name = node.type_name.text
    owner: NodeType | EdgeType | None = check.catalog.node(name) or check.catalog.edge(name)
    if owner is None:
        known = [item.name for item in check.catalog.tables]
        check.report("T10", f"unknown type {name!r}", node.type_name.span, suggest(name, known))
        return None
    table = TouchedTable(owner.kind, owner.name)
    if isinstance(node, ast.InsertStatement):
        return _insert(check, owner, node, matched)
    if isinstance(node, ast.UpsertStatement):
        return _upsert(check, owner, table, node, matched)
    scope = Scope(row=owner, unbound="T14")
    if isinstance(node, ast.UpdateStatement):
        assigned = _assignments(check, owner, node.assignments, "update", scope)
        where = check_predicate(check, scope, node.where)
        values = tuple(Assignment(owner.by_name[name], value) for name, value in assigned.items())
        return Update(table, values, where) if where is not None else None
    where = check_predicate(check, scope, node.where)
    return Delete(table, where) if where is not None else None


def _assignments(
    check: CheckContext,
    owner: NodeType | EdgeType,
    nodes: tuple[ast.PropertyAssignment, ...],
    verb: Verb,
    scope: Scope,
) -> dict[str, Value]:
    result: dict[str, Value] = {}
    seen: set[str] = set()
    for node in nodes:
        name = node.property.text
        if name in seen:
            check.report("T13", f"duplicate assignment of {name!r}", node.property.span)
            continue
        seen.add(name)
        target = _assignable(check, owner, node, verb)
        seen_there = Scope(scope.outer, unbound="T14") if _names_the_row(owner, name, verb) else scope
        value = check_assigned(check, seen_there, target, node.value) if target else None
        if isinstance(owner, EdgeType) and name in END_NAMES and value is not None:
            value = value if check_end(check, owner, name, value, node.value) else None
        if value is not None:
            result[name] = value
    if verb != "update":
        _check_required(check, owner, seen, nodes, verb)
    return result


def _names_the_row(owner: NodeType | EdgeType, name: str, verb: Verb) -> bool:
    """Return whether an assignment says which row is meant, so that it reads none."""
    return verb == "upsert" and name in (*(owner.key or ()), ID_NAME, *END_NAMES)


def _assignable(
    check: CheckContext, owner: NodeType | EdgeType, node: ast.PropertyAssignment, verb: Verb
) -> PropertyTarget | None:
    name = node.property
    if isinstance(owner, EdgeType) and name.text in END_NAMES:
        if verb == "update":
            message = f"update cannot move an edge: {name.text!r} of {owner.name} is fixed"
            check.report("T16", message, name.span, "delete the edge and insert a new one")
            return None
        type_ = end_types(check.catalog, owner)[name.text] if _is_key(check, node.value) else STRING
        return PropertyTarget(f"{owner.name}.{name.text}", type_)
    if verb == "upsert" and name.text == ID_NAME:
        if not owner.key:
            return PropertyTarget(f"{owner.name}.{ID_NAME}", STRING)
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


def _is_key(check: CheckContext, value: ast.Expression) -> bool:
    """Return whether an end is given by something that cannot be an id, which is a string."""
    if isinstance(value, ast.VariableReference):
        declared = check.parameters.get(value.name)
        return declared is not None and declared.scalar is not Scalar.STRING
    return isinstance(value, LITERALS) and not isinstance(value, ast.StringLiteral)


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
    if verb == "upsert" and not owner.key and ID_NAME not in seen:
        missing.append(ID_NAME)
        hint = f"{owner.name} has no key: give the id of the row, or declare a @key"
    if isinstance(owner, EdgeType):
        missing = [name for name in END_NAMES if name not in seen] + missing
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
    check: CheckContext,
    owner: NodeType | EdgeType,
    table: TouchedTable,
    node: ast.UpsertStatement,
    matched: Scope | None,
) -> Statement | None:
    # What a match has bound is what there is to read: the rows that it is stored in may be many.
    scope = Scope(matched, row=None if matched is not None else owner, unbound="T14")
    given = _assignments(check, owner, node.assignments, "upsert", scope)
    if isinstance(owner, EdgeType) and any(name not in given for name in END_NAMES):
        return None
    ends = (given["from"], given["to"]) if isinstance(owner, EdgeType) else None
    assigned = set(given) | {item.name for item in _key_members(owner)}
    row = list(_row(owner, given))
    return Upsert(
        table,
        None if owner.key else given.get(ID_NAME),
        ends,
        tuple(item for item in row if item.property.name in assigned),
        tuple(_others(owner, given, assigned)),
    )


def _others(owner: NodeType | EdgeType, given: dict[str, Value], assigned: set[str]) -> Iterator[Assignment]:
    """Yield what a new row has beside what it is given; where something is computed, what it begins with."""
    computes = any(isinstance(value, Computed | PropertyValue) for value in given.values())
    key = owner.key or ()
    for item in _row(owner, {}):
        name = item.property.name
        if name not in assigned or (computes and name not in key):
            yield item


def _insert(
    check: CheckContext, owner: NodeType | EdgeType, node: ast.InsertStatement, matched: Scope | None
) -> Statement | None:
    given = _assignments(check, owner, node.assignments, "insert", Scope(matched, unbound="T14"))
    values = tuple(_row(owner, given))
    if isinstance(owner, NodeType):
        return InsertNode(owner.name, values)
    if any(name not in given for name in END_NAMES):
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
