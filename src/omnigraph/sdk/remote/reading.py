"""What a served graph can be asked: queries, snapshots, differences, blobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from omnigraph.base.choices import ChangeOp, EntityKind, ReadEngine
from omnigraph.compiler.catalog import codec
from omnigraph.execution.plan.explain import Explanation
from omnigraph.execution.query_cache import compile_cached
from omnigraph.execution.result import Result, Stream
from omnigraph.sdk.queries.prepared import PreparedQuery
from omnigraph.sdk.remote.blob import RemoteBlob
from omnigraph.sdk.remote.entity import RemoteEntity
from omnigraph.sdk.remote.history.diff import RemoteDiff, ask_diff
from omnigraph.sdk.remote.reads import ask_plan, ask_query, ask_stream, read_body, where_of
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.sdk.remote.snapshot import RemoteSnapshot, take_snapshot


class RemoteReads:
    """A served graph, and what can be read of it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def diff(
        self,
        from_: RemoteSnapshot | str,
        to: RemoteSnapshot | str,
        *,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        images: bool = True,
    ) -> RemoteDiff:
        """Return the changes from one branch, commit or snapshot to another; they are read lazily."""
        return ask_diff(self._transport, from_, to, kinds, types, ops, images)

    def snapshot(
        self,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> RemoteSnapshot:
        """Return a read-only view of a branch's head, version or past moment, a commit, or a tag."""
        return take_snapshot(self._transport, self, branch, commit, version, tag, timestamp)

    def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: RemoteSnapshot | str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Result:
        """Run a read query on a branch's head, or on a snapshot (or what stands for a commit)."""
        body = read_body(gq, params, name, where_of(branch, snapshot))
        body |= {"engine": engine, "timeout": timeout, "optimise": optimise}
        return ask_query(self._transport, body)

    def stream(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: RemoteSnapshot | str | None = None,
        batch_rows: int = 65_536,
        timeout: float | None = None,
    ) -> Stream:
        """Run a read query and return its rows as Arrow batches, made while they are asked for."""
        body = read_body(gq, params, name, where_of(branch, snapshot))
        return ask_stream(self._transport, {**body, "timeout": timeout, "batch_rows": batch_rows})

    def explain(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        analyze: bool = False,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: RemoteSnapshot | str | None = None,
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Explanation:
        """Return the plan of a read query; with `analyze` it is run, and the plan says what each step did."""
        body = read_body(gq, params, name, where_of(branch, snapshot))
        return ask_plan(
            self._transport, {**body, "analyze": analyze, "timeout": timeout, "optimise": optimise}
        )

    def prepare(self, gq: str, *, name: str | None = None) -> Callable[..., Result]:
        """Check a read query now and return a function that runs it: `p(params)`, on the newest state."""
        compile_cached(gq, codec.from_json(self._transport.ask("/schema")["catalog"]), name, "read")
        return PreparedQuery(self.query, gq, name)

    def blob(
        self,
        entity: EntityKind,
        type: str,
        id: str,
        property: str,
        *,
        branch: str | None = None,
        snapshot: RemoteSnapshot | str | None = None,
    ) -> RemoteBlob:
        """Return a blob of a node or edge: read it in ranges, and without `snapshot`, put or clear it."""
        where = where_of(branch, snapshot)
        return RemoteBlob(self._transport, entity, type, id, property, where, can_write=snapshot is None)

    def entity(
        self, type: str, id: str, *, branch: str | None = None, snapshot: RemoteSnapshot | str | None = None
    ) -> RemoteEntity:
        """Return a node or edge: properties, edges, history, blame; and without `snapshot`, reset it."""
        return RemoteEntity(self._transport, type, id, where_of(branch, snapshot), can_write=snapshot is None)
