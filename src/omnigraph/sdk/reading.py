"""What a graph that users hold can be asked: queries, snapshots, differences, blobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import ChangeOp, EntityKind, ReadEngine
from omnigraph.base.errors import BadInput
from omnigraph.execution.query_cache import compile_cached
from omnigraph.execution.read import Reader, ReadRequest
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.opening import Core
from omnigraph.graph.snapshot import Snapshot as Pinned
from omnigraph.pipeline.engine import SparkReader
from omnigraph.sdk.queries.prepared import PreparedQuery
from omnigraph.sdk.reopening import HowOpened, ReopenableGraph
from omnigraph.sdk.snapshot import Snapshot

# A read needs half of the engine: what else a method needs is imported when it is called.
if TYPE_CHECKING:
    from omnigraph.execution.plan.explain import Explanation
    from omnigraph.execution.result import Result, Stream
    from omnigraph.graph.changes.diff import Diff
    from omnigraph.graph.manifest.record import CommitRecord
    from omnigraph.policy.gate import Gate
    from omnigraph.sdk.entities.blob import BlobHandle
    from omnigraph.sdk.entities.entities import Entities
    from omnigraph.sdk.entities.entity import Entity
    from omnigraph.sdk.queries.handle import QueriesHandle
    from omnigraph.sdk.schema import SchemaHandle


class ReadableGraph(ReopenableGraph):
    """An open graph, and what can be read of it."""

    def __init__(
        self,
        core: Core,
        branch: str = MAIN,
        read_only: bool = False,
        actor: str | None = None,
        opened: HowOpened | None = None,
        policy: Gate | None = None,
    ) -> None:
        super().__init__(core, branch, read_only, actor, opened, policy)
        self.internals.find_pairs = self._find_pairs

    def _find_pairs(self, result: Pinned, target: Pinned, name: str) -> Sequence[tuple[str, str]]:
        from omnigraph.sdk.queries.pairs import find_pairs

        return find_pairs(self, self.reader, result, target, name)

    @property
    def schema(self) -> SchemaHandle:
        """The schema of this handle's branch: read it, plan a change, apply one."""
        from omnigraph.sdk.schema import SchemaHandle

        return SchemaHandle(self)

    @property
    def queries(self) -> QueriesHandle:
        """The stored queries of this handle's branch: list, show, validate, apply, remove."""
        from omnigraph.sdk.queries.handle import QueriesHandle

        return QueriesHandle(self)

    def diff(
        self,
        from_: Pinned | str,
        to: Pinned | str,
        *,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        images: bool = True,
    ) -> Diff:
        """Return the changes from one branch, commit or snapshot to another; they are read lazily."""
        from omnigraph.graph.changes.diff import diff
        from omnigraph.graph.changes.model import ChangeFilter

        only = ChangeFilter.of(kinds, types, ops)
        return diff(self.internals.core, self._record_of(from_), self._record_of(to), only, images)

    def _record_of(self, target: Pinned | str) -> CommitRecord:
        """Return the record of a snapshot, or of what a revision stands for."""
        if isinstance(target, Pinned):
            return self.internals.judge(target).record
        if not isinstance(target, str):
            raise BadInput(f"{target!r} is neither a snapshot nor the name of a branch or commit")
        return self.find(target)

    @cached_property
    def reader(self) -> Reader:
        """What the reads of this handle share."""
        return Reader(self.settings, SparkReader())

    def snapshot(
        self,
        branch: str | None = None,
        commit: str | None = None,
        version: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> Snapshot:
        """Return a read-only view of a branch's head, version or past moment, a commit, or a tag."""
        return Snapshot(super().snapshot(branch, commit, version, tag, timestamp), self.reader, self)

    def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Result:
        """Run a read query on a branch's head, or on a snapshot (or what stands for a commit).

        `timeout` is in seconds. Without `optimise` the steps are taken as they are written: the rows are
        the same, only slower.
        """
        request = ReadRequest(gq, params, name, timeout, optimise, engine)
        return self.reader.run(self.internals.choose_snapshot(branch, snapshot), request)

    def stream(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        batch_rows: int = 65_536,
        timeout: float | None = None,
    ) -> Stream:
        """Run a read query and return its rows as Arrow batches, made while they are asked for."""
        request = ReadRequest(gq, params, name, timeout)
        return self.reader.stream(self.internals.choose_snapshot(branch, snapshot), request, batch_rows)

    def explain(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        analyze: bool = False,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        timeout: float | None = None,
        optimise: bool = True,
    ) -> Explanation:
        """Return the plan of a read query; with `analyze` it is run, and the plan says what each step did."""
        request = ReadRequest(gq, params, name, timeout, optimise)
        return self.reader.explain(self.internals.choose_snapshot(branch, snapshot), request, analyze)

    def prepare(self, gq: str, *, name: str | None = None) -> Callable[..., Result]:
        """Check a read query now and return a function that runs it: `p(params)`, on the newest state."""
        compile_cached(gq, self.schema.catalog, name, "read")
        return PreparedQuery(self.query, gq, name)

    def blob(
        self,
        entity: EntityKind,
        type: str,
        id: str,
        property: str,
        *,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
    ) -> BlobHandle:
        """Return a blob of a node or edge: read it in ranges, and without `snapshot`, put or clear it."""
        from omnigraph.sdk.entities.blob import BlobHandle

        seen = Snapshot(self.internals.choose_snapshot(branch, snapshot), self.reader, self)
        write_to = (self, branch) if snapshot is None else None
        return BlobHandle(seen, entity, type, id, property, write_to)

    def entity(
        self, type: str, id: str, *, branch: str | None = None, snapshot: Pinned | str | None = None
    ) -> Entity:
        """Return a node or edge: properties, edges, history, blame; and without `snapshot`, reset it."""
        from omnigraph.sdk.entities.entity import Entity

        seen = Snapshot(self.internals.choose_snapshot(branch, snapshot), self.reader, self)
        return Entity(seen, type, id, (self, branch) if snapshot is None else None)

    @property
    def entities(self) -> Entities:
        """Duplicates, which are one thing under several ids: find them, combine them."""
        from omnigraph.sdk.entities.entities import Entities

        return Entities(self)

    def close(self) -> None:
        """Drop opened tables and caches of queries; the handle can still be used."""
        super().close()
        self.reader.clear()
