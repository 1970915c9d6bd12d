"""The tables of both sides brought to a combined schema: columns first, then rows, then names."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.graph.changes.pairing import pair_columns
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.record import TableEntry
from omnigraph.graph.publish.plan import WrittenTable
from omnigraph.graph.schema_apply.columns import change_columns, column_changes
from omnigraph.graph.write.write_state import WriteBase

StageRows = Callable[[WriteBase, str, str], None]
"""Stages the rows of a table: on which side, under which key there, and under which in the result."""


class CombinedTables:
    """The tables of a merge whose schema neither side has."""

    def __init__(self, result: Catalog, ours: Catalog, theirs: Catalog) -> None:
        self._result = {table_identity(table): table for table in result.tables}
        self._ours = {table_identity(table): table for table in ours.tables}
        self._theirs = {table_identity(table): table for table in theirs.tables}

    def stage(self, base: WriteBase, beside: WriteBase, takes: Set[str], stage_rows: StageRows) -> None:
        """Stage every table on the side that it is built on; `beside` is theirs, `base` the target."""
        for identity, table in sorted(self._result.items()):
            side, types = (beside, self._theirs) if identity in takes else (base, self._ours)
            old = types[identity]
            before = _alike(old, table)
            between = _still_nullable(before, table)
            _change(side, old.table_key, before, between)
            stage_rows(side, old.table_key, table.table_key)
            _change(side, old.table_key, between, table)
            if side is base and old.table_key != table.table_key:
                base.rename(old.table_key, table.table_key)
        staged = beside.writes()
        for identity in sorted(takes):
            key = self._result[identity].table_key
            if identity in staged:
                base.adopt(identity, replace(staged[identity], key=key, elsewhere=True))
            else:
                base.adopt(identity, as_it_is(beside.state.head.tables[identity], key))


def _change(side: WriteBase, key: str, old: TableType, new: TableType) -> None:
    changes = column_changes(old, new)
    if not changes.is_empty:
        change_columns(side.table(key), changes)


def as_it_is(entry: TableEntry, key: str) -> WrittenTable:
    """Return a table version to take over, under the name that its type has in the result."""
    return WrittenTable(
        key,
        entry.location,
        entry.pin,
        entry.rows,
        entry.fragments,
        elsewhere=True,
        content=entry.changed_by,
    )


def _still_nullable(old: TableType, new: TableType) -> TableType:
    """Return the new type before its rows are merged, which may be what fills a property that is required."""
    nullable = {item.id for item in old.properties if item.type.nullable}
    properties = tuple(
        replace(item, type=replace(item.type, nullable=True)) if item.id in nullable else item
        for item in new.properties
    )
    return replace(new, properties=properties)


def _alike(old: TableType, new: TableType) -> TableType:
    """Return a type in which a property that became another kind of value is not the same property."""
    kept = {pair.old for pair in pair_columns(old, new) if pair.old is not None}
    properties = tuple(item if item.name in kept else replace(item, id=-item.id) for item in old.properties)
    return replace(old, properties=properties)
