"""What a worker does for an export: some fragments of a table into one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.export.export_files import Format, write_rows
from omnigraph.graph.model.columns import table_schema
from omnigraph.storage.files.output_folders import OutputFolder
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.rows.scan_with_blobs import ScanPart, whole_rows
from omnigraph.storage.tables.table import Table

WRITTEN_FIELDS = "number long, rows long"


@dataclass(frozen=True)
class PartFile:
    """One file of an export: its path in the folder, and the rows that go there."""

    path: str
    table: TableType
    part: ScanPart


@dataclass(frozen=True)
class ExportTask:
    """Sent to the workers, and called there with the numbers of files.

    A file always gets the same bytes, so a task that runs twice does no harm.
    """

    namespace: SnapshotNamespace
    folder: OutputFolder
    format: Format
    files: Sequence[PartFile]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the files with these numbers."""
        pa.set_cpu_count(1)  # Spark runs as many tasks as there are cores
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch([pa.array([number]), pa.array([self._write(self.files[number])])],
                                      names=["number", "rows"])  # fmt: skip

    def _write(self, file: PartFile) -> int:
        key = file.table.table_key
        table = Table(self.namespace, key)
        with self.folder.file(file.path) as opened:
            pieces = whole_rows(table, table_schema(file.table).names, file.part)
            return write_rows(opened, self.format, file.table, pieces)
