"""A pinned view of a served graph."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from omnigraph.base.choices import EntityKind, ReadEngine
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.execution.plan.explain import Explanation
from omnigraph.execution.result import Result, Stream
from omnigraph.graph.history import Commit
from omnigraph.graph.snapshot import TableInfo
from omnigraph.sdk.remote.blob import RemoteBlob
from omnigraph.sdk.remote.entity import RemoteEntity
from omnigraph.sdk.remote.queries import ask_queries, ask_stored
from omnigraph.sdk.remote.reads import ask_plan, ask_query, ask_stream, read_body
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.sdk.reopening import reopen_snapshot
from omnigraph.sdk.snapshot import Snapshot
from omnigraph.wire.values import decode


class RemoteSnapshot:
    """The graph as it was at one commit. It never changes, whatever happens to the branch."""

    stands_for = Snapshot

    def __init__(self, transport: Transport, graph: Any, told: Mapping[str, Any]) -> None:
        self._transport = transport
        self._graph = graph
        self.branch: str = told["branch"]
        self.commit_id: str = told["commit"]
        """The commit that this is a view of."""
        self.version: int = told["version"]
        """The commit's number on its branch."""
        self.commit: Commit = decode(Commit, told["record"])
        """The commit itself."""
        self.tables = [decode(TableInfo, item) for item in told["datasets"]]
        """All tables, sorted by key."""
        self.distinct: dict[str, Mapping[str, int]] = {
            item["key"]: item["distinct"] for item in told["datasets"] if item["distinct"]
        }
        """How many values columns were thought to have when their table was last optimized, by table key."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to pin the same commit in another process."""
        return reopen_snapshot, (self._graph, self.commit_id, self.branch)

    @property
    def catalog(self) -> Catalog:
        """The compiled schema at this commit."""
        return codec.from_json(self._schema["catalog"])

    @property
    def schema_source(self) -> str:
        """The text of the schema at this commit."""
        return str(self._schema["schema_source"])

    @cached_property
    def queries(self) -> QuerySet:
        """The stored queries at this commit, by name."""
        return ask_queries(self._transport, {"snapshot": self.commit_id})

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
    ) -> Result:
        """Run a stored read query of this snapshot."""
        given = {"engine": engine, "timeout": timeout}
        where = {"snapshot": self.commit_id}
        return ask_stored(self._transport, name, params, where, given, expect_mutation=False)  # type: ignore[return-value]

    @cached_property
    def _schema(self) -> Any:
        return self._transport.ask("/schema", snapshot=self.commit_id)

    def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Result:
        """Run a read query on this snapshot."""
        body = self._body(gq, params, name) | {"engine": engine, "timeout": timeout, "optimise": optimise}
        return ask_query(self._transport, body)

    def stream(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        batch_rows: int = 65_536,
        timeout: float | None = None,
    ) -> Stream:
        """Run a read query and return its rows as Arrow batches, made while they are asked for."""
        body = self._body(gq, params, name) | {"timeout": timeout, "batch_rows": batch_rows}
        return ask_stream(self._transport, body)

    def explain(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        analyze: bool = False,
        *,
        name: str | None = None,
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Explanation:
        """Return how a read query is carried out on this snapshot."""
        body = self._body(gq, params, name) | {"analyze": analyze, "timeout": timeout, "optimise": optimise}
        return ask_plan(self._transport, body)

    def blob(self, entity: EntityKind, type: str, id: str, property: str) -> RemoteBlob:
        """Return a blob of a node or edge of this snapshot, to be read in ranges."""
        where = {"snapshot": self.commit_id}
        return RemoteBlob(self._transport, entity, type, id, property, where, can_write=False)

    def entity(self, type: str, id: str) -> RemoteEntity:
        """Return a node or edge of this snapshot: its properties, edges, history and blame."""
        return RemoteEntity(self._transport, type, id, {"snapshot": self.commit_id}, can_write=False)

    def _body(self, gq: str, params: Any, name: str | None) -> dict[str, Any]:
        return read_body(gq, params, name, {"snapshot": self.commit_id})

    def __repr__(self) -> str:
        return f"Snapshot(branch={self.branch!r}, version={self.version}, commit={self.commit_id})"


def take_snapshot(
    transport: Transport,
    graph: Any,
    branch: str | None,
    commit: str | None,
    version: int | None,
    tag: str | None,
    timestamp: datetime | str | None,
) -> RemoteSnapshot:
    """Pin what the arguments stand for."""
    moment = timestamp.isoformat() if isinstance(timestamp, datetime) else timestamp
    told = transport.ask(
        "/snapshot", branch=branch, commit=commit, version=version, tag=tag, timestamp=moment
    )
    return RemoteSnapshot(transport, graph, told)
