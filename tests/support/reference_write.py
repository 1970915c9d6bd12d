"""The reference evaluator of mutations: what rows change and what is counted, without validation."""

from __future__ import annotations

from typing import Any

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.ir.computed import Call
from omnigraph.compiler.ir.pattern import Block, Variable, VariableKind
from omnigraph.compiler.ir.queries import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    ReadQuery,
    TouchedTable,
    Update,
    Upsert,
    WriteQuery,
)
from omnigraph.compiler.typecheck.types import convert_to_stored
from support.reference import Reader
from support.reference_graph import Edge, MemoryGraph


class Incomplete(Exception):
    """An upsert of a row that is not there lacks a required property."""


class Uncomputable(Exception):
    """A computation has no result that could be stored."""


def run_write(query: WriteQuery, graph: MemoryGraph) -> dict[str, int]:
    """Apply a bound mutation to the graph and return its counts."""
    counts = {"affected_nodes": 0, "affected_edges": 0}
    gone_nodes: set[tuple[str, str]] = set()
    gone_edges: set[tuple[str, str]] = set()
    for statement in query.statements:
        match statement:
            case InsertNode():
                node = graph.catalog.node(statement.type_name)
                assert node is not None
                row = _values(statement.values)
                graph.nodes[node.name][graph.node_id(node, row)] = row
                counts["affected_nodes"] += 1
            case InsertEdge():
                ends = statement.source.value, statement.target.value  # type: ignore[union-attr]
                edge = Edge(str(ends[0]), str(ends[1]), _values(statement.values))
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


def _upsert(statement: Upsert, graph: MemoryGraph) -> None:
    given = _values(statement.given)
    named = None if statement.id is None else str(statement.id.value)  # type: ignore[union-attr]
    table = statement.table
    if table.kind == "node":
        node = graph.catalog.node(table.type_name)
        assert node is not None
        nodes, id_ = graph.nodes[node.name], graph.node_id(node, given, named)
        if id_ not in nodes:
            nodes[id_] = _new_row(node, statement)
        # What a key is made of stays as it was stored.
        nodes[id_].update({name: value for name, value in given.items() if name not in (node.key or ())})
        return
    edge = graph.catalog.edge(table.type_name)
    assert edge is not None and statement.ends is not None
    source, target = (str(end.value) for end in statement.ends)  # type: ignore[union-attr]
    row = Edge(source, target, given)
    edges, id_ = graph.edges[edge.name], graph.edge_id(edge, row, named)
    if id_ not in edges:
        edges[id_] = Edge(source, target, _new_row(edge, statement))
    edges[id_].source, edges[id_].target = source, target
    edges[id_].values.update({name: value for name, value in given.items() if name not in (edge.key or ())})


def _new_row(table: TableType, statement: Upsert) -> dict[str, Any]:
    row = _values(statement.others) | _values(statement.given)
    if any(item.name not in row for item in table.properties):
        raise Incomplete
    return row


def _values(items: tuple[Assignment, ...]) -> dict[str, Any]:
    return {item.property.name: item.value.value for item in items}  # type: ignore[union-attr]


def _matching(graph: MemoryGraph, table: TouchedTable, where: Any) -> list[str]:
    reader = _reader(graph, table)
    rows = graph.nodes[table.type_name] if table.kind == "node" else graph.edges[table.type_name]
    return [entity for entity in rows if reader.holds(where, {0: entity})]


def _reader(graph: MemoryGraph, table: TouchedTable) -> Reader:
    kind = VariableKind.NODE if table.kind == "node" else VariableKind.EDGE
    variable = Variable(0, "row", kind, table.type_name)
    blank = ReadQuery("where", (), (variable,), Block(()), (), False, False, None, (), (), None, None, (), ())
    return Reader(blank, graph)


def _computed(graph: MemoryGraph, statement: Update, entity: str) -> dict[str, Any]:
    """Return what an update assigns to a row; every operand must be given or read from the row."""
    reader, found = _reader(graph, statement.table), {}
    for item in statement.assignments:
        value = reader.value(item.value, {0: entity})
        if value is None and isinstance(item.value, Call):
            if None not in [reader.value(operand, {0: entity}) for operand in item.value.arguments]:
                raise Uncomputable
        elif isinstance(item.value, Call):
            try:
                value = convert_to_stored(value, item.property.type)
            except ValueError:
                raise Uncomputable from None
        found[item.property.name] = value
    return found


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
