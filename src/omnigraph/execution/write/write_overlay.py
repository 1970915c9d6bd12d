"""Rows that a mutation has staged so far; later statements read them instead of the stored ones."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.ir.conditions import All, Comparator, Compare, Condition, ListContains
from omnigraph.compiler.ir.values import Constant, EntityId
from omnigraph.compiler.types import Scalar
from omnigraph.execution.conditions import column_name, columns_of, evaluate
from omnigraph.execution.write.selected_rows import Selection
from omnigraph.graph.model.arrow_values import rows_to_arrow, to_arrow, to_plain
from omnigraph.graph.model.columns import is_blob_property, table_schema
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.places import RowPlace
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.filters import OneOf
from omnigraph.storage.tables.columns import LAST_CHANGED

_MAX_ROWS_READ_WHOLE = 10_000
"""Tables up to so many rows are read with all columns; of larger ones, first those of the condition."""


class ChangedValues(Protocol):
    """What a statement sets in rows."""

    @property
    def names(self) -> Sequence[str]:
        """The columns that are set."""

    @property
    def reads(self) -> Collection[str]:
        """The columns of the rows that are read."""

    def of_rows(self, rows: pa.Table, place: str) -> Mapping[str, list[Any]]:
        """Return what each row gets, by column."""


@dataclass
class PendingTable:
    """The pending image of one table: rows, removed ids, and which statement each row came from."""

    table: TableType
    base: WriteBase
    seen: Snapshot | None = None
    """What the actor sees, where that is not everything: no other stored row is selected."""
    removed: dict[str, None] = field(default_factory=dict)
    fresh: bool = True
    """Whether every pending row has an id that was minted here, so that it is not stored."""
    known: bool = True
    """Whether every pending row is a changed stored row."""
    selections: list[Selection] = field(default_factory=list)
    """The stored rows that updates and deletes have selected, in order."""
    _waiting: dict[str, tuple[Mapping[str, Any], str]] = field(default_factory=dict)
    _rows: pa.Table | None = None
    _places: list[str] = field(default_factory=list)

    def put(self, row: Mapping[str, Any], place: str, minted: bool) -> None:
        """Store a row: the last one with an id wins."""
        self._waiting[row["id"]] = row, place
        self.fresh, self.known = self.fresh and minted, False

    def remove(self, ids: Iterable[str]) -> int:
        """Remove stored rows; count only those that were not removed before."""
        before = len(self.removed)
        self.removed.update(dict.fromkeys(ids))
        return len(self.removed) - before

    def matching_ids(self, where: Condition) -> list[str]:
        """Return the ids of the rows to delete, for which a condition is true, stored and pending."""
        names = table_schema(self.table).names
        columns = [name for name in names if not is_blob_property(self.table, name)]
        if len(columns) < len(names):
            columns.append(LAST_CHANGED)  # in place of the blobs, which may be large
        stored = self._read_matching(where, columns)
        self._note_selected(stored, columns)
        pending = self.rows()
        return [*stored["id"].to_pylist(), *pending.filter(evaluate(where, pending))["id"].to_pylist()]

    def update(self, where: Condition, values: ChangedValues, place: str) -> int:
        """Update the stored and pending rows for which a condition is true; return their number."""
        pending = self.rows()
        mask = pc.fill_null(evaluate(where, pending), False)
        stored = self._read_matching(where, list(self.base.table(self.table.table_key).schema.names))
        self._note_selected(stored, [*columns_of(where), *values.names, *values.reads])
        again = pending.filter(mask)
        kept = [old for old, changed in zip(self._places, mask.to_pylist(), strict=True) if not changed]
        changed: int = stored.num_rows + again.num_rows
        self._rows = pa.concat_tables(
            [
                pending.filter(pc.invert(mask)),
                self._with_values(again, values.of_rows(again, place)),
                self._with_values(stored, values.of_rows(stored, place)),
            ]
        ).combine_chunks()  # else each of many statements adds pieces that all later ones go through
        self._places = kept + [place] * changed
        self.fresh = self.fresh and not stored.num_rows
        return changed

    def note_edges(self, rows: pa.Table, end: str) -> None:
        """Take the edges that go with deleted nodes at one of their ends."""
        self._note_selected(rows, [], end)

    def _note_selected(self, rows: pa.Table, columns: Iterable[str], end: str = "") -> None:
        key = self.table.table_key
        wanted = sorted(set(columns))
        for name in wanted:
            if is_blob_property(self.table, name):
                rows = rows.set_column(rows.schema.get_field_index(name), name, _digest_each(rows[name]))
        self.selections.append(Selection.of(key, self.base.rely_on(key).pin.version, rows, wanted, end))

    def rows(self) -> pa.Table:
        """Return the pending rows."""
        rows = self._rows
        if self._waiting:
            put = list(self._waiting.values())
            added = rows_to_arrow(self.table, [row for row, _ in put])
            rows = pa.concat_tables([self._without_waiting(rows), added]) if rows is not None else added
            self._places += [place for _, place in put]
            self._waiting = {}
        elif rows is None:
            rows = table_schema(self.table).empty_table()
        self._rows = rows
        return rows

    def _without_waiting(self, rows: pa.Table) -> pa.Table:
        hidden = pc.is_in(rows["id"], pa.array(list(self._waiting), pa.string()))
        self._places = [old for old, gone in zip(self._places, hidden.to_pylist(), strict=True) if not gone]
        return rows.filter(pc.invert(hidden))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is pending."""
        return not (self.removed or self.rows().num_rows)

    def delta(self) -> TableDelta:
        """Return the pending image as a delta, for the rules."""
        rows, places = self.rows(), list(self._places)

        def place(row: int) -> str:
            # A newly minted id means nothing to the caller.
            return (
                places[row] if self.fresh else RowPlace(places[row], self.table.kind, rows["id"][row].as_py())
            )

        return TableDelta(self.table, rows, list(self.removed), place=place)

    def _with_values(self, rows: pa.Table, values: Mapping[str, list[Any]]) -> pa.Table:
        """Return stored or pending rows as rows of this type, with some properties replaced."""
        schema = table_schema(self.table)
        columns = []
        for name, type_ in zip(schema.names, schema.types, strict=True):
            declared = self.table.by_name.get(name)
            if declared is not None and name in values:
                columns.append(to_arrow(values[name], declared.type))
            elif declared is not None and declared.type.scalar is Scalar.BLOB and rows[name].type != type_:
                columns.append(to_arrow(to_plain(rows[name], declared.type), declared.type))
            elif name in values:  # the end of an edge
                columns.append(pa.array(values[name], type_))
            else:
                columns.append(rows[name])
        return pa.table(columns, schema=schema)

    def _read_matching(self, where: Condition, columns: list[str]) -> pa.Table:
        """Return the stored rows that match and that this mutation has not changed."""
        stored, key = BranchRows(self.base), self.table.table_key
        needed = list(dict.fromkeys(("id", *sorted(columns_of(where)))))
        narrowed = _find_narrowing(where)
        if narrowed is not None:
            column, values = narrowed
            read = list(dict.fromkeys((*columns, *needed)))
            rows = stored.rows_where(key, column, pa.array(values, pa.string()), read)
        elif self.base.rely_on(key).rows <= _MAX_ROWS_READ_WHOLE or set(columns) <= set(needed):
            rows = stored.all_rows(key, list(dict.fromkeys((*columns, *needed))))
        else:
            candidates = stored.all_rows(key, needed)
            ids = candidates.filter(evaluate(where, candidates))["id"].combine_chunks()
            rows = stored.rows_where(key, "id", ids, columns)
        rows = rows.filter(evaluate(where, rows))
        if self.seen is not None and rows.num_rows:
            wanted = OneOf("id", rows["id"])
            there = self.seen.table(key).scan(["id"], wanted)["id"].combine_chunks()
            rows = rows.filter(pc.is_in(rows["id"], value_set=there))
        hidden = pa.array([*self.rows()["id"].to_pylist(), *self.removed], pa.string())
        return rows.filter(pc.invert(pc.is_in(rows["id"], hidden))) if len(hidden) else rows


def _digest_each(blobs: pa.ChunkedArray) -> pa.Array:
    """Return a hash of each value, to be kept in its place."""
    values = blobs.to_pylist()
    return pa.array([None if value is None else hashlib.sha256(value).digest() for value in values])


def _find_narrowing(where: Condition) -> tuple[str, list[str]] | None:
    """Return a column and the strings of which it must be one by the condition; None without any."""
    terms = where.terms if isinstance(where, All) else (where,)
    for term in terms:
        if isinstance(term, ListContains) and isinstance(term.item, EntityId):
            members = term.list.value if isinstance(term.list, Constant) else None
            if isinstance(members, tuple):
                return "id", [str(member) for member in members if member is not None]
        if isinstance(term, Compare) and term.comparator is Comparator.EQ:
            for column, value in ((term.left, term.right), (term.right, term.left)):
                name = column_name(column)
                if name and isinstance(value, Constant) and isinstance(value.value, str):
                    return name, [value.value]
    return None
