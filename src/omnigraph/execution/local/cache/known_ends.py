"""The ends of the edges beside a base, found once and carried along from version to version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.execution.local.cache.edge_base import Ends, Files
from omnigraph.execution.local.cache.lookup import Lookup
from omnigraph.execution.local.cache.table_view import TableView
from omnigraph.execution.local.frame import NULL, Positions
from omnigraph.execution.local.sorting import is_among

_UNKNOWN = -2


@dataclass(frozen=True)
class KnownEnds:
    """What was found out for one version, and what of it stays right for versions with the same fragments."""

    files: tuple[Files, ...]
    """The files of the fragments of the edges, their sources and their targets."""
    ends: Ends
    """The edges beside the base, by the positions of their ends in this version."""
    old_sources: Positions
    """For each node after those of the base its place there; -1 without, -2 if unknown."""
    old_targets: Positions

    def fits(self, views: tuple[TableView, ...]) -> bool:
        """Return whether three tables begin with the fragments of this version: positions are equal then."""
        return all(
            len(view.fragments) >= len(files)
            and all(item.files == own for item, own in zip(view.fragments, files, strict=False))
            for view, files in zip(views, self.files, strict=True)
        )

    def ends_in(self, rows: TableView, sources: TableView, targets: TableView) -> Ends:
        """Return the edges whose ends are where they were: a row stays in its place until it is deleted."""
        found = self.ends
        stays = (found.sources != NULL) & (found.targets != NULL) & ~is_among(found.edges, rows.deleted)
        stays &= ~is_among(found.sources, sources.deleted) & ~is_among(found.targets, targets.deleted)
        return found.take(stays)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return 3 * self.ends.edges.nbytes + self.old_sources.nbytes + self.old_targets.nbytes


def find_old(ids: Lookup, nodes: TableView, count: int, known: Positions | None) -> Positions:
    """Return for each node after the first `count` its position among those, as far as it is needed."""
    old = np.full(nodes.rows - count, _UNKNOWN, dtype=np.int64)
    if count == 0:
        return old
    if known is not None:
        old[: len(known)] = known
    later = count + np.flatnonzero(old == _UNKNOWN)
    later = later[~is_among(later, nodes.deleted)]
    if len(later):
        old[later - count] = ids.find_each(nodes.parted_column("id").take(later))
    return old
