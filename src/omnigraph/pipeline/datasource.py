"""`spark.read.format("omnigraph")`: tables, query results and the change feed as data frames of Spark.

Spark makes these objects in Python processes of its own and sends them from one to the next. All that they
need of the graph is therefore read once, when the first is made, and pinned from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructField, StructType

from omnigraph.base.errors import BadInput, NotFound
from omnigraph.base.plain import read_json
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.sources.table_source import to_arrow_stream
from omnigraph.execution.query_cache import compile_read_at
from omnigraph.execution.read import Reader, ReadRequest
from omnigraph.execution.result import Result
from omnigraph.execution.spark.column_names import names_in_spark
from omnigraph.graph.schema_apply.names import find_types_named
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.feed_source import FeedReader, FeedStream
from omnigraph.pipeline.jobs.stream_sink import StreamSink, app_id_of, check_records, stream_mode_of
from omnigraph.pipeline.jobs.widen_type import widen_type
from omnigraph.pipeline.jobs.write import (
    TableWriter,
    check_needed_columns,
    check_written_columns,
    mode_of,
)
from omnigraph.pipeline.options import (
    check_options,
    open_from_options,
    read_count,
    read_flag,
    read_list,
    read_strings,
    with_own_names,
    with_policy_text,
    without_credentials,
)
from omnigraph.pipeline.spark_types import check_columns_fit, select_columns, spark_schema, spark_type
from omnigraph.pipeline.steps.declared_order import declared_order
from omnigraph.pipeline.steps.time_zone import keep_zone
from omnigraph.pipeline.steps.where_option import filters_of
from omnigraph.pipeline.workers.feed import FEED_SCHEMA, FeedScan
from omnigraph.pipeline.workers.modules import freeze_modules
from omnigraph.pipeline.workers.scan import ResultPart, TablePart, TableScan, read_result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT_NAME = "omnigraph"
_ROWS_PER_TASK = 262_144
_RESULT_ROWS_PER_TASK = 65_536


def register(spark: SparkSession) -> None:
    """Let a session read and write graphs under the format name `omnigraph`."""
    spark.dataSource.register(GraphSource)
    keep_zone(spark)


class GraphSource(DataSource):  # type: ignore[misc]
    """A graph as a data source of Spark."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.scan: TableScan | None = None
        self.feed: FeedScan | None = None
        with attach_details():
            told = with_policy_text(without_credentials(with_own_names(options)))
            super().__init__(told)
            self.told = told
            check_options(told)
            if "changes" in told:
                self.feed = FeedScan(told)
                opened_feed = self.feed.feed()
                self.head = opened_feed.cursor_at(opened_feed.state.head)
                return
            snapshot = self._snapshot()
            self.commit = snapshot.commit_id
            if "query" not in told and not names_stream_of_records(told):
                table = find_table(snapshot, told.get("path"))
                self.scan = TableScan(snapshot.namespace, table, filters_of(table, told.get("where", "[]")))
                self.order = declared_order(table, snapshot.schema_source)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT_NAME

    def schema(self) -> StructType:
        """Return all columns, or those that the option `columns` names."""
        with attach_details():
            whole = self._full_schema()
            named = read_list(self.told, "columns")
            return whole if named is None else select_columns(whole, named)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the selected columns."""
        with attach_details():
            check_columns_fit(schema, self._full_schema())
            if self.feed is not None:
                return FeedReader(self.feed, schema, self.head)
            if self.scan is None:
                return ResultReader(self._run_query(), schema)
            return TableReader(self.scan, schema, read_count(self.told, "rows_per_task") or _ROWS_PER_TASK)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the stream reader of the change feed."""
        with attach_details():
            if self.feed is None:
                raise BadInput(
                    "only the change feed can be streamed: say where it begins with the option changes"
                )
            check_columns_fit(schema, self._full_schema())
            return FeedStream(self.feed, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of rows of one type as one commit."""
        with attach_details():
            if "app_id" in self.told:
                raise BadInput("the option app_id is for streams: use idempotency_key", option="app_id")
            mode = mode_of(self.told, overwrite)
            return TableWriter(self.told, self._check_written(schema, mode), mode, open_from_options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer of the micro-batches of a stream."""
        with attach_details():
            mode = stream_mode_of(self.told, overwrite, self.scan is not None)
            table = self._check_written(schema, mode) if self.scan is not None else None
            if table is None:
                app_id_of(self.told)
                check_records(schema)
            if "idempotency_key" in self.told:
                raise BadInput(
                    "a stream has an app_id instead of the option idempotency_key", option="idempotency_key"
                )
            return StreamSink(self.told, table, mode, open_from_options)

    def _check_written(self, schema: StructType, mode: Mode) -> str:
        """Return the type that rows are written to, if their columns and the options fit."""
        if self.scan is None:
            raise BadInput("neither a query's result nor the change feed can be written to: name a table")
        for name in ("commit", "version", "tag", "timestamp", "columns", "where"):
            if name in self.told:
                raise BadInput(f"the option {name} is for reading only", option=name)
        table, mapping = self.scan.table, read_strings(self.told, "mapping")
        if read_flag(self.told, "mergeSchema"):
            graph = open_from_options(self.told, read_only=False)
            if widen_type(graph, table, schema, mapping):
                table = find_table(graph.snapshot(), table.table_key)
        check_written_columns(table, schema.fieldNames(), mapping)
        if mode != "patch":
            check_needed_columns(table, schema.fieldNames(), mapping)
        return table.name

    def _full_schema(self) -> StructType:
        if self.feed is not None:
            return FEED_SCHEMA
        if self.scan is not None:
            places = {name: place for place, name in enumerate(self.order)}
            fields = spark_schema(self.scan.table).fields
            return StructType(sorted(fields, key=lambda item: places.get(item.name, -1)))
        query = compile_read_at(self._snapshot(self.commit), self.told["query"], self.told.get("name"))
        names = names_in_spark(column.name for column in query.columns)
        types = (spark_type(column.type) for column in query.columns)
        return StructType([StructField(*named) for named in zip(names, types, strict=True)])

    def _run_query(self) -> Result:
        snapshot = self._snapshot(self.commit)
        given = self.told.get("params")
        try:
            params: Any = read_json(given) if given else None
        except ValueError as error:
            raise BadInput(f"the option params is not JSON: {error}") from error
        request = ReadRequest(self.told["query"], params, self.told.get("name"))
        return Reader(snapshot.core.settings).run(snapshot, request)

    def _snapshot(self, commit: str | None = None) -> Snapshot:
        graph = open_from_options(self.told, read_only=True)
        if commit is not None:
            return graph.snapshot(commit=commit)
        told = self.told
        return graph.snapshot(
            told.get("branch"),
            told.get("commit"),
            read_count(told, "version"),
            told.get("tag"),
            told.get("timestamp"),
        )


def names_stream_of_records(told: Mapping[str, str]) -> bool:
    """Return whether options are those of a stream of graph records, which name their types themselves."""
    return "app_id" in told and "path" not in told


class TableReader(DataSourceReader):  # type: ignore[misc]
    """Reads a pinned table, a task for each group of fragments."""

    def __init__(self, scan: TableScan, schema: StructType, rows: int) -> None:
        self.scan, self.wanted, self.rows = scan, schema, rows

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks."""
        with attach_details():
            return self.scan.parts(self.rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        assert isinstance(partition, TablePart)
        with attach_details():
            yield from self.scan.read(partition.part, self.wanted)


class ResultReader(DataSourceReader):  # type: ignore[misc]
    """Serves the rows of a query that was run in Spark's driver."""

    def __init__(self, result: Result, schema: StructType) -> None:
        found = result.to_arrow()
        rows = found.rename_columns(names_in_spark(found.column_names)).select(schema.fieldNames())
        pieces = [
            rows.slice(at, _RESULT_ROWS_PER_TASK) for at in range(0, rows.num_rows, _RESULT_ROWS_PER_TASK)
        ]
        # The partitions carry the rows; the reader, which every task gets, must not.
        self.parts: list[InputPartition] = [ResultPart(to_arrow_stream(piece)) for piece in pieces or [rows]]
        self.wanted = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks."""
        parts, self.parts = self.parts, []
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        assert isinstance(partition, ResultPart)
        return read_result(partition, self.wanted)


def find_table(snapshot: Snapshot, path: str | None) -> TableType:
    """Return the type that a path such as `node:Person` names; the kind may be left out."""
    known = snapshot.catalog.tables
    found = find_types_named(snapshot, path) if path is not None else ()
    if len(found) != 1:
        names = [table.table_key for table in known]
        if path is None or found:
            raise BadInput(f"which table? load one of {', '.join(names)}, or give the option query")
        hint = suggest(path, [*names, *(table.name for table in known)])
        raise NotFound(f"there is no table {path!r}" + (f": {hint}" if hint else ""), table_key=path)
    return found[0]


freeze_modules()
