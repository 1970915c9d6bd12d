"""What a schema change does to the columns of one table: decided by comparing properties by id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.graph.model.arrow_values import to_arrow
from omnigraph.graph.model.columns import arrow_type, property_field
from omnigraph.graph.write.integrity.convert import convert
from omnigraph.storage.tables.staging import StagedTable


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """Columns to drop, to alter (old and new property) and to add."""

    drops: tuple[Property, ...]
    alterations: tuple[tuple[Property, Property], ...]
    additions: tuple[Property, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the table keeps its columns as they are."""
        return not (self.drops or self.alterations or self.additions)


def column_changes(old: TableType, new: TableType) -> ColumnChanges:
    """Return what leads from the old columns to the new ones."""
    before = {item.id: item for item in old.properties}
    after = {item.id: item for item in new.properties}
    return ColumnChanges(
        drops=tuple(item for id_, item in before.items() if id_ not in after),
        alterations=tuple(
            (before[id_], item)
            for id_, item in after.items()
            if id_ in before and _physical(before[id_]) != _physical(item)
        ),
        additions=tuple(item for id_, item in after.items() if id_ not in before),
    )


def change_columns(table: StagedTable, changes: ColumnChanges) -> None:
    """Carry the changes out: drops free names, renames come next, then additions."""
    if changes.drops:
        table.remove_columns([item.name for item in changes.drops])
    renames = [(old.name, new.name) for old, new in changes.alterations if old.name != new.name]
    taken = {old for old, _ in renames}
    if any(new in taken for _, new in renames):
        # Names that are exchanged pass through names that nobody can have.
        table.change_columns([{"path": old, "name": f"__moving_{old}"} for old, _ in renames])
        renames = [(f"__moving_{old}", new) for old, new in renames]
    if renames:
        table.change_columns([{"path": old, "name": new} for old, new in renames])
    # Lance rewrites a widened column as nullable, so that it is required only afterwards.
    wider = [
        {"path": new.name, "data_type": arrow_type(new.type)}
        for old, new in changes.alterations
        if _physical(old)[1] != _physical(new)[1]
    ]
    required = [
        {"path": new.name, "nullable": new.type.nullable}
        for old, new in changes.alterations
        if old.type.nullable != new.type.nullable
    ]
    for alterations in (wider, required):
        if alterations:
            table.change_columns(alterations)
    for item in changes.additions:
        table.add_column(property_field(item), None if item.default is None else filler(item))


def _physical(item: Property) -> tuple[str, Any, bool]:
    kind = "blob" if item.type.scalar.value == "Blob" else arrow_type(item.type)
    return item.name, kind, item.type.nullable


def filler(item: Property) -> Callable[[int], pa.Array]:
    """Return what gives the default of a property for any number of rows."""
    assert item.default is not None
    value = convert(item.default.value, item.type)
    return lambda rows: to_arrow([value] * rows, item.type)
