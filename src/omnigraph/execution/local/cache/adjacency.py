"""Edges as positions of their ends. Adjacency is built once, and then updated by changes.

The edges of the large fragments make a `Base`, which versions of a table share for as long as they have
those fragments. What a version adds to it, takes from it or moves within it changes the lists of a few
nodes only; those are made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.cache.lookup import Lookup
from omnigraph.execution.local.cache.neighbours import Neighbours
from omnigraph.execution.local.cache.table_view import Sized, TableView
from omnigraph.execution.local.frame import NULL, Mask, Positions, distinct

_Made = TypeVar("_Made", bound=Sized)

_NO_POSITIONS = np.empty(0, dtype=np.int64)
_EDGES_PER_ADDED = 4
"""A base is rebuilt when a version adds more than one edge for so many, in fragments that will stay."""


@dataclass(frozen=True)
class Ends:
    """Edges by the positions of their ends and their own."""

    sources: Positions
    targets: Positions
    edges: Positions

    def take(self, places: Positions | Mask) -> Ends:
        """Return some of the edges."""
        return Ends(self.sources[places], self.targets[places], self.edges[places])

    def in_direction(self, direction: Direction) -> tuple[Positions, Positions, Positions]:
        """Return near ends, far ends and edges; in both directions a loop counts once."""
        if direction is Direction.FORWARD:
            return self.sources, self.targets, self.edges
        if direction is Direction.BACKWARD:
            return self.targets, self.sources, self.edges
        other = self.sources != self.targets
        return (
            np.concatenate([self.sources, self.targets[other]]),
            np.concatenate([self.targets, self.sources[other]]),
            np.concatenate([self.edges, self.edges[other]]),
        )


@dataclass(frozen=True)
class Incident:
    """The edges at each node: their numbers by node, and by number their far ends and positions."""

    numbers: Neighbours
    far: Positions
    edges: Positions

    @staticmethod
    def of(near: Positions, far: Positions, edges: Positions, nodes: int) -> Incident:
        """Group edges by their near ends."""
        return Incident(Neighbours.of(near, np.arange(len(near), dtype=np.int64), nodes), far, edges)

    @property
    def degrees(self) -> Positions:
        """How many edges each node has."""
        return self.numbers.degrees

    def expand(self, nodes: Positions) -> tuple[Positions, Positions, Positions]:
        """Return, for each edge of each node, the node's place in the input, the far end and the edge."""
        places, numbers = self.numbers.expand(nodes)
        return places, self.far[numbers], self.edges[numbers]

    @property
    def nbytes(self) -> int:
        """How much memory the lists take."""
        return self.numbers.nbytes + self.far.nbytes + self.edges.nbytes


class Base:
    """The edges of some fragments between the nodes of some fragments."""

    def __init__(self, rows: TableView, sources: TableView, targets: TableView) -> None:
        """Find the ends of the edges in the large fragments of three tables."""
        self.files = tuple(_large_files(view) for view in (rows, sources, targets))
        self.rows, self.source_rows, self.target_rows = map(_large_rows, (rows, sources, targets))
        everything = np.arange(self.rows, dtype=np.int64)
        ends = _find_ends(rows, sources, targets, everything)
        live = np.ones(self.rows, dtype=bool) if rows.live is None else rows.live[: self.rows]
        inside = live & (ends.sources != NULL) & (ends.sources < self.source_rows)
        inside &= (ends.targets != NULL) & (ends.targets < self.target_rows)
        self.ends = ends.take(inside)
        self.loose = np.flatnonzero(~inside)
        """Edges of these fragments whose ends were not both among the nodes, or which were deleted."""
        self.source_ids, self.target_ids = (
            _make_id_lookup(sources, self.source_rows),
            _make_id_lookup(targets, self.target_rows),
        )
        self._kept: dict[tuple[str, Direction], Sized] = {}

    def fits(self, rows: TableView, sources: TableView, targets: TableView) -> bool:
        """Return whether three tables begin with the fragments of this base."""
        views = (rows, sources, targets)
        return all(
            tuple(item.files for item in view.fragments[: len(files)]) == files
            for view, files in zip(views, self.files, strict=True)
        )

    def neighbours(self, direction: Direction) -> Neighbours:
        """Return the distinct neighbours of each node."""

        def make() -> Neighbours:
            near, far, _ = self.ends.in_direction(direction)
            return Neighbours.distinct(near, far, self.near_rows(direction))

        return _make_once(self._kept, ("distinct", direction), make)

    def incident(self, direction: Direction) -> Incident:
        """Return the edges of each node."""
        return _make_once(
            self._kept,
            ("incident", direction),
            lambda: Incident.of(*self.ends.in_direction(direction), self.near_rows(direction)),
        )

    def near_rows(self, direction: Direction) -> int:
        """Return how many nodes there are on the near side."""
        return self.target_rows if direction is Direction.BACKWARD else self.source_rows

    @property
    def nbytes(self) -> int:
        """How much memory the base takes."""
        ids = self.source_ids.nbytes + self.target_ids.nbytes
        made = sum(item.nbytes for item in list(self._kept.values()))
        return 3 * self.ends.edges.nbytes + self.loose.nbytes + ids + made


