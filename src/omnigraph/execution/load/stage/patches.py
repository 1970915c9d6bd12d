"""Patches: records that touch only the properties that they give are completed by the rows that are stored.

What comes out are whole rows, which are checked and staged like those of a merge. They are right only for the
tables that they were completed from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.parse.strict_json import BadRecord, RecordReader, Row
from omnigraph.graph.model.arrow_values import rows_to_plain
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.integrity.problems import Problem, show_value
from omnigraph.storage.filters import OneOf
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.tables.staging import StagedTable

ROWS_PER_LOOKUP = 8_192
"""Records of one table that are completed together."""

Completed = tuple[int, Row | BadRecord]
"""The place of a record, and its whole row or what is wrong with it."""


@dataclass(frozen=True)
class PatchedTables:
    """The stored tables that patches are completed from; can be sent to other processes."""

    namespace: SnapshotNamespace

    def complete(
        self, catalog: Catalog, table: TableType, patches: Sequence[tuple[int, Row]], stale: set[str]
    ) -> Iterator[Completed]:
        """Yield the whole row of every patch: the stored one with what is given, or a new one.

        Add to `stale` the vectors that are taken away, since they stood for another text.
        """
        ids = pa.array([row.values["id"] for _, row in patches], pa.string())
        stored = StagedTable(self.namespace, table.table_key).scan(
            table_schema(table).names, OneOf("id", pc.unique(ids))
        )
        known = {row["id"]: row for row in rows_to_plain(table, stored)}
        defaults = RecordReader(catalog).defaults_of(table)
        for place, patch in patches:
            before = known.get(patch.values["id"])
            values = dict(defaults if before is None else before) | dict(patch.values)
            for item in table.properties:
                if item.embed is None or item.name in patch.values:
                    continue
                stored_vector = values.get(item.name)
                is_kept = before is not None and before[item.embed.source] == values.get(item.embed.source)
                values[item.name] = stored_vector if is_kept else None
                if stored_vector is not None and not is_kept:
                    stale.add(f"{table.name}.{item.name}")
            problems = [] if before is not None else list(_find_missing(table, values))
            if problems:
                yield place, BadRecord(problems)
            else:
                yield place, Row(table, values, patch.explicit)


def _find_missing(table: TableType, values: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each required property of a new row; the others are NULL."""
    for item in table.properties:
        if item.name in values or item.embed is not None:
            continue
        if item.type.nullable:
            values[item.name] = None
            continue
        message = (
            f"missing required property {table.name}.{item.name}: no {table.name} has the id "
            f"'{show_value(values['id'])}', and a new one needs a value"
        )
        yield Problem("required", table.name, message, item.name)
