"""Rules between tables: the ends of every edge exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.graph.write.integrity.delta import Deltas, TableDelta
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem, show_value
from omnigraph.graph.write.integrity.stored import StoredData


def check_new_ends(catalog: Catalog, deltas: Deltas, stored: StoredData) -> Iterator[Problem]:
    """Yield the new and changed edges one of whose ends does not exist in the final image."""
    for edge in catalog.edges:
        delta = deltas.get(edge.table_key)
        if delta is None or delta.rows.num_rows == 0:
            continue
        # A node type is searched once, for both ends.
        nodes = {
            node: [column for column, end in _ends_of(edge) if end == node] for _, node in _ends_of(edge)
        }
        missing_of = {
            node: _find_missing(catalog, node, _join(delta.rows, columns), deltas, stored)
            for node, columns in nodes.items()
        }
        for column, node in _ends_of(edge):
            missing = missing_of[node]
            if len(missing) == 0:
                continue
            ends = delta.rows[column].combine_chunks()
            for row in pc.indices_nonzero(pc.is_in(ends, missing)).to_pylist():
                yield _dangling_problem(edge, column, ends[row].as_py(), node, delta.place(row))


def check_kept_edges(catalog: Catalog, deltas: Deltas, stored: StoredData) -> Iterator[Problem]:
    """Yield the stored edges that stay although one of their nodes goes away."""
    for _, delta in sorted(deltas.items()):
        if not isinstance(delta.table, NodeType) or not (delta.removed or delta.replaces):
            continue
        gone = _find_gone(delta, stored)
        if len(gone) == 0:
            continue
        for edge in catalog.edges_of(delta.table.name):
            for column, node in _ends_of(edge):
                if node == delta.table.name:
                    yield from _find_left_behind(edge, column, node, gone, deltas, stored)


def _ends_of(edge: EdgeType) -> tuple[tuple[str, str], ...]:
    """Return both columns of ends, and the node type of each."""
    return ("src", edge.source), ("dst", edge.target)


def _join(rows: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    """Return the values of all these columns; nothing is copied."""
    return pa.chunked_array([chunk for column in columns for chunk in rows[column].chunks], pa.string())


def _find_missing(
    catalog: Catalog, node: str, ids: pa.ChunkedArray, deltas: Deltas, stored: StoredData
) -> pa.Array:
    """Return those of the ids that no node of this type has in the final image, each once."""
    declared = catalog.node(node)
    assert declared is not None
    delta = deltas.get(declared.table_key)
    wanted = ids
    if delta is not None:
        wanted = wanted.filter(pc.invert(pc.is_in(wanted, delta.ids)))
    wanted = pc.unique(wanted)
    if len(wanted) == 0 or (delta is not None and delta.replaces):
        return wanted
    found = stored.ids_among(declared.table_key, wanted)
    if delta is not None and delta.removed:
        found = found.filter(pc.invert(pc.is_in(found, pa.array(delta.removed, pa.string()))))
    return wanted.filter(pc.invert(pc.is_in(wanted, found)))


def _find_gone(delta: TableDelta, stored: StoredData) -> pa.Array:
    """Return the ids of the stored nodes that the final image does not have."""
    if not delta.replaces:
        return pa.array(delta.removed, pa.string())
    ids = stored.all_rows(delta.table.table_key, ("id",))["id"].combine_chunks()
    return ids.filter(pc.invert(pc.is_in(ids, delta.ids)))


def _find_left_behind(
    edge: EdgeType, column: str, node: str, gone: pa.Array, deltas: Deltas, stored: StoredData
) -> Iterator[Problem]:
    delta = deltas.get(edge.table_key)
    if delta is not None and delta.replaces:
        return
    rows = stored.rows_where(edge.table_key, column, gone, ("id", column))
    if delta is not None:
        rows = rows.filter(pc.invert(pc.is_in(rows["id"], delta.touched)))
    for end, id_ in sorted(zip(rows[column].to_pylist(), rows["id"].to_pylist(), strict=True)):
        yield _dangling_problem(edge, column, end, node, f"stored edge {id_}", id_)


def _dangling_problem(
    edge: EdgeType,
    column: str,
    end: str,
    node: str,
    place: RecordPlace | str | None,
    stored: str | None = None,
) -> Problem:
    message = f"{column} '{show_value(end)}' not found in {node}: edge {edge.name} needs it"
    return Problem("endpoint", edge.name, message, column, end, place, stored)