@dataclass(frozen=True)
class Patch:
    """The differences of one version from its base."""

    gone: Positions
    """Positions of the base's edges that are deleted."""
    added: Ends
    moved_sources: MovedNodes
    moved_targets: MovedNodes

    @property
    def is_empty(self) -> bool:
        """Whether there are no differences."""
        parts = (self.gone, self.added.edges, self.moved_sources.old, self.moved_targets.old)
        return not any(len(part) for part in parts)

    @property
    def nbytes(self) -> int:
        """How much memory the differences take."""
        moved = 2 * (self.moved_sources.old.nbytes + self.moved_targets.old.nbytes)
        return self.gone.nbytes + 3 * self.added.edges.nbytes + moved

    def moves_by_side(self, direction: Direction) -> tuple[MovedNodes, MovedNodes]:
        """Return the moved nodes on the near and on the far side."""
        if direction is Direction.BACKWARD:
            return self.moved_targets, self.moved_sources
        return self.moved_sources, self.moved_targets

    @staticmethod
    def of(base: Base, rows: TableView, sources: TableView, targets: TableView) -> Patch:
        """Compare a version with its base."""
        dead = _NO_POSITIONS if rows.live is None else np.flatnonzero(~rows.live[: base.rows])
        gone = dead[_is_among(dead, base.ends.edges)]
        fresh = np.concatenate([base.loose, np.arange(base.rows, rows.rows, dtype=np.int64)])
        if rows.live is not None:
            fresh = fresh[rows.live[fresh]]
        added = _find_ends(rows, sources, targets, fresh)
        whole = (added.sources != NULL) & (added.targets != NULL)
        return Patch(
            gone,
            added.take(whole),
            _find_moved(base.source_ids, sources, base.source_rows),
            _find_moved(base.target_ids, targets, base.target_rows),
        )


@dataclass(frozen=True)
class MovedNodes:
    """Nodes whose row was rewritten: their sorted positions in the base, and their new ones."""

    old: Positions
    new: Positions

    def newest(self, nodes: Positions) -> Positions:
        """Return the newest positions of nodes."""
        if len(self.old) == 0 or len(nodes) == 0:
            return nodes
        at = np.minimum(np.searchsorted(self.old, nodes), len(self.old) - 1)
        return np.where(self.old[at] == nodes, self.new[at], nodes)


