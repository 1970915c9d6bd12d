"""Staging a checked final image: deletes, upserts and replacements of each table, one version each."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.write.integrity.delta import Deltas, TableDelta
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.tables.staging import StagedFragments, StagedTable, TableFields


@dataclass
class StagedRows:
    """Data files written by an earlier attempt, by table.

    They are used again while the rows are the same and the table still has the place and the columns that
    they were written for: a file names columns by number, and another writer may have changed the schema.
    """

    written: dict[str, tuple[pa.Table, TableFields, StagedFragments]] = field(default_factory=dict)

    def of(self, delta: TableDelta, table: StagedTable) -> StagedFragments:
        """Return the data files that hold the rows of a delta, writing them when nobody has."""
        key, columns = delta.table.table_key, table.columns
        known = self.written.get(key)
        if known is None or known[1] != columns or not known[0].equals(delta.rows):
            known = (delta.rows, columns, table.write_rows(delta.rows))
            self.written[key] = known
        return known[2]


def stage_deltas(
    base: WriteBase, deltas: Deltas, fresh: Set[str], staged: StagedRows, known: Set[str] = frozenset()
) -> None:
    """Stage every table's change.

    Tables in `fresh` only get rows whose ids cannot be stored yet; those in `known` only rows whose ids are.
    """

    def stage(key: str) -> None:
        delta = deltas[key]
        table = base.table(key)
        if delta.replaces:
            table.overwrite(staged.of(delta, table))
        elif delta.rows.num_rows and key in fresh:
            table.append(staged.of(delta, table))
        elif delta.rows.num_rows and key in known:
            table.merge(delta.rows)
        elif delta.rows.num_rows:
            table.upsert(delta.rows, staged.of(delta, table))
        if delta.removed:
            table.delete(delta.removed)
        hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

    side_by_side([partial(stage, key) for key in sorted(deltas)])
