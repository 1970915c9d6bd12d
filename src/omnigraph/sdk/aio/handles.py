"""`aopen`, `ainit` and the asynchronous twins of the handles; `handles.pyi` has their types.

The stub is made by `scripts/async_stub.py`, and a test compares it with what that gives.
"""

from __future__ import annotations

from omnigraph.base.settings import Settings
from omnigraph.execution.result import Stream
from omnigraph.graph.changes.diff import Diff
from omnigraph.graph.handle_branches import Branches
from omnigraph.graph.handle_commits import Commits
from omnigraph.graph.handle_tags import Tags
from omnigraph.sdk.aio.threads import Threads
from omnigraph.sdk.aio.twins import make_twin
from omnigraph.sdk.changes import Changes
from omnigraph.sdk.entities.blob import BlobHandle
from omnigraph.sdk.entities.entities import Entities
from omnigraph.sdk.entities.entity import Entity
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.opening import init, open
from omnigraph.sdk.proposals.handle import Proposals
from omnigraph.sdk.queries.handle import QueriesHandle
from omnigraph.sdk.schema import SchemaHandle
from omnigraph.sdk.snapshot import Snapshot

HIDDEN = (
    "commit_work",
    "find",
    "catalog_at",
    "schemas",
    "embedder",
    "settings",
    "storage_options",
    "record",
    "declared_queries",
    "blob_sources",
    "internals",
    "reader",
    "stamp",
)
"""What the parts of OmniGraph ask of a handle, and users do not."""
HIDDEN_OF_SNAPSHOTS = (*HIDDEN, "table", "namespace", "sight", "access", "sees_all", "view_id", "core")

AsyncGraph = make_twin(
    Graph,
    "AsyncGraph",
    plain=("uri", "id", "branch", "actor", "read_only"),
    parts=("branches", "commits", "tags", "schema", "queries", "changes", "proposals", "entities"),
    hidden=HIDDEN,
)
AsyncBranches = make_twin(Branches, "AsyncBranches")
AsyncCommits = make_twin(Commits, "AsyncCommits")
AsyncTags = make_twin(Tags, "AsyncTags")
AsyncSchema = make_twin(SchemaHandle, "AsyncSchema")
AsyncQueries = make_twin(QueriesHandle, "AsyncQueries")
AsyncChanges = make_twin(Changes, "AsyncChanges")
AsyncEntities = make_twin(Entities, "AsyncEntities")
AsyncProposals = make_twin(Proposals, "AsyncProposals", hidden=HIDDEN)
AsyncSnapshot = make_twin(
    Snapshot,
    "AsyncSnapshot",
    plain=("branch", "commit_id", "version", "commit", "tables", "distinct"),
    hidden=HIDDEN_OF_SNAPSHOTS,
)
AsyncStream = make_twin(
    Stream, "AsyncStream", plain=("schema", "columns", "commit_id"), hidden=("to_reader",), items_at_once=1
)
AsyncDiff = make_twin(Diff, "AsyncDiff", plain=("from_commit", "to_commit"), hidden=("comparison",))
AsyncBlob = make_twin(
    BlobHandle,
    "AsyncBlob",
    plain=("entity", "type", "id", "property", "commit_id"),
    hidden=HIDDEN,
    items_at_once=1,
)
AsyncEntity = make_twin(Entity, "AsyncEntity", plain=("kind", "type", "id", "commit_id"))


async def aopen(uri, **options):  # type: ignore[no-untyped-def]
    """Open a graph as `open` does, without blocking the event loop."""
    return await _twin_of(open, uri, **options)


async def ainit(uri, schema, **options):  # type: ignore[no-untyped-def]
    """Make a graph as `init` does, without blocking the event loop."""
    return await _twin_of(init, uri, schema, **options)


async def _twin_of(make, *args, **options):  # type: ignore[no-untyped-def]
    threads = Threads(Settings.from_environment().async_threads)
    return AsyncGraph(await threads.run(make, *args, **options), threads)
