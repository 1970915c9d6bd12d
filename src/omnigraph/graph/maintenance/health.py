"""How the tables of a commit are stored, and which of their indexes know every row."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.graph.maintenance.optimize.wanted_indexes import wanted_indexes
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.indexes.indexes import IndexKind


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """An index that is there or is asked for."""

    property: str
    kind: IndexKind
    is_built: bool
    rows_uncovered: int
    """Rows that it does not know: they are found by reading them, until an optimize folds them in."""


@dataclass(frozen=True, slots=True)
class TableHealth:
    """How one table is stored."""

    type_key: str
    rows: int
    fragments: int
    rows_deleted: int
    """Deleted rows that its files still hold."""
    indexes: tuple[IndexHealth, ...]


def describe_tables(snapshot: Snapshot) -> tuple[TableHealth, ...]:
    """Return how each table is stored: manifests and indexes are looked at, and no rows."""
    return tuple(_describe(snapshot, info.key) for info in snapshot.tables)


def _describe(snapshot: Snapshot, key: str) -> TableHealth:
    table = snapshot.table(key)
    rows, fragments = table.count(), table.fragments()
    present = {(item.column, item.kind): item for item in table.indexes}
    declared = snapshot.catalog.table(key)
    wanted = () if declared is None else wanted_indexes(declared)
    places = dict.fromkeys((*((item.column, item.kind) for item in wanted), *present))
    indexes = tuple(
        IndexHealth(*place, place in present, present[place].rows_uncovered if place in present else rows)
        for place in places
    )
    stored = sum(fragment.rows for fragment in fragments)
    return TableHealth(key, rows, len(fragments), stored - rows, indexes)
