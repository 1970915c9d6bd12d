"""One version of one table as the differ reads it: what a commit pins, and its rows by number or by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.record import CommitRecord, TableEntry
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.opening import Core
from omnigraph.storage.format.deletions import ReadFile
from omnigraph.storage.tables.table import Table
from omnigraph.storage.versions.changes import find_rows, is_blob, take_rows

RowIds = NDArray[np.uint64]


@dataclass(frozen=True)
class TableVersion:
    """One version of one table: what a commit pins, its type at that commit, and the rows."""

    entry: TableEntry
    type: TableType
    rows: Table
    read: ReadFile
    """Gives the files of the table's folder."""
    sight: str = ""
    """What tells the rows that are seen of it from what others see; empty for all rows."""

    @staticmethod
    def of(core: Core, record: CommitRecord, identity: str) -> TableVersion | None:
        """Return a table as a commit has it; None when the commit has no such table."""
        entry = record.tables.get(identity)
        if entry is None:
            return None
        tables = core.catalog_at(record).tables
        type_ = next(table for table in tables if table_identity(table) == identity)
        store = core.truth.store
        view = core.view(record)
        rows, sight = core.tables.get(view, entry.key), view.sight(entry.key)
        return TableVersion(entry, type_, rows, lambda path: store.get(f"{entry.location}/{path}"), sight)

    @cached_property
    def columns(self) -> Sequence[str]:
        """The stored columns: id, endpoints, properties by name."""
        return tuple(table_schema(self.type).names)

    @cached_property
    def holdable(self) -> Sequence[str]:
        """The columns to read at once where few rows are looked at; none where values lie in other files."""
        columns = self.columns
        return () if any(is_blob(self.rows, name) for name in columns) else columns

    def images(self, rows: RowIds) -> pa.Table:
        """Return whole rows by row id; blobs as bytes."""
        return take_rows(self.rows, rows, self.columns)

    def images_of(self, ids: pa.Array) -> pa.Table:
        """Return those whole rows that the version has for these ids, sorted by id; this looks ids up."""
        found, rows = find_rows(self.rows, ids)
        return self.images(rows[order_of(found)])


def order_of(ids: pa.Array) -> NDArray[np.int64]:
    """Return the places of ids in their order."""
    return np.asarray(pc.sort_indices(ids), np.int64)
