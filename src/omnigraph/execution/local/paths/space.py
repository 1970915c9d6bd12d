"""What a search of paths walks on: nodes and edges as positions, their order by type and id, and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.values import EntityId
from omnigraph.execution.local.cache.ranks import rank
from omnigraph.execution.local.cache.united_tables import UnitedTables
from omnigraph.execution.local.frame import Positions
from omnigraph.execution.local.paths.costs import Weights

_TABLE_ROWS_PER_RANKED_ROW = 4
"""The ids of a whole table are ranked if at least one in so many is compared."""
_ID = EntityId(-1)


class EdgeLists(Protocol):
    """The edges of each node."""

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many edges each node has."""

    def expand(self, nodes: Positions) -> tuple[Positions, Positions, Positions]:
        """Return, for each edge of each node, the node's place in the input, the far end and the edge."""


@dataclass(frozen=True)
class PathSpace:
    """The nodes and edges that a path may have."""

    nodes: UnitedTables
    edges: UnitedTables
    lists: Callable[[bool], EdgeLists]
    """The edges that lead away from each node, or those that lead to it."""
    weights: Weights | None

    @property
    def width(self) -> int:
        """One more than the largest node."""
        return self.nodes.rows + 1

    def node_ids(self, nodes: Positions) -> pa.Array:
        """Return the ids of some nodes."""
        return self.nodes.take(_ID, nodes)

    def edge_ids(self, edges: Positions) -> pa.Array:
        """Return the ids of some edges."""
        return self.edges.take(_ID, edges)

    def order_nodes(self, nodes: Positions) -> Positions:
        """Return a number for each node, smaller for one that comes before by type and id."""
        return _order(self.nodes, nodes)

    def order_edges(self, edges: Positions) -> Positions:
        """Return a number for each edge, smaller for one that comes before by type and id."""
        return _order(self.edges, edges)

    def name_nodes(self, nodes: Positions) -> list[tuple[int, str]]:
        """Return the number of the type and the id of each node."""
        return _name(self.nodes, nodes)

    def name_edges(self, edges: Positions) -> list[tuple[int, str]]:
        """Return the number of the type and the id of each edge."""
        return _name(self.edges, edges)


def _name(tables: UnitedTables, rows: Positions) -> list[tuple[int, str]]:
    begins = np.array([part.begin for part in tables.parts], dtype=np.int64)
    types = np.searchsorted(begins, rows, side="right").tolist()
    return list(zip(types, tables.take(_ID, rows).to_pylist(), strict=True))


def _order(tables: UnitedTables, rows: Positions) -> Positions:
    found = np.zeros(len(rows), dtype=np.int64)
    before = 0
    for part in tables.parts:
        places = np.flatnonzero((rows >= part.begin) & (rows < part.end))
        if len(places) == 0:
            continue
        own, view = rows[places] - part.begin, part.view
        if view.has_ranks("id") or len(own) * _TABLE_ROWS_PER_RANKED_ROW >= view.rows:
            ranks = view.ranks("id").take(own)
        else:
            ranks = rank(view.take("id", own, False))
        found[places] = ranks.codes + before
        before += ranks.size
    return found
