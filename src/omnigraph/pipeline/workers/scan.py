"""The task of a Spark read: some fragments of a pinned table, or a piece of a query's result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.execution.export.export_files import as_columns, column_schema
from omnigraph.pipeline.spark_types import spark_batches
from omnigraph.storage.filters import Filter
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.rows.scan_with_blobs import ScanPart, parts_of, whole_rows
from omnigraph.storage.tables.table import Table


class TablePart(InputPartition):  # type: ignore[misc]
    """Some fragments of the table."""

    def __init__(self, part: ScanPart) -> None:
        self.part = part


class ResultPart(InputPartition):  # type: ignore[misc]
    """Some rows of a result, as an Arrow stream."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream


@dataclass(frozen=True)
class TableScan:
    """A table pinned at one commit: every read sees the same rows."""

    namespace: SnapshotNamespace
    table: TableType
    filters: tuple[Filter, ...] = ()

    def parts(self, rows: int) -> list[InputPartition]:
        """Cut the table into parts of about `rows` rows."""
        return [TablePart(part) for part in parts_of(self._open_table(), rows, self.filters)]

    def read(self, part: ScanPart, schema: StructType) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part as Spark columns."""
        pa.set_cpu_count(1)  # Spark runs as many tasks as there are cores
        names = schema.fieldNames()
        wanted = column_schema(self.table)
        columns = pa.schema([wanted.field(name) for name in names])
        stored = [END_COLUMNS.get(name, name) if name not in self.table.by_name else name for name in names]
        for rows in whole_rows(self._open_table(), stored, part):
            yield from spark_batches(as_columns(self.table, rows, columns), schema)

    def _open_table(self) -> Table:
        key = self.table.table_key
        return Table(self.namespace, key)


def read_result(part: ResultPart, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece of a result as Spark columns."""
    yield from spark_batches(pa.ipc.open_stream(part.stream).read_all(), schema)
