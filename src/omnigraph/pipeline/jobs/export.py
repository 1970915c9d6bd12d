"""`spark_export`: a snapshot as a folder of part files, each written by a task from some fragments."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omnigraph.base import clock
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.export.export import Export, count_by_type, finish_folder, folder_of, resolve_types
from omnigraph.execution.export.export_files import Format
from omnigraph.execution.spark.failures import spark_errors
from omnigraph.graph.roots import refuse_target_in_graph
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.steps.run import cores_of
from omnigraph.pipeline.workers.export import WRITTEN_FIELDS, ExportTask, PartFile
from omnigraph.storage.files.output_folders import output_folder
from omnigraph.storage.rows.scan_with_blobs import parts_of

_LEAST_ROWS, _MOST_ROWS = 65_536, 1_000_000
_TASKS_PER_CORE = 4


def spark_export(
    session: Callable[[], Any],
    snapshot: Snapshot,
    target: str | os.PathLike[str],
    options: Mapping[str, str],
    types: Sequence[str] | None = None,
    format: Format = "ndjson",
) -> Export:
    """Write every chosen type as part files to a new folder, on Spark; `_SUCCESS` comes last.

    `session` returns the running session or starts one; it is called after types and target are checked.
    """
    started = clock.current().monotonic()
    chosen = resolve_types(snapshot, types)
    refuse_target_in_graph(target, options)
    folder = output_folder(target, options)
    spark = session()
    files = _part_files(snapshot, chosen, format, cores_of(spark))
    folder.start()
    try:
        written = _run(spark, ExportTask(snapshot.namespace, folder, format, files))
        finish_folder(folder, snapshot, format, {file.path: written[at] for at, file in enumerate(files)})
    except BaseException:
        folder.abandon()
        raise
    rows = dict.fromkeys((table.table_key for table in chosen), 0)
    for at, file in enumerate(files):
        rows[file.table.table_key] += written[at]
    nodes, edges = count_by_type(chosen, rows)
    seconds = clock.current().monotonic() - started
    return Export(folder.address, snapshot.commit_id, nodes, edges, "spark", seconds, format, len(files))


def _part_files(
    snapshot: Snapshot, tables: Sequence[TableType], format: Format, cores: int
) -> list[PartFile]:
    opened = {table.table_key: snapshot.table(table.table_key) for table in tables}
    total = sum(info.rows for info in snapshot.tables if info.key in opened)
    wanted = min(max(total // (cores * _TASKS_PER_CORE), _LEAST_ROWS), _MOST_ROWS)
    return [
        PartFile(f"{folder_of(table)}/part-{at:05}.{format}", table, part)
        for table in tables
        for at, part in enumerate(parts_of(opened[table.table_key], wanted))
    ]


def _run(spark: Any, task: ExportTask) -> dict[int, int]:
    """Return the number of rows of each file, by its number."""
    count = len(task.files)
    if not count:
        return {}
    with spark_errors("the export"):
        told = spark.range(0, count, 1, count).mapInArrow(task.__call__, WRITTEN_FIELDS).toArrow()
    return dict(zip(told["number"].to_pylist(), told["rows"].to_pylist(), strict=True))
