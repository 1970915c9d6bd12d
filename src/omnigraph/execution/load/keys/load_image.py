"""The final image of one table of a load: which records stay, and problems among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.keys.row_digest import CONTENT_COLUMN, NO_ROWS, first_of_each
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem, show_value
from omnigraph.graph.write.integrity.stored import StoredData
from omnigraph.graph.write.integrity.uniqueness import find_repeated, has_repeated, later_rows, tuple_texts

_LOAD_COLUMNS = ("_place", "_explicit", CONTENT_COLUMN)


class TableImage:
    """The final image of one table of a load, and the problems within it."""

    def __init__(
        self, table: TableType, keys: pa.Table, mode: Mode, place: Callable[[int], RecordPlace]
    ) -> None:
        """Take the key columns of a table's records, as a `TableIntake` returns them."""
        self.table, self._mode, self._place = table, mode, place
        self._all, numbers = keys, np.arange(keys.num_rows)
        is_distinct = CONTENT_COLUMN in keys.column_names
        if is_distinct:
            numbers = first_of_each(keys[CONTENT_COLUMN])
            self._all = keys.take(pa.array(numbers))
        self.doubles = keys.num_rows - self._all.num_rows
        """How many records repeat an earlier one, where that is allowed."""
        self._last_wins = mode == "merge" and not self.table.key and not is_distinct
        self._replaced = self._find_repeated_ids() if self._last_wins else frozenset()
        kept = self._all
        if self._replaced:
            stays = np.delete(np.arange(len(numbers)), sorted(self._replaced))
            kept, numbers = kept.take(pa.array(stays)), numbers[stays]
        is_whole = len(numbers) == keys.num_rows
        self.dropped = NO_ROWS if is_whole else np.delete(np.arange(keys.num_rows), numbers)
        """The records that are not loaded."""
        places = kept["_place"].combine_chunks()
        self.could_be_stored = self._could_be_stored(kept)
        self.delta = TableDelta(
            self.table,
            kept.select([name for name in kept.column_names if name not in _LOAD_COLUMNS]),
            replaces=mode == "overwrite",
            place=lambda row: place(places[row].as_py()),
        )

    def find_clashes(self, stored: StoredData) -> Iterator[Problem]:
        """Yield a problem for each id that occurs twice, or is stored already in an append."""
        ids, places = self._all["id"].combine_chunks(), self._all["_place"].combine_chunks()

        def at(row: int) -> RecordPlace:
            return self._place(places[row].as_py())

        if self.table.key:
            yield from find_repeated(self.table, self.table.key, ids, at)
        elif not self._last_wins:
            for row in sorted(self._find_repeated_ids(later=True)):
                yield self._conflict(ids[row].as_py(), at(row), "occurs twice in this load")
        if self._replaced:
            for group in self.table.uniques:
                yield from find_repeated(self.table, group, tuple_texts(self.table, self._all, group), at)
        if self._mode == "append":
            yield from self._find_already_stored(stored, ids, at)

    def _find_already_stored(
        self, stored: StoredData, ids: pa.Array, at: Callable[[int], RecordPlace]
    ) -> Iterator[Problem]:
        known = ids.filter(self._could_be_stored(self._all))
        if len(known) == 0:
            return
        taken = stored.ids_among(self.table.table_key, known)
        if len(taken):
            for row in pc.indices_nonzero(pc.is_in(ids, taken)).to_pylist():
                yield self._conflict(ids[row].as_py(), at(row), "is stored: the table already has this id")

    def _could_be_stored(self, rows: pa.Table) -> pa.Array:
        """Return which rows have an id that was not minted by this load."""
        if self.table.key:
            return pa.array(np.ones(rows.num_rows, dtype=bool))
        return rows["_explicit"].combine_chunks()

    def _find_repeated_ids(self, later: bool = False) -> frozenset[int]:
        """Return the rows whose id occurs again: all but the last, or all but the first."""
        if not pc.any(self._all["_explicit"]).as_py():
            return frozenset()  # ids that this load has minted are all different
        ids = self._all["id"].combine_chunks()
        if not has_repeated(ids):
            return frozenset()
        if later:
            return frozenset(row for row, _ in later_rows(ids))
        last = len(ids) - 1
        backwards = ids.take(pa.array(np.arange(last, -1, -1)))
        return frozenset(last - row for row, _ in later_rows(backwards))

    def _conflict(self, id_: str, place: RecordPlace, why: str) -> Problem:
        message = f"key conflict in {self.table.name}: '{show_value(id_)}' {why}"
        return Problem("key", self.table.name, message, "id", id_, place)
