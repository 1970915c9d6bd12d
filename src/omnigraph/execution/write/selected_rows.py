"""The stored rows that a mutation's statements selected, and whether a newer state still has them so.

An update or delete that loses a race is evaluated again on the newer state. Where each statement selects the
same rows with the same contents, as far as it reads and writes them, it is applied there: it came after the
other writer. Where it does not, the conflict is reported, so that no update is lost without notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import ExpectedVersionMismatch
from omnigraph.graph.changes.equality import equal_values

MATCH = -1
"""In place of a statement: what the match before the statements has found."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of one table that one statement selected: their ids, and the columns that matter to it."""

    table_key: str
    version: int
    """The version of the table that they were read from."""
    rows: pa.Table
    end: str = ""
    """The end at which edges were found that go with deleted nodes."""

    @staticmethod
    def of(table_key: str, version: int, rows: pa.Table, columns: Sequence[str], end: str = "") -> Selection:
        """Take the columns that matter of the selected rows."""
        names = list(dict.fromkeys(("id", *columns)))
        return Selection(table_key, version, rows.select(names), end)

    @property
    def purpose(self) -> tuple[str, str]:
        """What its statement selected the rows as: at most one selection of a statement has it."""
        return self.table_key, self.end

    def without_rows(self) -> Selection:
        """Return what stands for it in a state where its statement did not look there."""
        return Selection(self.table_key, 0, self.rows.slice(0, 0), self.end)

    def is_same(self, other: Selection) -> bool:
        """Return whether another state has the same rows with the same contents; it may have more columns."""
        if not self.rows.num_rows and not other.rows.num_rows:
            return True
        before, after = self.rows.schema, other.rows.schema
        if any(
            name not in after.names or after.field(name).type != before.field(name).type
            for name in before.names
        ):
            return False
        old, new = self._in_order(), other._in_order()
        return old.num_rows == new.num_rows and all(
            equal_values(old[name].combine_chunks(), new[name].combine_chunks()).all()
            for name in before.names
        )

    def _in_order(self) -> pa.Table:
        # Not `sort_by`, which loads the whole of Acero and pandas.
        return self.rows.take(pc.sort_indices(self.rows["id"]))


@dataclass
class SelectedRows:
    """What all statements selected in the first evaluation, and how often they may be evaluated anew."""

    retries: int = 0
    _first: Mapping[int, Sequence[Selection]] | None = field(default=None, init=False)

    def check(self, now: Mapping[int, Sequence[Selection]]) -> None:
        """Take the first selections, by statement; raise when later ones differ and no retry is left."""
        if self._first is not None and (changed := _find_changed(self._first, now)) is not None:
            if self.retries == 0:
                raise _mismatch(*changed)
            self.retries -= 1
            self._first = now
        elif self._first is None:
            self._first = now


def _find_changed(
    first: Mapping[int, Sequence[Selection]], now: Mapping[int, Sequence[Selection]]
) -> tuple[int, Selection, Selection] | None:
    for place, selections in first.items():
        before = {selection.purpose: selection for selection in selections}
        after = {selection.purpose: selection for selection in now[place]}
        # A statement looks for edges only where it deletes nodes, and only in the tables that the schema has.
        for purpose, some in {**after, **before}.items():
            old = before.get(purpose, some.without_rows())
            new = after.get(purpose, some.without_rows())
            if not old.is_same(new):
                return place, old, new
    return None


def _mismatch(place: int, before: Selection, after: Selection) -> ExpectedVersionMismatch:
    what = f"rows of {before.table_key} that statement {place + 1} selects were"
    if place == MATCH:
        what = "what the match finds was"
    return ExpectedVersionMismatch(
        f"{what} changed by another writer "
        f"(it saw version {before.version}, the branch has {after.version}): read the current state and try "
        "again, or give `retry` to have the statement evaluated anew",
        table_key=before.table_key,
        expected=before.version,
        actual=after.version,
    )
