"""Facts about a graph as tables: `og.system.commits`, `og.main.system.files` and the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot

Row = Mapping[str, Any]
_TEXT, _NUMBER, _MOMENT, _TRUTH = StringType(), LongType(), TimestampType(), BooleanType()


def _commits(graph: Graph, snapshot: Snapshot) -> list[Row]:
    names = (
        "id",
        "parent",
        "merged_parent",
        "branch",
        "version",
        "actor",
        "created_at",
        "message",
        "operation",
    )
    return [
        {
            **{name: getattr(commit, name) for name in (*names, "maintenance")},
            "metadata": list(commit.metadata.items()),
        }
        for commit in graph.commits.list(start=snapshot.commit_id)
    ]


def _branches(graph: Graph, snapshot: Snapshot) -> list[Row]:
    found = [graph.snapshot(name) for name in graph.branches.list()]
    return [
        {
            "name": one.branch,
            "commit": one.commit_id,
            "version": one.version,
            "last_write_at": one.commit.created_at,
            "last_writer": one.commit.actor,
        }
        for one in found
    ]


def _tags(graph: Graph, snapshot: Snapshot) -> list[Row]:
    names = ("name", "commit", "branch", "version", "actor", "created_at")
    return [{name: getattr(tag, name) for name in names} for tag in graph.tags.list()]


def _tables(graph: Graph, snapshot: Snapshot) -> list[Row]:
    return [
        {
            "table": info.key,
            "rows": info.rows,
            "fragments": len(snapshot.table(info.key).fragments()) if snapshot.sees_all else None,
        }
        for info in snapshot.tables
    ]


def _files(graph: Graph, snapshot: Snapshot) -> list[Row]:
    snapshot.namespace.refuse_restricted()
    return [
        {
            "table": info.key,
            "fragment": fragment.number,
            "rows": fragment.rows,
            "has_deletions": fragment.deletion is not None,
            "path": file,
        }
        for info in snapshot.tables
        for fragment in snapshot.table(info.key).fragments()
        for file in fragment.files
    ]


_KNOWN: dict[str, tuple[dict[str, DataType], Callable[[Graph, Snapshot], list[Row]]]] = {
    "branches": (
        {"name": _TEXT, "commit": _TEXT, "version": _NUMBER, "last_write_at": _MOMENT, "last_writer": _TEXT},
        _branches,
    ),
    "commits": (
        {"id": _TEXT, "parent": _TEXT, "merged_parent": _TEXT, "branch": _TEXT, "version": _NUMBER,
         "actor": _TEXT, "created_at": _MOMENT, "message": _TEXT, "operation": _TEXT, "maintenance": _TRUTH,
         "metadata": MapType(_TEXT, _TEXT)},
        _commits,
    ),
    "files": (
        {"table": _TEXT, "fragment": _NUMBER, "rows": _NUMBER, "has_deletions": _TRUTH, "path": _TEXT},
        _files,
    ),
    "tables": ({"table": _TEXT, "rows": _NUMBER, "fragments": _NUMBER}, _tables),
    "tags": (
        {"name": _TEXT, "commit": _TEXT, "branch": _TEXT, "version": _NUMBER, "actor": _TEXT,
         "created_at": _MOMENT},
        _tags,
    ),
}  # fmt: skip


def system_names() -> list[str]:
    """Return the names of all tables of facts."""
    return list(_KNOWN)


def system_schema(name: str) -> StructType | None:
    """Return the columns of a table of facts; None when there is no such table."""
    if name not in _KNOWN:
        return None
    return StructType([StructField(column, type_) for column, type_ in _KNOWN[name][0].items()])


def system_rows(name: str, graph: Graph, snapshot: Snapshot, schema: StructType) -> pa.Table:
    """Return the rows of a table of facts, with some of its columns."""
    rows = _KNOWN[name][1](graph, snapshot)
    wanted = to_arrow_schema(schema, timezone="UTC")
    return pa.Table.from_pylist([{field: row[field] for field in wanted.names} for row in rows], wanted)
