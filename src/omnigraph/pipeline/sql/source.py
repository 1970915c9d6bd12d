"""The data source in Python that the catalog in Java asks, reads through and writes through."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.types import StructType

from omnigraph.execution.load.sources.table_source import to_arrow_stream
from omnigraph.pipeline.datasource import TableReader
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.write import TableWriter, mode_of
from omnigraph.pipeline.options import open_from_options, read_count, without_credentials
from omnigraph.pipeline.sql.aggregates import AggregateReader, Aggregates
from omnigraph.pipeline.sql.answers import answer
from omnigraph.pipeline.sql.changes_writer import ChangesWriter
from omnigraph.pipeline.sql.conditions import read_conditions
from omnigraph.pipeline.sql.places import OF_CATALOG, find_type, open_graph_of
from omnigraph.pipeline.sql.system_tables import system_rows
from omnigraph.pipeline.workers.modules import freeze_modules
from omnigraph.pipeline.workers.scan import ResultPart, TableScan, read_result

CATALOG_FORMAT = "omnigraph_catalog"
_ROWS_PER_TASK = 262_144
_SYSTEM = "system:"
_WRITE_OPTIONS = (
    *(*OF_CATALOG, "branch"),
    *("idempotency_key", "message", "metadata", "on_error", "rejected_to"),
)


class CatalogSource(DataSource):  # type: ignore[misc]
    """A graph as the catalog sees it. It is made for one question, one scan or one write."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        with attach_details():
            self.told = without_credentials(options)
        super().__init__(self.told)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return CATALOG_FORMAT

    def schema(self) -> StructType:
        """Answer a question."""
        return answer(self.told)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the selected columns and rows of a pinned table."""
        with attach_details():
            graph = open_graph_of(self.told)
            snapshot = graph.snapshot(commit=self.told["commit"])
            name = self.told["table"]
            if name.startswith(_SYSTEM):
                return RowsReader(system_rows(name.removeprefix(_SYSTEM), graph, snapshot, schema), schema)
            table = find_type(snapshot, name)
            filters = read_conditions(table, self.told.get("where", "[]"))
            scan = TableScan(snapshot.namespace, table, filters)
            rows = read_count(self.told, "rows_per_task") or _ROWS_PER_TASK
            if "aggregates" in self.told:
                return AggregateReader(scan, Aggregates.read(self.told["aggregates"]), schema, rows)
            return TableReader(scan, schema, rows)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of new rows, or of changes of rows."""
        with attach_details():
            if self.told["write"] == "changes":
                return ChangesWriter(self.told)
            graph = open_graph_of(self.told)
            table = find_type(graph.snapshot(self.told["branch"]), self.told["table"])
            known = {
                name: self.told[name] for name in self.told if name in _WRITE_OPTIONS or "storage." in name
            }
            return TableWriter(known, table.name, mode_of(self.told, overwrite), open_from_options)


class RowsReader(DataSourceReader):  # type: ignore[misc]
    """Serves some rows that are there."""

    def __init__(self, rows: pa.Table, schema: StructType) -> None:
        self.part, self.wanted = ResultPart(to_arrow_stream(rows)), schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return one task."""
        return [self.part]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        assert isinstance(partition, ResultPart)
        return read_result(partition, self.wanted)


freeze_modules()
