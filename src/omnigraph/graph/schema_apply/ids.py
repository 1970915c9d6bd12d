"""The ids of stored edges of a type that gets a key."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.model.arrow_values import to_arrow, to_plain
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.model.key_ids import ids_of_rows
from omnigraph.storage.tables.staging import StagedTable


def rename_rows(table: StagedTable, type_: TableType) -> None:
    """Give every row the id that its key makes; keys are unique, as was checked before."""
    if not table.state.rows:
        return
    schema = table_schema(type_)
    rows = table.scan(schema.names)
    ids = ids_of_rows(type_, rows)
    if ids.equals(rows["id"].combine_chunks()):
        return
    columns: list[pa.Array | pa.ChunkedArray] = [ids]
    for name in schema.names[1:]:
        declared = type_.by_name.get(name)
        is_blob = declared is not None and declared.type.scalar is Scalar.BLOB
        columns.append(
            to_arrow(to_plain(rows[name], declared.type), declared.type)
            if declared is not None and is_blob
            else rows[name]
        )
    table.overwrite(table.write_rows(pa.table(columns, schema=schema)))
