"""The tables of several types as one: a position is that in the table, after the rows of those before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.ir.values import EdgeEnd, End, EntityId, EntityKey, EntityType, PropertyValue
from omnigraph.execution.local.cache.table_view import TableView
from omnigraph.execution.local.frame import NULL, Positions
from omnigraph.execution.plan.per_type import stored_property
from omnigraph.graph.model.columns import arrow_type

StoredValue: TypeAlias = PropertyValue | EntityId | EdgeEnd | EntityType | EntityKey


@dataclass(frozen=True)
class UnitedPart:
    """One of the tables, and the position at which its rows begin."""

    owner: NodeType | EdgeType
    view: TableView
    begin: int

    @property
    def end(self) -> int:
        """The position after its last row."""
        return self.begin + self.view.rows


class UnitedTables:
    """The tables of several types, one after the other."""

    def __init__(self, tables: Sequence[tuple[NodeType | EdgeType, TableView]]) -> None:
        self.parts: list[UnitedPart] = []
        self.rows = 0
        for owner, view in tables:
            self.parts.append(UnitedPart(owner, view, self.rows))
            self.rows += view.rows
        self.by_type = {part.owner.name: part for part in self.parts}
        self._begins = np.array([part.begin for part in self.parts], dtype=np.int64)
        self._names = pa.array([part.owner.name for part in self.parts], pa.string())

    def take(self, value: StoredValue, positions: Positions) -> pa.Array:
        """Return a value of some rows; NULL for the rows of types without it."""
        if isinstance(value, EntityType):
            return self._type_names(positions)
        if isinstance(value, EntityKey):
            ids = self.take(EntityId(value.variable), positions)
            return pc.binary_join_element_wise(self._type_names(positions), ids, ":")
        arrays, places = [pa.nulls(0, arrow_type(value.type))], [np.empty(0, dtype=np.int64)]
        for at, (view, column, rows) in self._select(value, positions):
            places.append(at)
            arrays.append(view.take(column, rows, False).cast(arrays[0].type))
        order = np.full(len(positions), NULL, dtype=np.int64)
        found = np.concatenate(places)
        order[found] = np.arange(len(found), dtype=np.int64)
        return pa.concat_arrays(arrays).take(pa.array(order, mask=order == NULL))

    def parts_with(
        self, value: PropertyValue | EntityId | EdgeEnd, positions: Positions
    ) -> Iterator[tuple[TableView, str, Positions]]:
        """Yield the tables that have a value, its column, and which of their rows are among the positions."""
        for _, found in self._select(value, positions):
            yield found

    def _select(
        self, value: PropertyValue | EntityId | EdgeEnd, positions: Positions
    ) -> Iterator[tuple[Positions, tuple[TableView, str, Positions]]]:
        for part in self.parts:
            column = _stored_column(part, value)
            places = np.flatnonzero((positions >= part.begin) & (positions < part.end))
            if column is not None and len(places):
                yield places, (part.view, column, positions[places] - part.begin)

    def _type_names(self, positions: Positions) -> pa.Array:
        numbers = np.searchsorted(self._begins, positions, side="right") - 1
        # Of tables that begin at the same position all but the last are empty.
        return self._names.take(pa.array(numbers, mask=positions == NULL))

    def convert(self, positions: Positions, other: UnitedTables) -> Positions:
        """Return the positions that rows have among other tables; -1 for rows of types that are not there."""
        found = np.full(len(positions), NULL, dtype=np.int64)
        for part in self.parts:
            there = other.by_type.get(part.owner.name)
            if there is not None:
                inside = (positions >= part.begin) & (positions < part.end)
                found[inside] = positions[inside] + (there.begin - part.begin)
        return found


def column_of(value: EntityId | EdgeEnd) -> str:
    """Return the column of an id, or of an end of an edge."""
    if isinstance(value, EntityId):
        return "id"
    return "src" if value.end is End.SOURCE else "dst"


def _stored_column(part: UnitedPart, value: PropertyValue | EntityId | EdgeEnd) -> str | None:
    if not isinstance(value, PropertyValue):
        return column_of(value)
    found = stored_property(part.owner, value.declared)
    return None if found is None else found.name
