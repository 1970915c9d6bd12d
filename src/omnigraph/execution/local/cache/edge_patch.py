"""What a version has other than its base: edges that came and went, and nodes that moved.

Nothing here takes longer in a larger graph: the base is not copied, and the lists of the nodes at the
edges that changed are made anew beside it. A node that was written again keeps its number in the base,
and is known by its new position wherever nodes come in or go out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omnigraph.compiler.ir.pattern import Direction
from omnigraph.execution.local.cache.edge_base import Base, Ends, Incident, find_ends
from omnigraph.execution.local.cache.known_ends import KnownEnds, find_old
from omnigraph.execution.local.cache.neighbours import Neighbours, list_places
from omnigraph.execution.local.cache.table_view import TableView
from omnigraph.execution.local.frame import NULL, Mask, Positions, distinct
from omnigraph.execution.local.sorting import is_among

_NO_POSITIONS: Positions = np.empty(0, dtype=np.int64)
_MAX_SEARCHED_NODES = 1 << 14
"""More nodes are compared with those that moved by a table of flags."""


@dataclass(frozen=True)
class MovedNodes:
    """Nodes whose row was written again: their sorted positions in the base, and their new ones."""

    old: Positions
    new: Positions

    def newest(self, nodes: Positions) -> Positions:
        """Return the positions of nodes that are known by their positions in the base."""
        if len(self.old) == 0 or len(nodes) == 0:
            return nodes
        if len(nodes) > _MAX_SEARCHED_NODES:
            among = np.flatnonzero(self._has_moved[np.minimum(nodes, len(self._has_moved) - 1)])
            if len(among) == 0:
                return nodes
            found = nodes.copy()
            found[among] = _translate(nodes[among], self.old, self.new)
            return found
        return _translate(nodes, self.old, self.new)

    def in_base(self, nodes: Positions) -> Positions:
        """Return the positions that nodes have in the base; those that it does not have stay."""
        if len(self.old) == 0 or len(nodes) == 0:
            return nodes
        return _translate(nodes, *self._by_new)

    @cached_property
    def _by_new(self) -> tuple[Positions, Positions]:
        order = np.argsort(self.new)
        return self.new[order], self.old[order]

    @cached_property
    def _has_moved(self) -> Mask:
        flags = np.zeros(int(self.old[-1]) + 2, dtype=bool)
        flags[self.old] = True
        return flags


def _translate(nodes: Positions, known: Positions, others: Positions) -> Positions:
    at = np.minimum(np.searchsorted(known, nodes), len(known) - 1)
    return np.where(known[at] == nodes, others[at], nodes)


@dataclass(frozen=True)
class Patch:
    """The differences of one version from its base; nodes are known by their positions in the base."""

    gone: Positions
    """Positions of the base's edges that are deleted."""
    added: Ends
    moved_sources: MovedNodes
    moved_targets: MovedNodes
    known: KnownEnds

    @property
    def is_empty(self) -> bool:
        """Whether there are no differences."""
        parts = (self.gone, self.added.edges, self.moved_sources.old, self.moved_targets.old)
        return not any(len(part) for part in parts)

    @property
    def nbytes(self) -> int:
        """How much memory the differences take."""
        moved = 2 * (self.moved_sources.old.nbytes + self.moved_targets.old.nbytes)
        return self.gone.nbytes + 3 * self.added.edges.nbytes + moved + self.known.nbytes

    def moves_by_side(self, direction: Direction) -> tuple[MovedNodes, MovedNodes]:
        """Return the moved nodes on the near and on the far side."""
        if direction is Direction.BACKWARD:
            return self.moved_targets, self.moved_sources
        return self.moved_sources, self.moved_targets

    @staticmethod
    def of(
        base: Base, rows: TableView, sources: TableView, targets: TableView, older: Patch | None = None
    ) -> Patch:
        """Compare a version with its base; what `older` with this base has found is not looked for again."""
        views = (rows, sources, targets)
        known = older.known if older is not None and older.known.fits(views) else None
        dead = rows.deleted[: np.searchsorted(rows.deleted, base.rows)]
        gone = dead[is_among(dead, base.ends.edges)]
        fresh = np.concatenate([base.loose, np.arange(base.rows, rows.rows, dtype=np.int64)])
        fresh = fresh[~is_among(fresh, rows.deleted)]
        if known is None:
            found = find_ends(*views, fresh)
        else:
            stay = known.ends_in(*views)
            found = stay.merge(find_ends(*views, fresh[~is_among(fresh, stay.edges)]))
        added = found.take((found.sources != NULL) & (found.targets != NULL))
        old = find_old(
            base.source_ids, sources, base.source_rows, None if known is None else known.old_sources
        )
        moved = _find_moved(old, sources, base.source_rows)
        others, old_targets = moved, old
        if sources is not targets:
            old_targets = find_old(
                base.target_ids, targets, base.target_rows, None if known is None else known.old_targets
            )
            others = _find_moved(old_targets, targets, base.target_rows)
        inside = Ends(moved.in_base(added.sources), others.in_base(added.targets), added.edges)
        files = tuple(tuple(item.files for item in view.fragments) for view in views)
        return Patch(gone, inside, moved, others, KnownEnds(files, found, old, old_targets))

    def has_edges_of(self, other: Patch) -> bool:
        """Return whether another version with this base has the same edges between the same nodes."""
        mine, others = self.added, other.added
        return all(
            len(own) == len(its) and bool((own == its).all())
            for own, its in (
                (self.gone, other.gone),
                (mine.edges, others.edges),
                (mine.sources, others.sources),
                (mine.targets, others.targets),
            )
        )

    def neighbours(
        self, base: Base, direction: Direction, nodes: int, known: ChangedLists | None = None
    ) -> PatchedNeighbours:
        """Return the distinct neighbours of each of so many nodes; `known` are lists of the same edges."""
        whole = base.neighbours(direction)
        own = known or self._change_lists(base, direction)
        near, far = self.moves_by_side(direction)
        return PatchedNeighbours(PatchedLists(whole, own, near, nodes), far)

    def _change_lists(self, base: Base, direction: Direction) -> ChangedLists:
        """Make the lists of the nodes whose neighbours are not those of the base."""
        whole = base.neighbours(direction)
        near, far, _ = self.added.in_direction(direction)
        gone = base.ends.take(np.searchsorted(base.ends.edges, self.gone)).in_direction(direction)
        changed = distinct(near, gone[0])
        known = changed[changed < whole.nodes]
        places, stay = whole.expand(known)
        starts = known[places]
        if len(self.gone):
            near_gone, far_gone = base.repeated_pairs(direction).without(gone[0], gone[1])
            width = int(max(stay.max(initial=0), far_gone.max(initial=0))) + 1
            kept = ~np.isin(starts * width + stay, near_gone * width + far_gone)
            starts, stay = starts[kept], stay[kept]
        numbers = np.searchsorted(changed, np.concatenate([starts, near]))
        return ChangedLists(Neighbours.distinct(numbers, np.concatenate([stay, far]), len(changed)), changed)

    def incident(self, base: Base, direction: Direction, nodes: int) -> PatchedIncident:
        """Return the edges of each of so many nodes."""
        whole = base.incident(direction)
        near, far, edges = self.added.in_direction(direction)
        gone = base.ends.take(np.searchsorted(base.ends.edges, self.gone)).in_direction(direction)
        changed = distinct(near, gone[0])
        known = changed[changed < whole.numbers.nodes]
        places, far_known, edges_known = whole.expand(known)
        kept = ~is_among(edges_known, self.gone)
        numbers = np.searchsorted(changed, np.concatenate([known[places[kept]], near]))
        lists = Incident.of(
            numbers,
            np.concatenate([far_known[kept], far]),
            np.concatenate([edges_known[kept], edges]),
            len(changed),
        )
        moved, others = self.moves_by_side(direction)
        return PatchedIncident(
            PatchedLists(whole.numbers, ChangedLists(lists.numbers, changed), moved, nodes),
            whole,
            lists,
            others,
        )


