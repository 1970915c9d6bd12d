"""The stored rows of a branch as a schema that it does not have yet will show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.graph.changes.pairing import ColumnPair, pair_columns
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.merge.sides import Sides
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.integrity.stored import BranchRows, StoredData


def stored_rows(sides: Sides, schemas: Schemas, stored: BranchRows) -> StoredData:
    """Return the rows that a merge is built on, in the columns of its result."""
    if sides.combined_schema is None:
        return stored
    return MigratedRows(stored, schemas.get(sides.ours.schema).catalog, sides.combined_schema.catalog)


class MigratedRows:
    """`StoredData` over the tables of a branch, in the columns of another schema; nothing is written."""

    def __init__(self, stored: BranchRows, old: Catalog, new: Catalog) -> None:
        before = {table_identity(table): table for table in old.tables}
        self._stored = stored
        self._new = {table.table_key: table for table in new.tables}
        self._old: Mapping[str, TableType | None] = {
            table.table_key: before.get(table_identity(table)) for table in new.tables
        }

    def ids_among(self, table_key: str, ids: pa.Array) -> pa.Array:
        """Return those of the ids that the table holds."""
        old = self._old[table_key]
        return ids.slice(0, 0) if old is None else self._stored.ids_among(old.table_key, ids)

    def rows_where(self, table_key: str, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of the rows whose `column` has one of the values."""
        old = self._old[table_key]
        if old is None:
            return self._empty(table_key, columns)
        pair = self._pairs(table_key, old)[column]
        if pair.old is None or pair.cast is not None:
            rows = self.all_rows(table_key, list(dict.fromkeys((*columns, column))))
            return rows.filter(pc.is_in(rows[column], values)).select(list(columns))
        names = self._stored_names(table_key, old, columns)
        found = self._stored.rows_where(old.table_key, pair.old, values, names)
        return self._show(table_key, old, found, columns)

    def all_rows(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        """Return the given columns of all rows."""
        old = self._old[table_key]
        if old is None:
            return self._empty(table_key, columns)
        found = self._stored.all_rows(old.table_key, self._stored_names(table_key, old, columns))
        return self._show(table_key, old, found, columns)

    def _pairs(self, table_key: str, old: TableType) -> dict[str, ColumnPair]:
        found = {pair.new: pair for pair in pair_columns(old, self._new[table_key])}
        return found | {"id": ColumnPair("id", "id")}

    def _stored_names(self, table_key: str, old: TableType, columns: Sequence[str]) -> list[str]:
        pairs = self._pairs(table_key, old)
        names = [name for column in columns if (name := pairs[column].old) is not None]
        return list(dict.fromkeys(["id", *names]))

    def _show(self, table_key: str, old: TableType, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        pairs, shown = self._pairs(table_key, old), {}
        for column in columns:
            pair = pairs[column]
            if pair.old is None:
                shown[column] = pair.default_values(rows.num_rows)
            else:
                found = rows[pair.old]
                shown[column] = found if pair.cast is None else found.cast(pair.cast)
        return pa.table(shown)

    def _empty(self, table_key: str, columns: Sequence[str]) -> pa.Table:
        schema = table_schema(self._new[table_key])
        return pa.schema([schema.field(name) for name in columns]).empty_table()
