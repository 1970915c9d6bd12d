"""`cluster.yaml` as values; the files that it names are not read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from omnigraph.base.choices import LoadMode, OnError, ReadEngine, SourceFormat

BlobScope = Literal["server_safe", "embedded_only"]


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """A provider of embeddings; its key is named, never written down."""

    kind: str
    base_url: str | None = None
    model: str | None = None
    api_key_variable: str | None = None


@dataclass(frozen=True, slots=True)
class AllowedBlobs:
    """A folder or prefix from which a graph may take blobs by their addresses."""

    base: str
    scope: BlobScope


@dataclass(frozen=True, slots=True)
class DeclaredQueries:
    """A file of queries; with `name` it must hold a query of that name, and only that one counts."""

    file: str
    name: str | None
    path: str
    """The key of `cluster.yaml` that names it."""
    at: tuple[int, int]


@dataclass(frozen=True, slots=True)
class GraphDeclaration:
    """One graph."""

    id: str
    schema: str
    queries: tuple[DeclaredQueries, ...]
    query_folder: str | None
    embedding_provider: str | None
    external_blobs: tuple[AllowedBlobs, ...]
    at: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PolicyDeclaration:
    """A bundle of policies, and the graphs that it is for, or `cluster`."""

    name: str
    file: str
    applies_to: tuple[str, ...]
    at: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PipelineDeclaration:
    """A load that is run by its name."""

    name: str
    graph: str
    source: tuple[str, ...]
    mode: LoadMode
    branch: str = "main"
    from_branch: str | None = None
    type: str | None = None
    format: SourceFormat | None = None
    mapping_file: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """Properties by column."""
    engine: ReadEngine = "auto"
    on_error: OnError = "fail"
    description: str | None = None
    at: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """All that is declared."""

    name: str
    storage: str | None
    locks: bool
    providers: Mapping[str, ProviderProfile]
    graphs: Mapping[str, GraphDeclaration]
    policies: Mapping[str, PolicyDeclaration]
    pipelines: Mapping[str, PipelineDeclaration]
