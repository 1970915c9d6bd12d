"""What a reader may not see of a table: rows by a rule, rows that refer to hidden rows, columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


class RowRule(Protocol):
    """Which rows of a table may be seen, told by their columns alone. It can be pickled."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that it looks at."""

    @property
    def digest(self) -> str:
        """A hash of what it says: rules that differ have different ones."""

    def allows(self, rows: pa.Table) -> pa.BooleanArray:
        """Return for each row whether it may be seen; NULL hides it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A column with the ids of rows of another table: a row is hidden with the one that it names."""

    column: str
    table: str


@dataclass(frozen=True, slots=True)
class Restriction:
    """What a reader may not see of one table."""

    rows: RowRule | None = None
    """None when every row may be seen."""
    references: tuple[Reference, ...] = ()
    hidden_columns: frozenset[str] = frozenset()
