"""The tables of a branch, brought from one schema to another."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.graph.manifest.layout import table_identity, table_location
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.schema_apply.columns import change_columns, column_changes
from omnigraph.graph.schema_apply.ids import rename_rows
from omnigraph.graph.write.write_state import WriteBase

ChangeTable = Callable[[WriteBase, TableType, TableType], None]
"""Changes one table that both schemas have."""


def change_tables(base: WriteBase, old: Catalog, new: Catalog, change: ChangeTable) -> None:
    """Create, drop and change tables, by identity."""
    before = {table_identity(table): table for table in old.tables}
    after = {table_identity(table): table for table in new.tables}
    for identity, table in sorted(after.items()):
        if identity not in before:
            base.create(table.table_key, identity, table_location(table), table_schema(table))
    for identity, table in sorted(before.items()):
        if identity not in after:
            base.drop(table.table_key)
        else:
            change(base, table, after[identity])
        hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)


def change_table(base: WriteBase, old: TableType, new: TableType, rename_ids: bool = False) -> None:
    """Change the columns and the name of a table; with `rename_ids` rows get the ids that their key makes."""
    changes = column_changes(old, new)
    if not changes.is_empty:
        change_columns(base.table(old.table_key), changes)
    if rename_ids:
        rename_rows(base.table(old.table_key), new)
    if old.table_key != new.table_key:
        base.rename(old.table_key, new.table_key)
