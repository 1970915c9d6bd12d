"""What options take: their words as types, which a type checker knows, and which exclude each other."""

from __future__ import annotations

from typing import Literal, TypeAlias

from omnigraph.base.errors import BadInput

ReadEngine: TypeAlias = Literal["auto", "local", "spark"]
LoadMode: TypeAlias = Literal["append", "merge", "patch", "overwrite"]
OnError: TypeAlias = Literal["fail", "quarantine"]
SourceFormat: TypeAlias = Literal["json", "parquet", "csv", "orc", "arrow"]
ExportFormat: TypeAlias = Literal["ndjson", "parquet"]
MergeStrategy: TypeAlias = Literal["entity", "property", "ours", "theirs"]
SchemaMode: TypeAlias = Literal["replace", "extend"]
EntityKind: TypeAlias = Literal["node", "edge"]
ChangeOp: TypeAlias = Literal["insert", "update", "delete"]
CombineValues: TypeAlias = Literal["fill", "keep", "newest"]


def refuse_branch_and_snapshot(branch: object, snapshot: object) -> None:
    """Refuse to read of a branch and of a snapshot at once."""
    if branch is not None and snapshot is not None:
        raise BadInput("give a branch or a snapshot, not both")


def refuse_branch_and_start(branch: object, start: object) -> None:
    """Refuse to begin a history at a branch and at a commit at once."""
    if branch is not None and start is not None:
        raise BadInput("give a branch or a commit to start from, not both")


FeedEvents: TypeAlias = Literal["commits", "proposals"]
