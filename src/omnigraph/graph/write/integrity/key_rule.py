"""The rule that ids of rows are what their keys make; a write makes them so, other ways in are checked."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.model.key_ids import ids_of_rows
from omnigraph.graph.write.integrity.problems import Problem


def find_misnamed(table: TableType, rows: pa.Table) -> Iterator[Problem]:
    """Yield the rows whose id is not what their key makes; they hold the columns of the key."""
    if not table.key or not rows.num_rows:
        return
    wrong = pc.fill_null(pc.not_equal(rows["id"].combine_chunks(), ids_of_rows(table, rows)), True)
    for id_ in rows["id"].filter(wrong).to_pylist():
        message = f"id {id_!r} of {table.name} is not what its key makes"
        yield Problem("key", table.name, message, entity_id=id_)
