"""The reference evaluator of mutations: what rows change and what is counted, without validation."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from omnigraph.compiler.catalog.model import NodeType, TableType
from omnigraph.compiler.ir.computed import Call
from omnigraph.compiler.ir.pattern import Block, Variable, VariableKind
from omnigraph.compiler.ir.queries import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    MatchedDelete,
    MatchedUpdate,
    ReadQuery,
    Statement,
    TouchedTable,
    Update,
    Upsert,
    WriteQuery,
    target_of,
)
from support.reference import Reader
from support.reference_graph import Edge, MemoryGraph, stored

_BLANK = ReadQuery("where", (), (), Block(()), (), False, False, None, (), (), None, None, (), ())


class Incomplete(Exception):
    """An upsert of a row that is not there lacks a required property."""


class Uncomputable(Exception):
    """A computation has no result that could be stored."""


def run_write(query: WriteQuery, graph: MemoryGraph) -> dict[str, int]:
    """Apply a bound mutation to the graph and return its counts."""
    counts = {"affected_nodes": 0, "affected_edges": 0}
    gone_nodes: set[tuple[str, str]] = set()
    gone_edges: set[tuple[str, str]] = set()
    if query.match is not None:
        return _run_matched(query, query.match, graph)
    for statement in query.statements:
        match statement:
            case InsertNode():
                node = graph.catalog.node(statement.type_name)
                assert node is not None
                row = _given(graph, statement.values)
                graph.nodes[node.name][graph.node_id(node, row)] = row
                counts["affected_nodes"] += 1
            case InsertEdge():
                ends = statement.source.value, statement.target.value  # type: ignore[union-attr]
                edge = Edge(str(ends[0]), str(ends[1]), _given(graph, statement.values))
                declared = graph.catalog.edge(statement.type_name)
                assert declared is not None
                graph.edges[statement.type_name][graph.edge_id(declared, edge)] = edge
                counts["affected_edges"] += 1
            case Upsert():
                _upsert(statement, graph)
                counts[f"affected_{statement.table.kind}s"] += 1
            case Update():
                found_rows = _matching(graph, statement.table, statement.where)
                values = [_computed(graph, statement, entity) for entity in found_rows]
                for entity, changed in zip(found_rows, values, strict=True):
                    _row(graph, statement.table, entity).update(changed)
                    counts[f"affected_{statement.table.kind}s"] += 1
            case Delete():
                name = statement.table.type_name
                found = {(name, entity) for entity in _matching(graph, statement.table, statement.where)}
                if statement.table.kind == "node":
                    gone_nodes |= found
                    gone_edges |= _incident(graph, found)
                else:
                    gone_edges |= found
    for name, entity in gone_nodes:
        del graph.nodes[name][entity]
    for name, entity in gone_edges:
        del graph.edges[name][entity]
    counts["affected_nodes"] += len(gone_nodes)
    counts["affected_edges"] += len(gone_edges)
    return counts


def _run_matched(query: WriteQuery, match: ReadQuery, graph: MemoryGraph) -> dict[str, int]:
    """Run every statement for the rows of the match, which sees nothing of what they do."""
    counts: Counter[str] = Counter(affected_nodes=0, affected_edges=0)
    reader = Reader(match, copy.deepcopy(graph))
    rows = reader.solve(match.match, {})
    gone: dict[str, set[tuple[str, str]]] = {"node": set(), "edge": set()}
    for statement in query.statements:
        made: dict[str, tuple[Any, ...]] = {}
        for number, row in enumerate(rows):
            if isinstance(statement, MatchedDelete):
                if (id_ := reader.value(statement.row, row)) is not None:
                    gone[statement.table.kind].add((statement.table.type_name, id_))
                continue
            assert isinstance(statement, InsertNode | InsertEdge | MatchedUpdate | Upsert)
            if isinstance(statement, Upsert):
                items = statement.given
            else:
                items = statement.assignments if isinstance(statement, MatchedUpdate) else statement.values
            values = {item.property.name: _stored(reader, item, row) for item in items}
            ends: tuple[Any, ...] = ()
            if isinstance(statement, MatchedUpdate):
                name = reader.value(statement.row, row)
                if name is None:
                    continue
            elif isinstance(statement, InsertNode | Upsert):
                node = graph.catalog.node(target_of(statement).type_name)
                assert node is not None
                if None in [values[item] for item in node.key or ()]:
                    raise Uncomputable
                name = graph.node_id(node, values) if node.key else f"new {number}"
            else:
                edge = graph.catalog.edge(statement.type_name)
                assert edge is not None
                ends = reader.value(statement.source, row), reader.value(statement.target, row)
                if None in ends:
                    raise Uncomputable
                name = graph.edge_id(edge, Edge(*ends, values)) if edge.key else f"new {number}"
            if made.setdefault(name, (*ends, values)) != (*ends, values):
                raise Uncomputable
        for name, (*known_ends, values) in made.items():
            _put(graph, statement, name, known_ends, values)
            counts[f"affected_{target_of(statement).kind}s"] += 1
    gone["edge"] |= _incident(graph, gone["node"])
    for kind, entities in gone.items():
        for name, entity in entities:
            del (graph.nodes if kind == "node" else graph.edges)[name][entity]  # type: ignore[attr-defined]
        counts[f"affected_{kind}s"] += len(entities)
    return dict(counts)


def _put(
    graph: MemoryGraph, statement: Statement, name: str, ends: list[Any], values: dict[str, Any]
) -> None:
    if isinstance(statement, MatchedUpdate):
        _row(graph, statement.table, name).update(values)
    elif isinstance(statement, Upsert):
        node = graph.catalog.node(statement.table.type_name)
        assert node is not None and node.key is not None
        row = graph.nodes[node.name].setdefault(name, _values(statement.others) | values)
        row.update({item: value for item, value in values.items() if item not in node.key})
        if any(item.name not in row for item in node.properties):
            raise Incomplete
    elif isinstance(statement, InsertNode):
        graph.nodes[statement.type_name][graph.fresh_id() if name.startswith("new ") else name] = values
    else:
        assert isinstance(statement, InsertEdge)
        edge = Edge(ends[0], ends[1], values)
        graph.edges[statement.type_name][graph.fresh_id() if name.startswith("new ") else name] = edge


def _stored(reader: Reader, item: Assignment, row: Any) -> Any:
    value = reader.value(item.value, row)
    if value is None:
        can_fail = isinstance(item.value, Call) and item.value.function not in ("item", "coalesce")
        if can_fail and None not in [reader.value(operand, row) for operand in item.value.arguments]:
            raise Uncomputable
        return None
    try:
        return stored(value, item.property.type)
    except ValueError:
        raise Uncomputable from None


def _given(graph: MemoryGraph, items: tuple[Assignment, ...]) -> dict[str, Any]:
    """Return values that read no row."""
    reader = Reader(_BLANK, graph)
    return {item.property.name: _stored(reader, item, {}) for item in items}


def _upsert(statement: Upsert, graph: MemoryGraph) -> None:
    """Set what is given in the row that is named; one that is not there begins with key and defaults."""
    table = statement.table
    declared = graph.catalog.node(table.type_name) or graph.catalog.edge(table.type_name)
    if table.kind == "edge":
        declared = graph.catalog.edge(table.type_name)
    assert declared is not None
    key = set(declared.key or ())
    names = _given(graph, tuple(item for item in statement.given if item.property.name in key))
    named = None if statement.id is None else str(statement.id.value)  # type: ignore[union-attr]
    ends = None if statement.ends is None else tuple(str(end.value) for end in statement.ends)  # type: ignore[union-attr]
    id_ = _row_for(graph, statement, declared, names, named, ends)
    row = _row(graph, table, id_)
    # What a key is made of stays as it was stored.
    row.update(_computed(graph, statement, id_, key))
    if any(item.name not in row for item in declared.properties):
        raise Incomplete


def _row_for(
    graph: MemoryGraph,
    statement: Upsert,
    declared: TableType,
    names: dict[str, Any],
    named: str | None,
    ends: tuple[str, ...] | None,
) -> str:
    """Return the id of the row that an upsert names; it is there afterwards."""
    begins = _values(statement.others) | names
    if isinstance(declared, NodeType):
        id_ = graph.node_id(declared, names, named)
        graph.nodes[declared.name].setdefault(id_, begins)
        return id_
    assert ends is not None
    id_ = graph.edge_id(declared, Edge(ends[0], ends[1], names), named)
    edge = graph.edges[declared.name].setdefault(id_, Edge(ends[0], ends[1], begins))
    edge.source, edge.target = ends
    return id_


def _values(items: tuple[Assignment, ...]) -> dict[str, Any]:
    return {item.property.name: item.value.value for item in items}  # type: ignore[union-attr]


def _matching(graph: MemoryGraph, table: TouchedTable, where: Any) -> list[str]:
    reader = _reader(graph, table)
    rows = graph.nodes[table.type_name] if table.kind == "node" else graph.edges[table.type_name]
    return [entity for entity in rows if reader.holds(where, {0: entity})]


def _reader(graph: MemoryGraph, table: TouchedTable) -> Reader:
    kind = VariableKind.NODE if table.kind == "node" else VariableKind.EDGE
    return Reader(replace(_BLANK, variables=(Variable(0, "row", kind, table.type_name),)), graph)


def _computed(
    graph: MemoryGraph, statement: Update | Upsert, entity: str, key: Collection[str] = ()
) -> dict[str, Any]:
    """Return what is assigned to a row; every operand must be given or read from the row."""
    reader = _reader(graph, statement.table)
    items = statement.assignments if isinstance(statement, Update) else statement.given
    return {
        item.property.name: _stored(reader, item, {0: entity})
        for item in items
        if item.property.name not in key
    }


def _row(graph: MemoryGraph, table: TouchedTable, entity: str) -> dict[str, Any]:
    if table.kind == "node":
        return graph.nodes[table.type_name][entity]
    return graph.edges[table.type_name][entity].values


def _incident(graph: MemoryGraph, nodes: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {
        (edge.name, entity)
        for edge in graph.catalog.edges
        for entity, row in graph.edges[edge.name].items()
        if (edge.source, row.source) in nodes or (edge.target, row.target) in nodes
    }