class Adjacency:
    """The edges of one version of an edge table, between two versions of node tables."""

    base: Base

    def __init__(
        self, rows: TableView, sources: TableView, targets: TableView, older: Adjacency | None = None
    ) -> None:
        """Use the base of another version if it fits, else build one."""
        views = (rows, sources, targets)
        base = older.base if older is not None and older.base.fits(*views) else Base(*views)
        patch = Patch.of(base, *views)
        outgrown = len(patch.added.edges) * _EDGES_PER_ADDED > len(base.ends.edges)
        if outgrown and base.files != tuple(map(_large_files, views)):
            base = Base(*views)
            patch = Patch.of(base, *views)
        self.base = base
        self._patch = patch
        self._rows = (sources.rows, targets.rows)
        self._kept: dict[tuple[str, Direction], Sized] = {}

    @property
    def nbytes(self) -> int:
        """How much memory the adjacency takes; a shared base counts for each version."""
        made = sum(item.nbytes for item in list(self._kept.values()))
        return self.base.nbytes + self._patch.nbytes + made

    def neighbours(self, direction: Direction) -> Neighbours:
        """Return the distinct neighbours of each node, over edges in a direction."""
        return _make_once(self._kept, ("distinct", direction), lambda: self._neighbours(direction))

    def incident(self, direction: Direction) -> Incident:
        """Return the edges of each node, in a direction."""
        return _make_once(self._kept, ("incident", direction), lambda: self._incident(direction))

    def _neighbours(self, direction: Direction) -> Neighbours:
        base, count = self.base.neighbours(direction), self._near_rows(direction)
        if self._patch.is_empty and len(base.degrees) == count + 1:
            return base
        nodes, (near, far, _) = self._find_changed(direction)
        return base.replace_lists(Neighbours.distinct(near, far, count), nodes, count)

    def _incident(self, direction: Direction) -> Incident:
        base, count = self.base.incident(direction), self._near_rows(direction)
        if self._patch.is_empty and len(base.degrees) == count + 1:
            return base
        nodes, changed = self._find_changed(direction)
        newer = Incident.of(*changed, count)
        return Incident(
            base.numbers.replace_lists(newer.numbers.shift(len(base.far)), nodes, count),
            np.concatenate([base.far, newer.far]),
            np.concatenate([base.edges, newer.edges]),
        )

    def _near_rows(self, direction: Direction) -> int:
        return self._rows[1 if direction is Direction.BACKWARD else 0]

    def _find_changed(self, direction: Direction) -> tuple[Positions, tuple[Positions, Positions, Positions]]:
        """Return the nodes whose lists differ from the base, and near, far and edge of all their edges."""
        patch, base = self._patch, self.base
        near_moved, far_moved = patch.moves_by_side(direction)
        added_near, added_far, added_edges = patch.added.in_direction(direction)
        gone = base.ends.take(np.searchsorted(base.ends.edges, patch.gone))
        _, beside, _ = base.incident(_OPPOSITE[direction]).expand(far_moved.old)
        known = added_near[added_near < base.near_rows(direction)]
        touched = distinct(gone.in_direction(direction)[0], near_moved.old, beside, known)
        places, far, edges = base.incident(direction).expand(touched)
        kept = ~np.isin(edges, patch.gone)
        near = np.concatenate([near_moved.newest(touched[places[kept]]), added_near])
        far = np.concatenate([far_moved.newest(far[kept]), added_far])
        nodes = distinct(near_moved.newest(touched), added_near)
        return nodes, (near, far, np.concatenate([edges[kept], added_edges]))


_OPPOSITE = {
    Direction.FORWARD: Direction.BACKWARD,
    Direction.BACKWARD: Direction.FORWARD,
    Direction.BOTH: Direction.BOTH,
}


def _is_among(values: Positions, ascending: Positions) -> Mask:
    """Return which values are in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(values), dtype=bool)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[at] == values)


def _large_files(view: TableView) -> tuple[tuple[str, ...], ...]:
    """Return the files of the large fragments."""
    return view.runs[0].files if view.runs and view.runs[0].is_large else ()


def _large_rows(view: TableView) -> int:
    return view.runs[0].rows if view.runs and view.runs[0].is_large else 0


def _find_ends(rows: TableView, sources: TableView, targets: TableView, edges: Positions) -> Ends:
    """Find the nodes at the ends of some edges; -1 for a missing node."""
    return Ends(_find_nodes(rows, "src", sources, edges), _find_nodes(rows, "dst", targets, edges), edges)


def _find_nodes(rows: TableView, column: str, nodes: TableView, edges: Positions) -> Positions:
    if len(edges) == 0:
        return _NO_POSITIONS
    values = rows.column(column)
    index = nodes.lookup("id")
    return index.find_each(values if len(edges) == len(values) else values.take(pa.array(edges)))


def _make_id_lookup(nodes: TableView, count: int) -> Lookup:
    """Return a look-up of the ids of the first `count` nodes as they are now."""
    values = nodes.column("id").slice(0, count)
    live = None if nodes.live is None else nodes.live[:count]
    return Lookup(values, nodes.hash_tables("id")[: 1 if count else 0], live)


def _find_moved(ids: Lookup, nodes: TableView, count: int) -> MovedNodes:
    """Find the nodes of the base whose row is now after the rows of the base."""
    later = np.arange(count, nodes.rows, dtype=np.int64)
    if nodes.live is not None:
        later = later[nodes.live[later]]
    if len(later) == 0 or count == 0:
        return MovedNodes(_NO_POSITIONS, _NO_POSITIONS)
    old = ids.find_each(nodes.column("id").take(pa.array(later)))
    known = old != NULL
    order = np.argsort(old[known])
    return MovedNodes(old[known][order], later[known][order])


def _make_once(
    made: dict[tuple[str, Direction], Sized], name: tuple[str, Direction], make: Callable[[], _Made]
) -> _Made:
    found = made.get(name)
    if found is None:
        found = made[name] = make()
    return cast(_Made, found)
