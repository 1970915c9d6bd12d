"""The words that options take, as types: a type checker knows a misspelt one before the call does."""

from __future__ import annotations

from typing import Literal, TypeAlias

ReadEngine: TypeAlias = Literal["auto", "local", "spark"]
LoadMode: TypeAlias = Literal["append", "merge", "patch", "overwrite"]
OnError: TypeAlias = Literal["fail", "quarantine"]
SourceFormat: TypeAlias = Literal["json", "parquet", "csv", "orc", "arrow"]
ExportFormat: TypeAlias = Literal["ndjson", "parquet"]
MergeStrategy: TypeAlias = Literal["entity", "property", "ours", "theirs"]
SchemaMode: TypeAlias = Literal["replace", "extend"]
EntityKind: TypeAlias = Literal["node", "edge"]
ChangeOp: TypeAlias = Literal["insert", "update", "delete"]
SameValues: TypeAlias = Literal["fill", "keep", "newest"]
