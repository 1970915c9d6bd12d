"""Plain row changes to tables: append, upsert, delete and overwrite, without the rules of a schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.tables.staging import StagedFragments, StagedTable

_LARGE = 10_000


@dataclass(frozen=True, slots=True)
class Append:
    """Add rows whose ids are new."""

    table_key: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Upsert:
    """Replace the rows whose id is stored, add the others."""

    table_key: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replace all rows of a table."""

    table_key: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete rows by id."""

    table_key: str
    ids: Sequence[str]


Change = Append | Upsert | Overwrite | Delete


@dataclass
class RowChanges:
    """Work for `commit`: a list of changes, applied in order."""

    changes: Sequence[Change]
    operation: str = "write"
    commit_class: CommitClass = CommitClass.LOGICAL
    _staged: dict[int, StagedFragments] = field(default_factory=dict, init=False)

    @property
    def repeatable(self) -> bool:
        """Say whether the work may be applied to a state other than the one it was asked for on."""
        return all(isinstance(change, Append | Upsert) for change in self.changes)

    def stage(self, base: WriteBase) -> None:
        """Write large data files ahead; small ones are written in turn, with tables that are opened once."""
        self._staged.clear()

        def write(place: int, change: Change) -> None:
            if not isinstance(change, Delete) and change.rows.num_rows >= _LARGE:
                self._written(place, change, base.table(change.table_key))

        self._table_by_table(write)

    def apply(self, base: WriteBase) -> None:
        """Stage the table versions."""

        def apply_one(place: int, change: Change) -> None:
            table = base.table(change.table_key)
            match change:
                case Append():
                    table.append(self._written(place, change, table))
                case Upsert(rows=rows):
                    table.upsert(rows, self._written(place, change, table))
                case Overwrite():
                    table.overwrite(self._written(place, change, table))
                case Delete(ids=ids):
                    table.delete(ids)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

        self._table_by_table(apply_one)

    def _written(
        self, place: int, change: Append | Upsert | Overwrite, table: StagedTable
    ) -> StagedFragments:
        """Return the data files of a change, writing them when no attempt has yet."""
        if place not in self._staged:
            self._staged[place] = table.write_rows(change.rows)
        return self._staged[place]

    def _table_by_table(self, act: Callable[[int, Change], None]) -> None:
        """Do something with every change: in order within a table, tables at the same time."""
        places: dict[str, list[int]] = {}
        for place, change in enumerate(self.changes):
            places.setdefault(change.table_key, []).append(place)

        def in_order(of_table: list[int]) -> None:
            for place in of_table:
                act(place, self.changes[place])

        side_by_side([partial(in_order, of_table) for of_table in places.values()])
