"""A stored graph read back in full, for comparing with models."""

from __future__ import annotations

from omnigraph.graph.plain import rows_to_plain
from omnigraph.graph.snapshot import Snapshot
from support.reference_graph import Edge, MemoryGraph


def read_back(snapshot: Snapshot) -> MemoryGraph:
    """Return every row of a snapshot as the reference evaluator holds it."""
    graph = MemoryGraph(snapshot.catalog)
    for table in snapshot.catalog.tables:
        rows = rows_to_plain(table, snapshot.table(table.table_key).scan())
        for row in rows:
            id_ = row.pop("id")
            if table.kind == "node":
                graph.nodes[table.name][id_] = row
            else:
                graph.edges[table.name][id_] = Edge(row.pop("src"), row.pop("dst"), row)
    return graph
