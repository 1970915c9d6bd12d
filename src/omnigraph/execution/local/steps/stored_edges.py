"""Edges of a few nodes found through the index of their ends, without an adjacency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.pattern import Direction, Traverse
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.frame import NULL, Frame, Positions
from omnigraph.execution.local.steps.traverse import join


@dataclass(frozen=True)
class StoredEdges:
    """For each edge found: the place of its near node in the input, its far node, and the edge."""

    places: Positions
    far: Positions
    edges: Positions


def find_edges(
    views: Views, edge: EdgeType, direction: Direction, nodes: Positions, distinct: bool
) -> StoredEdges:
    """Find the edges of some nodes; if `distinct`, each pair of nodes once."""
    forward = direction is Direction.FORWARD
    near, far = ("src", "dst") if forward else ("dst", "src")
    near_type, far_type = (edge.source, edge.target) if forward else (edge.target, edge.source)
    rows, near_view = views.table(edge.table_key), views.table(f"node:{near_type}")
    ids = near_view.take("id", nodes, nulls=True)
    edges, found = rows.stored.find_values(near, ids.drop_null(), far)
    far_ids = found[far].combine_chunks()
    far_nodes = views.table(f"node:{far_type}").find_each(far_ids)
    at = _places(ids, found[near].combine_chunks())
    pairs = StoredEdges(at[0], far_nodes[at[1]], edges[at[1]])
    whole = pairs.far != NULL
    if distinct:
        width = int(pairs.far.max(initial=0)) + 1
        _, first = np.unique(pairs.places * width + pairs.far, return_index=True)
        whole &= np.isin(np.arange(len(pairs.far)), first)
    return StoredEdges(pairs.places[whole], pairs.far[whole], pairs.edges[whole])


def extend(frame: Frame, found: StoredEdges, traverse: Traverse, end: int) -> Frame:
    """Extend rows with the edges found."""
    bound = {end: found.far}
    if traverse.edge is not None:
        bound[traverse.edge] = found.edges
    if traverse.length is not None:
        bound[traverse.length] = np.ones(len(found.places), dtype=np.int64)
    return join(frame, found.places, bound)


def _places(asked: pa.Array, found: pa.Array) -> tuple[Positions, Positions]:
    """Return pairs of a place in the input and a row found with its id."""
    distinct = pc.unique(asked.drop_null())
    of_found, of_asked = _numbers(found, distinct), _numbers(asked, distinct)
    rows_of = np.argsort(of_found, kind="stable")
    starts = np.searchsorted(of_found[rows_of], np.arange(len(distinct) + 1))
    counts = np.where(of_asked == NULL, 0, np.diff(starts)[np.maximum(of_asked, 0)] if len(distinct) else 0)
    places = np.repeat(np.arange(len(asked), dtype=np.int64), counts)
    offsets = np.arange(len(places), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, rows_of[starts[of_asked[places]] + offsets]


def _numbers(values: pa.Array, distinct: pa.Array) -> Positions:
    places = pc.index_in(values, value_set=distinct).fill_null(NULL)
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)
