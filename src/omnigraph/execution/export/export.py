"""Exports of a snapshot in process: records, a file of them, or a folder with a file for each type."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, NotFound
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.export.export_files import Format, Record, record_line, records_of, write_rows
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.roots import refuse_target_in_graph
from omnigraph.graph.schema_apply.names import rename_catalog
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.files.output_folders import OutputFolder, output_folder
from omnigraph.storage.files.outputs import local_path, whole_file
from omnigraph.storage.rows.scan_with_blobs import whole_rows

__all__ = [
    "Export",
    "choose_types",
    "export_file",
    "export_folder",
    "export_records",
    "record_line",
    "resolve_types",
]


@dataclass(frozen=True, slots=True)
class Export:
    """What an export wrote: where, which commit, records by type, and how long it took."""

    path: str
    commit_id: str
    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)
    engine: str = "local"
    seconds: float = 0.0
    format: str = "ndjson"
    files: int = 1
    engine_reason: str = ""


def export_records(snapshot: Snapshot, types: Sequence[str] | None = None) -> Iterator[Record]:
    """Yield every entity as a record: nodes before edges, types by name, rows as they are stored."""
    for table in resolve_types(snapshot, types):
        for rows in whole_rows(snapshot.table(table.table_key), table_schema(table).names):
            yield from records_of(table, rows)


def export_file(
    snapshot: Snapshot, target: str | os.PathLike[str], types: Sequence[str] | None = None
) -> Export:
    """Write all records to a file, one a line; the file appears complete or not at all."""
    started = clock.current().monotonic()
    path = local_path(target)
    refuse_target_in_graph(path, {})
    rows: dict[str, int] = {}
    chosen = resolve_types(snapshot, types)
    with whole_file(path) as file:
        for table in chosen:
            pieces = whole_rows(snapshot.table(table.table_key), table_schema(table).names)
            rows[table.table_key] = write_rows(file, "ndjson", table, pieces)
    nodes, edges = count_by_type(chosen, rows)
    seconds = clock.current().monotonic() - started
    return Export(str(path), snapshot.commit_id, nodes, edges, seconds=seconds)


def export_folder(
    snapshot: Snapshot,
    target: str | os.PathLike[str],
    options: Mapping[str, str],
    types: Sequence[str] | None = None,
    format: Format = "parquet",
) -> Export:
    """Write a file for each type to a new folder, which is complete when it has a file `_SUCCESS`."""
    started = clock.current().monotonic()
    chosen = resolve_types(snapshot, types)
    refuse_target_in_graph(target, options)
    folder = output_folder(target, options)
    folder.start()
    files: dict[str, int] = {}
    rows: dict[str, int] = {}
    try:
        for table in chosen:
            path = f"{folder_of(table)}.{format}"
            pieces = whole_rows(snapshot.table(table.table_key), table_schema(table).names)
            with folder.file(path) as file:
                files[path] = rows[table.table_key] = write_rows(file, format, table, pieces)
        finish_folder(folder, snapshot, format, files)
    except BaseException:
        folder.abandon()
        raise
    nodes, edges = count_by_type(chosen, rows)
    seconds = clock.current().monotonic() - started
    return Export(folder.address, snapshot.commit_id, nodes, edges, "local", seconds, format, len(files))


def finish_folder(folder: OutputFolder, snapshot: Snapshot, format: Format, files: Mapping[str, int]) -> None:
    """Complete a folder with a note of its commit and the rows of each file."""
    note = {"commit": snapshot.commit_id, "format": format, "files": dict(files)}
    folder.finish(json.dumps(note, indent=1).encode() + b"\n")


def folder_of(table: TableType) -> str:
    """Return where the files of a type are in the folder of an export."""
    return f"{table.kind}s/{table.name}"


def count_by_type(
    tables: Sequence[TableType], rows: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return rows by type: those of nodes, and those of edges."""
    found: dict[str, dict[str, int]] = {"node": {}, "edge": {}}
    for table in tables:
        found[table.kind][table.name] = rows[table.table_key]
    return found["node"], found["edge"]


def check_export_format(format: str) -> Format:
    """Return the format of an export; refuse an unknown one."""
    if format not in get_args(Format):
        raise BadInput(f"format is {format!r}: an export is 'ndjson' or 'parquet'", format=format)
    return cast(Format, format)


def choose_types(catalog: Catalog, types: Sequence[str] | None) -> list[TableType]:
    """Return the types to export, all unless some are named; nodes come first."""
    if types is None:
        return list(catalog.tables)
    is_list = isinstance(types, Collection) and not isinstance(types, str)
    if not is_list or not all(isinstance(name, str) for name in types):
        raise BadInput(f"types is {types!r}: give a list of type names")
    named = {name: catalog.find_types(name) for name in types}
    for name, found in named.items():
        if not found:
            hint = suggest(name, [table.name for table in catalog.tables])
            raise NotFound(f"there is no type {name!r}" + (f": {hint}" if hint else ""), type=name)
    wanted = {table.table_key for found in named.values() for table in found}
    return [table for table in catalog.tables if table.table_key in wanted]


def resolve_types(snapshot: Snapshot, types: Sequence[str] | None) -> list[TableType]:
    """Return the types to export, by their names at the snapshot or by their current names."""
    try:
        return choose_types(snapshot.catalog, types)
    except NotFound:
        renamed = rename_catalog(snapshot)
        if renamed is snapshot.catalog:
            raise
        return choose_types(renamed, types)