@dataclass(frozen=True)
class ChangedLists:
    """The lists of some nodes: list n of `lists` is that of node changed[n]."""

    lists: Neighbours
    changed: Positions


@dataclass(frozen=True)
class PatchedLists:
    """The lists of a base, some of them replaced by others."""

    base: Neighbours
    own: ChangedLists
    moved: MovedNodes
    nodes: int

    @property
    def lists(self) -> Neighbours:
        """The lists that replace others."""
        return self.own.lists

    @property
    def changed(self) -> Positions:
        """The nodes whose lists are replaced."""
        return self.own.changed

    def find(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return where the list of each node begins, and its length; replaced ones come after the others."""
        inside = self.moved.in_base(nodes)
        known = np.where(inside < self.base.nodes, inside, NULL)
        begins, counts = self.base.begins[known], self.base.degrees[known]
        lists = self.own.lists
        if len(self.own.changed):
            at, is_changed = self.find_replaced(inside)
            begins = np.where(is_changed, lists.begins[at] + len(self.base.far), begins)
            counts = np.where(is_changed, lists.degrees[at], counts)
        return begins, counts

    def find_replaced(self, inside: Positions) -> tuple[Positions, Mask]:
        """Return the number of the list that replaces that of each node, and whether there is one."""
        changed = self.own.changed
        at = np.minimum(np.searchsorted(changed, inside), len(changed) - 1)
        return at, changed[at] == inside

    @cached_property
    def length(self) -> int:
        """How long all lists are together."""
        replaced = self.base.degrees[self.changed[self.changed < self.base.nodes]]
        return len(self.base.far) + len(self.lists.far) - int(replaced.sum())

    @cached_property
    def degrees(self) -> Positions:
        """How long the list of each node is; the last entry is for NULL."""
        found = np.zeros(self.nodes + 1, dtype=np.int64)
        found[: self.base.nodes] = self.base.degrees[:-1]
        found[self.changed] = self.lists.degrees[:-1]
        old, new = self.moved.old, self.moved.new
        moved = found[old]
        found[old] = 0
        found[new] = moved
        return found

    @property
    def nbytes(self) -> int:
        """How much memory is taken beside the base."""
        made = self.__dict__.get("degrees")
        return self.lists.nbytes + self.changed.nbytes + (0 if made is None else int(made.nbytes))


@dataclass(frozen=True)
class PatchedNeighbours:
    """The distinct neighbours of each node of a version."""

    lists: PatchedLists
    moved: MovedNodes
    """The nodes on the far side that have moved."""

    @property
    def nodes(self) -> int:
        """How many nodes there are on the near side."""
        return self.lists.nodes

    @property
    def pairs(self) -> int:
        """How many neighbours all nodes have together."""
        return self.lists.length

    @property
    def degrees(self) -> Positions:
        """How many neighbours each node has; the last entry is for NULL."""
        return self.lists.degrees

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many neighbours each node has."""
        return self.lists.find(nodes)[1]

    def expand(self, nodes: Positions) -> tuple[Positions, Positions]:
        """Return, for each neighbour of each node, the node's place in the input and the neighbour."""
        places, numbers = list_places(*self.lists.find(nodes))
        return places, self.moved.newest(_gather(self.lists.base.far, self.lists.lists.far, numbers))

    def contains(self, near: Positions, far: Positions) -> Mask:
        """Return for each pair whether the second is a neighbour of the first."""
        lists = self.lists
        start, end = lists.moved.in_base(near), self.moved.in_base(far)
        found = lists.base.contains(np.where(start < lists.base.nodes, start, NULL), end)
        if len(lists.changed):
            at, is_changed = lists.find_replaced(start)
            found[is_changed] = lists.lists.contains(at[is_changed], end[is_changed])
        return found

    @property
    def size(self) -> int:
        """One more than the largest node on either side."""
        newest = int(self.moved.new.max(initial=0))
        return max(self.nodes + 1, self.lists.base.size, self.lists.lists.size, newest + 1)

    @property
    def nbytes(self) -> int:
        """How much memory is taken beside the base."""
        return self.lists.nbytes


@dataclass(frozen=True)
class PatchedIncident:
    """The edges at each node of a version."""

    lists: PatchedLists
    base: Incident
    newer: Incident
    moved: MovedNodes
    """The nodes on the far side that have moved."""

    @property
    def degrees(self) -> Positions:
        """How many edges each node has; the last entry is for NULL."""
        return self.lists.degrees

    def degrees_of(self, nodes: Positions) -> Positions:
        """Return how many edges each node has."""
        return self.lists.find(nodes)[1]

    def expand(self, nodes: Positions) -> tuple[Positions, Positions, Positions]:
        """Return, for each edge of each node, the node's place in the input, the far end and the edge."""
        places, numbers = list_places(*self.lists.find(nodes))
        older = numbers < len(self.base.far)
        at = np.empty(len(numbers), dtype=np.int64)
        at[older] = self.base.numbers.far[numbers[older]]
        at[~older] = self.newer.numbers.far[numbers[~older] - len(self.base.far)] + len(self.base.far)
        far = self.moved.newest(_gather(self.base.far, self.newer.far, at))
        return places, far, _gather(self.base.edges, self.newer.edges, at)

    @property
    def nbytes(self) -> int:
        """How much memory is taken beside the base."""
        return self.lists.nbytes + self.newer.far.nbytes + self.newer.edges.nbytes


def _gather(first: Positions, second: Positions, numbers: Positions) -> Positions:
    """Return the items at some places of two arrays, the second after the first."""
    later = numbers >= len(first)
    if not later.any():
        return first[numbers]
    found = np.empty(len(numbers), dtype=np.int64)
    found[~later] = first[numbers[~later]]
    found[later] = second[numbers[later] - len(first)]
    return found


def _find_moved(old: Positions, nodes: TableView, count: int) -> MovedNodes:
    """Find the nodes of the base whose row is now after the rows of the base."""
    later = np.flatnonzero(old >= 0)
    later = later[~is_among(later + count, nodes.deleted)]
    order = np.argsort(old[later])
    return MovedNodes(old[later][order], later[order] + count)
