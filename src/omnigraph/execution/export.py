"""`run_export`: a snapshot as graph records, in the format that a load takes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, NotFound
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.graph.columns import table_schema
from omnigraph.graph.json_rows import properties_of
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.outputs import local_path, whole_file
from omnigraph.storage.whole_rows import whole_rows

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Export:
    """What an export wrote: where, which commit, records by type, and how long it took."""

    path: str
    commit_id: str
    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)
    engine: str = "local"
    seconds: float = 0.0


def export_records(snapshot: Snapshot, types: Sequence[str] | None = None) -> Iterator[Record]:
    """Yield every entity as a record: nodes before edges, types by name, rows as they are stored."""
    for table in chosen_types(snapshot.catalog, types):
        yield from _records(snapshot, table)


def export_file(
    snapshot: Snapshot, target: str | os.PathLike[str], types: Sequence[str] | None = None
) -> Export:
    """Write all records to a file, one a line; the file appears complete or not at all."""
    started = clock.current().monotonic()
    path = local_path(target)
    counts: dict[str, dict[str, int]] = {"node": {}, "edge": {}}
    chosen = chosen_types(snapshot.catalog, types)
    with whole_file(path) as file:
        for table in chosen:
            counts[table.kind][table.name] = 0
            for record in _records(snapshot, table):
                file.write(record_line(record))
                counts[table.kind][table.name] += 1
    seconds = clock.current().monotonic() - started
    return Export(str(path), snapshot.commit_id, counts["node"], counts["edge"], seconds=seconds)


def record_line(record: Record) -> bytes:
    """Return a record as a line of NDJSON."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def chosen_types(catalog: Catalog, types: Sequence[str] | None) -> list[TableType]:
    """Return the types to export, all of them unless some are named; nodes come first."""
    if types is None:
        return list(catalog.tables)
    if isinstance(types, str):
        raise BadInput(f"types is {types!r}: give a list of type names")
    named = {name: _types_called(catalog, name) for name in types}
    for name, found in named.items():
        if not found:
            hint = suggest(name, [table.name for table in catalog.tables])
            raise NotFound(f"there is no type {name!r}" + (f": {hint}" if hint else ""), type=name)
    wanted = {table.table_key for found in named.values() for table in found}
    return [table for table in catalog.tables if table.table_key in wanted]


def _types_called(catalog: Catalog, name: str) -> list[TableType]:
    """Return the types of a name, or of a table key such as `edge:Knows`."""
    return [table for table in catalog.tables if name in (table.name, table.table_key)]


def _records(snapshot: Snapshot, table: TableType) -> Iterator[Record]:
    for rows in whole_rows(snapshot.table(table.table_key), table_schema(table).names):
        ids = rows["id"].to_pylist()
        data = [{"id": id_, **values} for id_, values in zip(ids, properties_of(table, rows), strict=True)]
        if table.kind == "node":
            for values in data:
                yield {"type": table.name, "data": values}
        else:
            ends = zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)
            for values, (source, target) in zip(data, ends, strict=True):
                yield {"edge": table.name, "from": source, "to": target, "data": values}
