"""Edges as positions of their ends. Adjacency is built once, and then updated by changes.

The edges of the large fragments make a `Base`, which versions of a table share for as long as they have
those fragments. What a version adds to it, takes from it or moves within it is a `Patch`.
"""

from __future__ import annotations

from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.cache.edge_base import Base, Incident, Kept, large_files, make_once
from omnigraph.execution.local.cache.edge_patch import ChangedLists, Patch, PatchedIncident, PatchedNeighbours
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.cache.table_view import TableView

_EDGES_PER_ADDED = 4
"""A base is rebuilt when a version adds more than one edge for so many, in fragments that will stay."""


class Adjacency:
    """The edges of one version of an edge table, between two versions of node tables."""

    base: Base
    _patch: Patch

    def __init__(
        self, rows: TableView, sources: TableView, targets: TableView, older: Adjacency | None = None
    ) -> None:
        """Use the base of another version if it fits, else build one."""
        views = (rows, sources, targets)
        if older is not None and not older.base.fits(*views):
            older = None
        base = Base(*views) if older is None else older.base
        patch = Patch.of(base, *views, None if older is None else older._patch)
        outgrown = len(patch.added.edges) * _EDGES_PER_ADDED > len(base.ends.edges)
        if outgrown and base.files != tuple(map(large_files, views)):
            base = Base(*views)
            patch = Patch.of(base, *views)
        self.base = base
        self._patch = patch
        self._rows = (sources.rows, targets.rows)
        self._kept: Kept = {}
        is_same = older is not None and older.base is base and older._patch.has_edges_of(patch)
        self._older = older._known_lists() if older is not None and is_same else {}
        """The lists of an older version that has the same edges."""

    @property
    def nbytes(self) -> int:
        """How much memory the adjacency takes; a shared base counts for each version."""
        return self.base.nbytes + self.patch_nbytes

    @property
    def patch_nbytes(self) -> int:
        """How much memory it takes beside its base."""
        own = [item for item in list(self._kept.values()) if not isinstance(item, Neighbours | Incident)]
        return self._patch.nbytes + sum(item.nbytes for item in own)

    def neighbours(self, direction: Direction) -> Neighbours | PatchedNeighbours:
        """Return the distinct neighbours of each node, over edges in a direction."""
        return make_once(self._kept, ("distinct", direction), lambda: self._neighbours(direction))

    def incident(self, direction: Direction) -> Incident | PatchedIncident:
        """Return the edges of each node, in a direction."""
        return make_once(self._kept, ("incident", direction), lambda: self._incident(direction))

    def _neighbours(self, direction: Direction) -> Neighbours | PatchedNeighbours:
        base, nodes = self.base.neighbours(direction), self._near_rows(direction)
        if self._patch.is_empty and base.nodes == nodes:
            return base
        known = self._older.pop(("distinct", direction), None)
        return self._patch.neighbours(self.base, direction, nodes, known)

    def _incident(self, direction: Direction) -> Incident | PatchedIncident:
        base, nodes = self.base.incident(direction), self._near_rows(direction)
        if self._patch.is_empty and base.numbers.nodes == nodes:
            return base
        return self._patch.incident(self.base, direction, nodes)

    def _known_lists(self) -> dict[tuple[str, Direction], ChangedLists]:
        """Return the lists that a version with the same edges may use."""
        made = list(self._kept.items())
        own = {name: item.lists.own for name, item in made if isinstance(item, PatchedNeighbours)}
        return {**self._older, **own}

    def _near_rows(self, direction: Direction) -> int:
        return self._rows[1 if direction is Direction.BACKWARD else 0]
