"""The edges of the fragments that are expected to stay, as positions of their ends; versions share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.cache.lookup import Lookup
from omnigraph.execution.local.cache.neighbours import Neighbours, RepeatedPairs
from omnigraph.execution.local.cache.parted_column import PartedColumn
from omnigraph.execution.local.cache.table_view import Sized, TableView
from omnigraph.execution.local.frame import NULL, Mask, Positions

_Made = TypeVar("_Made", bound=Sized)
Files = tuple[tuple[str, ...], ...]
"""The files of fragments."""
Kept = dict[tuple[str, Direction], Sized]
"""What was made for each direction."""


@dataclass(frozen=True)
class Ends:
    """Edges by the positions of their ends and their own."""

    sources: Positions
    targets: Positions
    edges: Positions

    def take(self, places: Positions | Mask) -> Ends:
        """Return some of the edges."""
        return Ends(self.sources[places], self.targets[places], self.edges[places])

    def merge(self, others: Ends) -> Ends:
        """Return these and other edges, by the positions of the edges."""
        if len(others.edges) == 0:
            return self
        parts = ((self.sources, others.sources), (self.targets, others.targets), (self.edges, others.edges))
        joined = Ends(*map(np.concatenate, parts))
        return joined.take(np.argsort(joined.edges))

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

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many edges each node has."""
        return self.numbers.degrees[nodes]

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
        self.files = tuple(large_files(view) for view in (rows, sources, targets))
        self.rows, self.source_rows, self.target_rows = map(_large_rows, (rows, sources, targets))
        everything = np.arange(self.rows, dtype=np.int64)
        ends = find_ends(rows, sources, targets, everything)
        live = np.ones(self.rows, dtype=bool) if rows.live is None else rows.live[: self.rows]
        inside = live & (ends.sources != NULL) & (ends.sources < self.source_rows)
        inside &= (ends.targets != NULL) & (ends.targets < self.target_rows)
        self.ends = ends.take(inside)
        self.loose = np.flatnonzero(~inside)
        """Edges of these fragments whose ends were not both among the nodes, or which were deleted."""
        self.source_ids = _make_id_lookup(sources, self.source_rows)
        self.target_ids = (
            self.source_ids if sources is targets else _make_id_lookup(targets, self.target_rows)
        )
        self._kept: Kept = {}

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
            found, repeated = Neighbours.distinct_counted(near, far, self.near_rows(direction))
            self._kept["repeated", direction] = repeated
            return found

        return make_once(self._kept, ("distinct", direction), make)

    def repeated_pairs(self, direction: Direction) -> RepeatedPairs:
        """Return the pairs of nodes that several edges connect."""
        self.neighbours(direction)
        return cast(RepeatedPairs, self._kept["repeated", direction])

    def incident(self, direction: Direction) -> Incident:
        """Return the edges of each node."""
        return make_once(
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


def find_ends(rows: TableView, sources: TableView, targets: TableView, edges: Positions) -> Ends:
    """Find the nodes at the ends of some edges; -1 for a missing node."""
    return Ends(_find_nodes(rows, "src", sources, edges), _find_nodes(rows, "dst", targets, edges), edges)


def _find_nodes(rows: TableView, column: str, nodes: TableView, edges: Positions) -> Positions:
    if len(edges) == 0:
        return np.empty(0, dtype=np.int64)
    values = rows.parted_column(column)
    first = values.first
    is_first = len(edges) == len(first) and edges[0] == 0 and edges[-1] == len(first) - 1
    ids: pa.Array = first if is_first else values.take(edges)
    return nodes.lookup("id").find_each(ids)


def large_files(view: TableView) -> Files:
    """Return the files of the large fragments."""
    return view.runs[0].files if view.runs and view.runs[0].is_large else ()


def _large_rows(view: TableView) -> int:
    return view.runs[0].rows if view.runs and view.runs[0].is_large else 0


def _make_id_lookup(nodes: TableView, count: int) -> Lookup:
    """Return a look-up of the ids of the first `count` nodes as they are now."""
    deleted = nodes.deleted[: np.searchsorted(nodes.deleted, count)]
    parts = [nodes.parted_column("id").first] if count else [pa.nulls(0, pa.string())]
    return Lookup(PartedColumn.of(parts), nodes.hash_tables("id")[: 1 if count else 0], deleted)


def make_once(made: Kept, name: tuple[str, Direction], make: Callable[[], _Made]) -> _Made:
    """Return what was made under a name, or make it."""
    found = made.get(name)
    if found is None:
        found = made[name] = make()
    return cast(_Made, found)
