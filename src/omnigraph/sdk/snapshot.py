"""A pinned, read-only view of a graph that can be asked like the graph itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import EntityKind, ReadEngine
from omnigraph.execution.plan.explain import Explanation
from omnigraph.execution.read import Reader, ReadRequest
from omnigraph.execution.result import Result, Stream
from omnigraph.graph.handle import Graph as Handle
from omnigraph.graph.snapshot import Snapshot as Pinned
from omnigraph.sdk.reopening import reopen_snapshot

if TYPE_CHECKING:
    from omnigraph.sdk.entities.blob import BlobHandle
    from omnigraph.sdk.entities.entity import Entity


class Snapshot(Pinned):
    """The graph as it was at one commit. It never changes, whatever happens to the branch."""

    def __init__(self, pinned: Pinned, reader: Reader, graph: Handle) -> None:
        """Wrap a pinned snapshot; it shares the caches of its graph's reads."""
        super().__init__(
            pinned.core, pinned.record, pinned.branch, pinned.policy, pinned.actor, pinned.judged_as
        )
        self._reader = reader
        self._graph = graph

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to pin the same commit in another process."""
        return reopen_snapshot, (self._graph, self.commit_id, self.branch)

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
        return self._reader.run(self, ReadRequest(gq, params, name, timeout, optimise, engine))

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
    ) -> Result:
        """Run a stored read query of this snapshot."""
        from omnigraph.sdk.queries.run import check_call, find_query, invoke_stored

        with invoke_stored(self._graph, name):
            query = find_query(self._graph, self, name)
            check_call(query, {}, expect_mutation=False)
            return self.query(query.text, params, name=query.name, engine=engine, timeout=timeout)

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
        return self._reader.stream(self, ReadRequest(gq, params, name, timeout), batch_rows)

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
        return self._reader.explain(self, ReadRequest(gq, params, name, timeout, optimise), analyze)

    def blob(self, entity: EntityKind, type: str, id: str, property: str) -> BlobHandle:
        """Return a blob of a node or edge of this snapshot, to be read in ranges."""
        from omnigraph.sdk.entities.blob import BlobHandle

        return BlobHandle(self, entity, type, id, property)

    def entity(self, type: str, id: str) -> Entity:
        """Return a node or edge of this snapshot: its properties, edges, history and blame."""
        from omnigraph.sdk.entities.entity import Entity

        return Entity(self, type, id)
