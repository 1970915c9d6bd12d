"""The statements of a mutation that has a `match`: each is run once, for all rows of the match together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base.ids import new_ulid
from omnigraph.compiler.catalog.keys import id_of_key
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.ir.conditions import Condition, ListContains
from omnigraph.compiler.ir.queries import (
    InsertEdge,
    InsertNode,
    MatchedDelete,
    MatchedUpdate,
    Upsert,
)
from omnigraph.compiler.ir.values import ROW_VARIABLE, Constant, EntityId, Value
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.write.assigned_values import plain
from omnigraph.execution.write.matched_rows import MatchedValues, ValuesById, unite_rows
from omnigraph.execution.write.required import require_all, require_key
from omnigraph.execution.write.write_overlay import PendingTable
from omnigraph.graph.write.integrity.problems import show_value


@dataclass(frozen=True, slots=True)
class MatchedStatements:
    """Runs statements on what a match has found."""

    matching: MatchedValues
    minted: dict[tuple[int, int], str]
    """The ids of new rows, by statement and row; a later attempt uses them again."""

    def insert(self, place: int, pending: PendingTable, statement: InsertNode | InsertEdge) -> int:
        """Insert a row for each row of the match; return how many there are."""
        table = pending.table
        rows = self._with_ends(
            table, self.matching.assigned_rows(table, statement.values), _ends_of(statement)
        )
        if table.key:
            for row in rows:
                require_key(table, row, self.matching.place)
            united = unite_rows(table, [(id_of_key(table, row), row) for row in rows], self.matching.place)
        else:
            ids = [self.minted.setdefault((place, at), new_ulid()) for at in range(len(rows))]
            united = dict(zip(ids, rows, strict=True))
        for id_, row in united.items():
            require_all(table, row, "it needs a value", self.matching.place)
            pending.put(row | {"id": id_}, self.matching.place, minted=not table.key)
        return len(united)

    def upsert(self, pending: PendingTable, statement: Upsert) -> int:
        """Set what is given in the rows that are named, and add those that are not there."""
        table, place = pending.table, self.matching.place
        rows = self._with_ends(table, self.matching.assigned_rows(table, statement.given), statement.ends)
        if table.key:
            for row in rows:
                require_key(table, row, place)
            ids = [id_of_key(table, row) for row in rows]
        else:
            assert statement.id is not None
            ids = self.matching.ids(table.name, "id", statement.id)
        united = unite_rows(table, list(zip(ids, rows, strict=True)), place)
        names = [name for name in (rows[0] if rows else ()) if name not in (table.key or ())]
        pending.update(_has_id(united), ValuesById(united, names), place)
        there = set(pending.rows()["id"].to_pylist())
        begins = {item.property.name: plain(item.value) for item in statement.others}
        for id_, given in united.items():
            if id_ not in there:
                why = f"no {table.name} has the id '{show_value(id_)}', and a new one needs a value"
                row = begins | given | {"id": id_}
                require_all(table, row, why, place)
                pending.put(row, place, minted=False)
        return len(united)

    def update(self, pending: PendingTable, statement: MatchedUpdate) -> int:
        """Set properties of the rows that were matched."""
        ids = self._matched_ids(statement.row)
        rows = self.matching.assigned_rows(pending.table, statement.assignments)
        known = [(id_, row) for id_, row in zip(ids, rows, strict=True) if id_ is not None]
        united = unite_rows(pending.table, known, self.matching.place)
        names = list(rows[0]) if rows else [item.property.name for item in statement.assignments]
        return pending.update(_has_id(united), ValuesById(united, names), self.matching.place)

    def delete(self, pending: PendingTable, statement: MatchedDelete) -> list[str]:
        """Remove the rows that were matched; return their ids."""
        ids = {id_: None for id_ in self._matched_ids(statement.row) if id_ is not None}
        return pending.matching_ids(_has_id(ids))

    def _matched_ids(self, row: EntityId) -> list[str | None]:
        """Return the id of each row of the match; what an optional block has not found is not written."""
        return self.matching.rows.compute(row)

    def _with_ends(
        self, table: TableType, rows: list[dict[str, Any]], ends: tuple[Value, Value] | None
    ) -> list[dict[str, Any]]:
        if ends is None:
            return rows
        sources = self.matching.ids(table.name, "from", ends[0])
        targets = self.matching.ids(table.name, "to", ends[1])
        return [
            row | {"src": source, "dst": target}
            for row, source, target in zip(rows, sources, targets, strict=True)
        ]


def _ends_of(statement: InsertNode | InsertEdge) -> tuple[Value, Value] | None:
    return (statement.source, statement.target) if isinstance(statement, InsertEdge) else None


def _has_id(ids: Mapping[str, Any]) -> Condition:
    members = Constant(tuple(ids), PropertyType(Scalar.STRING, is_list=True))
    return ListContains(members, EntityId(ROW_VARIABLE))
