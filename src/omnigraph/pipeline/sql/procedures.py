"""`CALL og.system.…`: care of tables, branches and tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from omnigraph.execution.run_cleanup import run_cleanup
from omnigraph.graph.handle import Graph
from omnigraph.graph.maintenance.optimize.optimize import ensure_indices, optimize

Row = Mapping[str, Any]
_TEXT = StringType()


@dataclass(frozen=True)
class Procedure:
    """What a call carries out, and what it may be given."""

    run: Callable[..., Row]
    needed: tuple[str, ...] = ()
    optional: tuple[tuple[str, DataType], ...] = ()

    @property
    def parameters(self) -> StructType:
        """A field for each parameter."""
        needed = [StructField(name, _TEXT) for name in self.needed]
        return StructType(
            needed + [StructField(name, type_, metadata={"optional": True}) for name, type_ in self.optional]
        )


def _optimize(graph: Graph, branch: str | None = None) -> Row:
    done = optimize(graph, branch, None, None)
    return {"commit": done.commit_id, "tables": len(done.tables)}


def _ensure_indices(graph: Graph, branch: str | None = None) -> Row:
    done = ensure_indices(graph, branch, None, None)
    return {"commit": done.commit_id, "tables": len(done.tables)}


def _cleanup(
    graph: Graph, keep: int | None = None, older_than: str | None = None, dry_run: bool = False
) -> Row:
    done = run_cleanup(graph, keep, older_than, dry_run, None)
    return {
        "commits_dropped": done.commits_dropped,
        "files": done.files,
        "bytes": done.bytes,
    }


def _create_branch(graph: Graph, name: str, from_branch: str | None = None) -> Row:
    graph.branches.create(name, from_branch)
    return {"branch": name, "commit": graph.snapshot(name).commit_id}


def _delete_branch(graph: Graph, name: str) -> Row:
    graph.branches.delete(name)
    return {"branch": name}


def _merge_branch(graph: Graph, source: str, into: str = "main") -> Row:
    done = graph.branches.merge(source, into)
    return {"branch": into, "commit": done.commit_id}


def _reset_branch(graph: Graph, name: str, commit: str) -> Row:
    done = graph.branches.reset(name, commit)
    return {"branch": name, "commit": done.commit_id}


def _create_tag(graph: Graph, name: str, branch: str | None = None, commit: str | None = None) -> Row:
    return {"tag": name, "commit": graph.tags.create(name, commit, branch).commit}


def _delete_tag(graph: Graph, name: str) -> Row:
    graph.tags.delete(name)
    return {"tag": name}


_BRANCH = (("branch", _TEXT),)
PROCEDURES: dict[str, Procedure] = {
    "optimize": Procedure(_optimize, optional=_BRANCH),
    "ensure_indices": Procedure(_ensure_indices, optional=_BRANCH),
    "cleanup": Procedure(
        _cleanup, optional=(("keep", IntegerType()), ("older_than", _TEXT), ("dry_run", BooleanType()))
    ),
    "create_branch": Procedure(_create_branch, ("name",), (("from_branch", _TEXT),)),
    "delete_branch": Procedure(_delete_branch, ("name",)),
    "merge_branch": Procedure(_merge_branch, ("source",), (("into", _TEXT),)),
    "reset_branch": Procedure(_reset_branch, ("name", "commit")),
    "create_tag": Procedure(_create_tag, ("name",), (("branch", _TEXT), ("commit", _TEXT))),
    "delete_tag": Procedure(_delete_tag, ("name",)),
}


def row_schema(row: Row) -> StructType:
    """Return a row as columns that know their value."""
    return StructType([_column(name, value) for name, value in row.items()])


def _column(name: str, value: Any) -> StructField:
    type_ = BooleanType() if isinstance(value, bool) else LongType() if isinstance(value, int) else _TEXT
    return StructField(name, type_, metadata={} if value is None else {"value": value})
