"""The records of a load by table: rows on their way to storage, and the keys that rules need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType, TableType
from omnigraph.execution.load.keys.key_spool import KeptKeys, KeyBudget
from omnigraph.execution.load.keys.row_digest import CONTENT_COLUMN, CONTENT_TYPE, digest_rows
from omnigraph.graph.model.arrow_values import rows_to_arrow
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem
from omnigraph.graph.write.integrity.values import check_values

BATCH_ROWS = 65_536

Sink = Callable[[pa.Table], None]
Pending = Callable[[TableType, pa.Table], Mapping[str, pa.Array]]
"""Returns, by property, which rows have a NULL that the sink will compute."""


def find_nothing_pending(_: TableType, __: pa.Table) -> Mapping[str, pa.Array]:
    """Return no pending values: every NULL stays."""
    return {}


@dataclass
class TableIntake:
    """The records of one table. Full rows pass through in batches; only keys are kept."""

    table: TableType
    sink: Sink
    report: Callable[[Sequence[Problem]], None]
    place_of: Callable[[int], RecordPlace]
    """Returns the location of a record, from its place."""
    pending: Pending = find_nothing_pending
    budget: KeyBudget | None = None
    """The memory for keys; None for no limit."""
    distinct: bool = False
    """Whether records may be repeated; then the digest of each is kept beside its keys."""
    _rows: list[Mapping[str, Any]] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)
    _explicit: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start without keys."""
        self.kept = KeptKeys(self.table, _key_schema(self.table, self.distinct), self.budget)

    def take(self, row: Mapping[str, Any], place: int, explicit: bool) -> None:
        """Take one row."""
        self._rows.append(row)
        self._places.append(place)
        self._explicit.append(explicit)
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Check the waiting rows, and send them to the sink if all are valid."""
        if not self._rows:
            return
        rows = rows_to_arrow(self.table, self._rows)
        explicit, places = pa.array(self._explicit, pa.bool_()), pa.array(self._places, pa.int64())
        self._rows, self._places, self._explicit = [], [], []
        self._take_checked(rows, places, explicit)

    def take_batch(self, rows: pa.Table, places: pa.Array, explicit: pa.Array) -> None:
        """Take rows that already have the table's schema."""
        self.flush()
        self._take_checked(rows, places, explicit)

    def _take_checked(self, rows: pa.Table, places: pa.Array, explicit: pa.Array) -> None:
        pending = self.pending(self.table, rows)
        problems = list(
            check_values(self.table, rows, lambda row: self.place_of(places[row].as_py()), pending)
        )
        self.report(problems)
        if not problems:
            self.sink(rows)
        keys = rows.select(key_columns(self.table))
        keys = keys.append_column("_place", places).append_column("_explicit", explicit)
        if self.distinct:
            keys = keys.append_column(CONTENT_COLUMN, digest_rows(rows))
        self.kept.add(keys, _drop_rejected(keys, problems) if problems else keys)

    def keys(self) -> pa.Table:
        """Return the key columns of all rows, with their place and whether the id was given."""
        self.flush()
        return self.kept.table()


def _drop_rejected(keys: pa.Table, problems: Sequence[Problem]) -> pa.Table:
    wrong = {problem.place.at for problem in problems if isinstance(problem.place, RecordPlace)}
    return keys.filter(pc.invert(pc.is_in(keys["_place"], pa.array(sorted(wrong), pa.int64()))))


def _key_schema(table: TableType, distinct: bool) -> pa.Schema:
    schema = table_schema(table)
    fields = [schema.field(name) for name in key_columns(table)]
    fields += [pa.field("_place", pa.int64()), pa.field("_explicit", pa.bool_())]
    return pa.schema([*fields, pa.field(CONTENT_COLUMN, CONTENT_TYPE)] if distinct else fields)


def key_columns(table: TableType) -> list[str]:
    """Return the columns that the rules between records read."""
    ends = [] if isinstance(table, NodeType) else ["src", "dst"]
    uniques = [name for group in table.uniques for name in group]
    return list(dict.fromkeys(["id", *ends, *uniques]))
