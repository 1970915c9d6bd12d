"""Rows that a mutation has staged so far: later statements see them in place of the stored ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.ir.conditions import All, Comparator, Compare, Condition
from omnigraph.compiler.ir.values import Constant
from omnigraph.execution.conditions import column_name, columns_of, evaluate
from omnigraph.graph.plain import rows_to_arrow, rows_to_plain
from omnigraph.graph.write.base import WriteBase
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.stored import StoredRows


@dataclass
class PendingTable:
    """The pending image of one table: rows by id, the ids that go away, and where each row came from."""

    table: TableType
    base: WriteBase
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    fresh: bool = True
    """Whether every pending row has an id that was minted here and cannot be stored."""

    def put(self, row: Mapping[str, Any], place: str, minted: bool) -> None:
        """Store a row: the last one with an id wins."""
        self.rows[row["id"]] = row
        self.places[row["id"]] = place
        self.fresh = self.fresh and minted

    def remove(self, ids: Iterable[str]) -> int:
        """Remove stored rows; count only those that were not removed before."""
        before = len(self.removed)
        self.removed.update(dict.fromkeys(ids))
        return len(self.removed) - before

    def matching_ids(self, where: Condition) -> list[str]:
        """Return the ids of the rows for which a condition is true, stored and pending."""
        stored = self._stored(where, ["id", *sorted(columns_of(where) - {"id"})])
        return [*stored["id"].to_pylist(), *(row["id"] for row in self._pending(where))]

    def matching_rows(self, where: Condition) -> list[Mapping[str, Any]]:
        """Return the rows for which a condition is true, stored and pending, in full."""
        names = list(self.base.table(self.table.table_key).schema.names)
        stored = self._stored(where, names)
        return [*rows_to_plain(self.table, stored), *self._pending(where)]

    def delta(self) -> TableDelta:
        """Return the pending image as the rules look at it."""
        rows = list(self.rows.values())
        places = [self.places[row["id"]] for row in rows]
        return TableDelta(
            self.table, rows_to_arrow(self.table, rows), list(self.removed), place=lambda row: places[row]
        )

    def _stored(self, where: Condition, columns: list[str]) -> pa.Table:
        """Return the stored rows that match and that this mutation has not touched."""
        stored, key = StoredRows(self.base), self.table.table_key
        narrowed = _narrowing(where)
        if narrowed is not None:
            column, value = narrowed
            read = list(dict.fromkeys((*columns, *sorted(columns_of(where)))))
            rows = stored.rows_where(key, column, pa.array([value], pa.string()), read)
        else:
            rows = stored.all_rows(key, columns)
        rows = rows.filter(evaluate(where, rows))
        hidden = pa.array([*self.rows, *self.removed], pa.string())
        return rows.filter(pc.invert(pc.is_in(rows["id"], hidden))) if len(hidden) else rows

    def _pending(self, where: Condition) -> list[Mapping[str, Any]]:
        if not self.rows:
            return []
        rows = list(self.rows.values())
        found = evaluate(where, rows_to_arrow(self.table, rows))
        return [row for row, matches in zip(rows, found.to_pylist(), strict=True) if matches]


def _narrowing(where: Condition) -> tuple[str, str] | None:
    """Return a column and the one text that it must have, when the condition says so."""
    terms = where.terms if isinstance(where, All) else (where,)
    for term in terms:
        if isinstance(term, Compare) and term.comparator is Comparator.EQ:
            for column, value in ((term.left, term.right), (term.right, term.left)):
                name = column_name(column)
                if name and isinstance(value, Constant) and isinstance(value.value, str):
                    return name, value.value
    return None
