"""Assignments of variables as arrays: one column a variable, one row an assignment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from omnigraph.execution.local.views import Positions

NULL = -1


@dataclass(frozen=True)
class Frame:
    """Rows of positions by slot; a path length stands as itself, and -1 for NULL."""

    rows: int
    columns: Mapping[int, Positions]

    def take(self, places: Positions, more: Mapping[int, Positions] | None = None) -> Frame:
        """Return the rows at these places, with further columns beside them."""
        taken = {slot: column[places] for slot, column in self.columns.items()}
        return Frame(len(places), {**taken, **(more or {})})

    def keep(self, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Frame:
        """Return the rows that are wanted."""
        return self.take(np.flatnonzero(wanted).astype(np.int64))

    def with_column(self, slot: int, column: Positions) -> Frame:
        """Return the same rows with one more column."""
        return Frame(self.rows, {**self.columns, slot: column})


START = Frame(1, {})
"""One assignment of nothing."""
