"""Plain row changes to tables: append, upsert, delete and overwrite, without the rules of a schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.write.base import WriteBase
from omnigraph.graph.write.side_by_side import side_by_side
from omnigraph.storage.staging import StagedFragments


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
        """Write the data files."""

        def write(place: int, change: Change) -> None:
            if not isinstance(change, Delete):
                self._staged[place] = base.table(change.table_key).write_rows(change.rows)

        self._table_by_table(write)

    def apply(self, base: WriteBase) -> None:
        """Stage the table versions."""

        def apply_one(place: int, change: Change) -> None:
            table = base.table(change.table_key)
            match change:
                case Append():
                    table.append(self._staged[place])
                case Upsert(rows=rows):
                    table.upsert(rows, self._staged[place])
                case Overwrite():
                    table.overwrite(self._staged[place])
                case Delete(ids=ids):
                    table.delete(ids)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

        self._table_by_table(apply_one)

    def _table_by_table(self, act: Callable[[int, Change], None]) -> None:
        """Do something with every change: in order within a table, tables at the same time."""
        places: dict[str, list[int]] = {}
        for place, change in enumerate(self.changes):
            places.setdefault(change.table_key, []).append(place)

        def in_order(of_table: list[int]) -> None:
            for place in of_table:
                act(place, self.changes[place])

        side_by_side([partial(in_order, of_table) for of_table in places.values()])
