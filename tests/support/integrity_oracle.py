"""Whether a whole snapshot keeps its schema's rules: plain loops, independent of the engine's own checks."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property, TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.snapshot import Snapshot
from support.reference_graph import MemoryGraph
from support.stored_graph import read_back

_INTEGERS = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
    Scalar.DATE: (-(2**31), 2**31 - 1),
    Scalar.DATETIME: (-(2**63), 2**63 - 1),
}

Touched = Mapping[str, Iterable[str]]
"""Sources whose edges a write has changed, by edge type: they must have the least number too."""


def assert_integrity(snapshot: Snapshot, touched: Touched | None = None) -> MemoryGraph:
    """Check every rule over a snapshot, table sizes included, and return what it holds."""
    for table in snapshot.tables:
        ids = snapshot.table(table.key).scan(columns=["id"])["id"].to_pylist()
        assert len(ids) == table.rows, f"{table.key}: {len(ids)} rows, recorded {table.rows}"
        assert len(set(ids)) == len(ids), f"{table.key} holds an id twice"
    graph = read_back(snapshot)
    assert violations(graph, touched) == []
    return graph


def violations(graph: MemoryGraph, touched: Touched | None = None) -> list[str]:
    """Return every broken rule of a graph, sorted."""
    found: list[str] = []
    for node in graph.catalog.nodes:
        rows = {id_: {**values, "id": id_} for id_, values in graph.nodes[node.name].items()}
        found += _rows(node, rows)
        found += [
            f"key {node.name} {id_}" for id_, row in rows.items() if node.key and id_ != _key(node, row)
        ]
    for edge in graph.catalog.edges:
        ends = graph.edges[edge.name]
        rows = {
            id_: {**row.values, "id": id_, "src": row.source, "dst": row.target} for id_, row in ends.items()
        }
        found += _rows(edge, rows)
        found += [
            f"key {edge.name} {id_}" for id_, row in rows.items() if edge.key and id_ != _key(edge, row)
        ]
        for id_, end in ends.items():
            if end.source not in graph.nodes[edge.source]:
                found.append(f"endpoint {edge.name} {id_}: no source {end.source}")
            if end.target not in graph.nodes[edge.target]:
                found.append(f"endpoint {edge.name} {id_}: no target {end.target}")
        found += _cardinality(edge, graph, set((touched or {}).get(edge.name, ())))
    return sorted(found)


def _cardinality(edge: EdgeType, graph: MemoryGraph, touched: set[str]) -> list[str]:
    counts = Counter(row.source for row in graph.edges[edge.name].values())
    wanted = set(counts) | (touched & set(graph.nodes[edge.source]))
    low, high = edge.cardinality.low, edge.cardinality.high
    return [
        f"card {edge.name} {source}: {counts[source]}"
        for source in sorted(wanted)
        if counts[source] < low or (high is not None and counts[source] > high)
    ]


def _rows(table: TableType, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    found = []
    for id_, row in rows.items():
        for item in table.properties:
            if (why := _value(item, row[item.name])) is not None:
                found.append(f"{why} {table.name}.{item.name} {id_}: {row[item.name]!r}")
        if isinstance(table, NodeType):
            for limits in table.ranges:
                value = row[limits.property]
                if isinstance(value, int | float) and not (
                    (limits.low is None or float(value) >= limits.low)
                    and (limits.high is None or float(value) <= limits.high)
                ):
                    found.append(f"range {table.name}.{limits.property} {id_}: {value}")
            for check in table.checks:
                value = row[check.property]
                if isinstance(value, str) and re.search(check.pattern, value) is None:
                    found.append(f"check {table.name}.{check.property} {id_}: {value}")
    for group in table.uniques:
        seen: dict[tuple[Any, ...], str] = {}
        for id_, row in rows.items():
            members = tuple(row[name] for name in group)
            if None not in members and seen.setdefault(members, id_) != id_:
                found.append(f"unique {table.name}.{group} {id_} and {seen[members]}: {members}")
    return found


def _value(item: Property, value: Any) -> str | None:
    """Return the rule that one value breaks by itself."""
    type_ = item.type
    if value is None:
        return None if type_.nullable else "required"
    if type_.is_vector:
        return None if len(value) == type_.vector and all(map(math.isfinite, value)) else "vector"
    for member in value if type_.is_list else (value,):
        if member is None:
            return "null member"
        if type_.enum is not None and member not in type_.enum:
            return "enum"
        if type_.scalar in _INTEGERS:
            low, high = _INTEGERS[type_.scalar]
            if isinstance(member, bool) or not isinstance(member, int) or not low <= member <= high:
                return "integer"
        elif type_.scalar.is_float and not (isinstance(member, float) and math.isfinite(member)):
            return "float"
        elif type_.scalar is Scalar.BOOL and not isinstance(member, bool):
            return "bool"
        elif type_.scalar is Scalar.STRING and not isinstance(member, str):
            return "string"
    return None


def _key(table: TableType, row: Mapping[str, Any]) -> str:
    assert table.key is not None
    named = (table.by_name[name] for name in table.key if name in table.by_name)
    members = sorted(named, key=lambda item: item.id)
    texts = [row["src"], row["dst"]] if isinstance(table, EdgeType) else []
    texts += [_text(item, row[item.name]) for item in members]
    return texts[0] if len(texts) == 1 else json.dumps(texts, separators=(",", ":"), ensure_ascii=False)


def _text(item: Property, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        width = np.float32 if item.type.scalar is Scalar.F32 else np.float64
        return np.format_float_positional(width(value), trim="-") if value else "0"
    return str(value)
