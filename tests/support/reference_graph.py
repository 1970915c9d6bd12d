"""A graph in dictionaries, for the reference evaluator: records in, no checks, no storage."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, Property
from omnigraph.compiler.ir.values import PlainValue
from omnigraph.compiler.typecheck.types import convert_to_stored
from omnigraph.compiler.typecheck.writes.statements import default_value
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.canonical import canonical_key
from omnigraph.compiler.values.dates import parse_date, parse_datetime

Row = dict[str, PlainValue]


@dataclass
class Edge:
    """An edge row."""

    source: str
    target: str
    values: Row


@dataclass
class MemoryGraph:
    """Rows by type and id."""

    catalog: Catalog
    nodes: dict[str, dict[str, Row]] = field(default_factory=dict)
    edges: dict[str, dict[str, Edge]] = field(default_factory=dict)
    _fresh: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        for node in self.catalog.nodes:
            self.nodes.setdefault(node.name, {})
        for edge in self.catalog.edges:
            self.edges.setdefault(edge.name, {})

    def fresh_id(self) -> str:
        """Return an id that nothing has."""
        return f"fresh-{next(self._fresh):06d}"

    def load(self, records: Iterable[Mapping[str, Any]], mode: str = "append") -> dict[str, int]:
        """Take in valid records and return how many there were of each type."""
        rows = list(records)
        counts: dict[str, int] = {}
        if mode == "overwrite":
            for record in rows:
                if "type" in record:
                    self.nodes[record["type"]].clear()
                else:
                    self._edges(record["edge"])[1].clear()
        for record in rows:
            data = dict(record.get("data", {}))
            explicit = data.pop("id", None)
            if "type" in record:
                node = self.catalog.node(record["type"])
                assert node is not None, record
                values = whole_row(node.properties, data)
                self.nodes[node.name][self.node_id(node, values, explicit)] = values
                counts[node.name] = counts.get(node.name, 0) + 1
            else:
                name, table = self._edges(record["edge"])
                edge = self.catalog.edge(name)
                assert edge is not None
                values = whole_row(edge.properties, data)
                row = Edge(record["from"], record["to"], values)
                table[self.edge_id(edge, row, explicit)] = row
                counts[name] = counts.get(name, 0) + 1
        return counts

    def node_id(self, node: NodeType, values: Row, explicit: str | None = None) -> str:
        """Return the id of a node: from its key, else the given one, else a fresh one."""
        if node.key is None:
            return explicit or self.fresh_id()
        members = [values[name] for name in node.key]
        return canonical_key(members, [node.by_name[name].type for name in node.key])  # type: ignore[arg-type]

    def edge_id(self, edge: EdgeType, row: Edge, explicit: str | None = None) -> str:
        """Return the id of an edge: from its key, else the given one, else a fresh one."""
        if edge.key is None:
            return explicit or self.fresh_id()
        string = PropertyType(Scalar.STRING)
        members = [row.source, row.target, *(row.values[name] for name in edge.key[2:])]
        types = [string, string, *(edge.by_name[name].type for name in edge.key[2:])]
        return canonical_key(members, types)  # type: ignore[arg-type]

    def _edges(self, name: str) -> tuple[str, dict[str, Edge]]:
        edge = self.catalog.edge(name)
        assert edge is not None, name
        return edge.name, self.edges[edge.name]


def whole_row(properties: Iterable[Property], data: Mapping[str, Any]) -> Row:
    """Return a value for every property, from the load format."""
    row: Row = {}
    for item in properties:
        if item.name in data:
            row[item.name] = stored(_plain(data[item.name], item), item.type)
        else:
            row[item.name] = default_value(item).value if item.default else None
    return row


def stored(value: Any, type_: PropertyType) -> PlainValue:
    """Return a value as a property holds it, or raise ValueError."""
    if isinstance(value, str) and type_.scalar is Scalar.BLOB:
        return base64.b64decode(value.removeprefix("base64:"))  # type: ignore[return-value]
    return value if isinstance(value, bytes) else convert_to_stored(value, type_)


def _plain(value: Any, item: Property) -> PlainValue:
    if isinstance(value, list):
        return tuple(_plain(part, item) for part in value)
    if isinstance(value, str) and item.type.scalar is Scalar.DATE:
        return parse_date(value)
    if isinstance(value, str) and item.type.scalar is Scalar.DATETIME:
        return parse_datetime(value)
    if item.type.scalar is Scalar.BLOB:
        return value  # type: ignore[no-any-return]
    plain: PlainValue = json.loads(json.dumps(value))
    return plain
