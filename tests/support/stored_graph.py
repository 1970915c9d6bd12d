"""A stored graph read back in full, for comparing with models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.model.arrow_values import rows_to_plain
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.rows.scan_with_blobs import whole_rows
from support.reference_graph import Edge, MemoryGraph


def read_back(snapshot: Snapshot) -> MemoryGraph:
    """Return every row of a snapshot as the reference evaluator holds it."""
    graph = MemoryGraph(snapshot.catalog)
    for table in snapshot.catalog.tables:
        for row in _rows(snapshot, table):
            id_ = row.pop("id")
            if table.kind == "node":
                graph.nodes[table.name][id_] = row
            else:
                graph.edges[table.name][id_] = Edge(row.pop("src"), row.pop("dst"), row)
    return graph


def _rows(snapshot: Snapshot, table: TableType) -> Iterator[dict[str, Any]]:
    """Yield plain rows with the bytes of blobs: where those lie says nothing about the graph."""
    for rows in whole_rows(snapshot.table(table.table_key), table_schema(table).names):
        yield from rows_to_plain(table, rows)
