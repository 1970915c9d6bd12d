"""`og.open("http://…/graphs/x")`: the graph that a server holds."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from omnigraph.base.choices import (
    ExportFormat,
    LoadMode,
    OnError,
    ReadEngine,
    SourceFormat,
)
from omnigraph.base.errors import BadInput
from omnigraph.execution.embed.backfill import Backfill
from omnigraph.execution.export.export import Export
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.run import Load
from omnigraph.execution.run_cleanup import read_limits
from omnigraph.execution.write.mutate import Mutation
from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup
from omnigraph.graph.maintenance.optimize.optimize import Optimization, Progress
from omnigraph.graph.maintenance.verify.repair_report import Repair
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.remote.branches import RemoteBranches, RemoteTags
from omnigraph.sdk.remote.entities import RemoteEntities
from omnigraph.sdk.remote.history.changes import RemoteChanges
from omnigraph.sdk.remote.history.commits import RemoteCommits
from omnigraph.sdk.remote.proposals import RemoteProposals
from omnigraph.sdk.remote.queries import RemoteQueries, ask_stored
from omnigraph.sdk.remote.reading import RemoteReads
from omnigraph.sdk.remote.reads import mark_params, read_mutation, where_of
from omnigraph.sdk.remote.records.exports import run_export
from omnigraph.sdk.remote.records.loads import send_load
from omnigraph.sdk.remote.requests.connections import no_graph_at
from omnigraph.sdk.remote.requests.gaps import refuse, refuse_here
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.sdk.remote.schema import RemoteSchema
from omnigraph.wire.values import decode


class RemoteGraph(RemoteReads):
    """An open graph on a server: a branch to work on. The token says who is working. Threads may share it."""

    stands_for = Graph

    def __init__(
        self,
        uri: str,
        branch: str = "main",
        token: str | None = None,
        *,
        transport: Transport | None = None,
    ) -> None:
        super().__init__(Transport(uri, token) if transport is None else transport)
        if not urlsplit(self.uri).path:
            raise no_graph_at(uri)
        told = self._transport.ask("", branch=branch)  # what does not exist is an error now, not later
        self._transport.work_on(told["branch"], told["incarnation"])
        self.id: str = told["id"]
        """The graph's own id, which a copy keeps and a rebuilt graph does not."""
        self.branch: str = told["branch"]
        self.actor: str | None = told["actor"]
        self.read_only: bool = told["read_only"]
        self.branches = RemoteBranches(self._transport)
        self.commits = RemoteCommits(self._transport)
        self.tags = RemoteTags(self._transport)
        self.changes = RemoteChanges(self._transport)
        self.schema = RemoteSchema(self._transport)
        self.queries = RemoteQueries(self._transport)
        self.proposals = RemoteProposals(self._transport)
        self.entities = RemoteEntities(self._transport)

    @property
    def uri(self) -> str:
        """Where the graph is served."""
        return self._transport.uri

    def mutate(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        if_commit: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        retry: int = 0,
        metadata: Mapping[str, str] | None = None,
    ) -> Mutation:
        """Run a mutation query as one commit; `if_commit` names the commit that must still be the head."""
        body = {
            "query": gq,
            "params": mark_params(params),
            "name": name,
            "branch": branch,
            "message": message,
            "metadata": metadata,
            "retry": retry,
        }
        done = self._transport.write("/mutate", body, idempotency_key, if_commit)
        return read_mutation(done)

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        snapshot: Any = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        if_commit: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        retry: int = 0,
        metadata: Mapping[str, str] | None = None,
        expect_mutation: bool | None = None,
    ) -> Any:
        """Run a stored query: a read gives its rows, a mutation is one commit."""
        given = {
            "engine": engine,
            "timeout": timeout,
            "message": message,
            "metadata": metadata,
            "retry": retry,
        }
        return ask_stored(
            self._transport,
            name,
            params,
            where_of(branch, snapshot),
            given,
            expect_mutation,
            idempotency_key,
            if_commit,
        )

    def load(
        self,
        source: Any,
        *,
        mode: LoadMode,
        branch: str | None = None,
        from_branch: str | None = None,
        engine: ReadEngine = "auto",
        format: SourceFormat | None = None,
        mapping: Mapping[str, str] | str | os.PathLike[str] | None = None,
        type: str | None = None,
        on_error: OnError = "fail",
        rejected_to: str | os.PathLike[str] | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Load:
        """Load graph records as one commit: `append` adds, `merge` upserts, `overwrite` replaces types.

        A file is read here and sent; with `on_error="quarantine"` wrong records go to a file here.
        """
        request = LoadRequest(
            source=source,
            mode=mode,
            branch=branch,
            from_branch=from_branch,
            engine=engine,
            format=format,
            mapping=mapping,
            type=type,
            on_error=on_error,
            rejected_to=rejected_to,
            message=message,
            idempotency_key=idempotency_key,
            metadata=metadata,
        )
        return send_load(self._transport, request)

    def export(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        branch: str | None = None,
        snapshot: Any = None,
        types: Sequence[str] | None = None,
        format: ExportFormat = "ndjson",
        engine: ReadEngine = "auto",
    ) -> Export | Iterator[dict[str, Any]]:
        """Return the records of a branch or snapshot, in the load format, or write them to a file."""
        return run_export(self._transport, where_of(branch, snapshot), target, types, format, engine)

    def embed(
        self,
        *,
        branch: str | None = None,
        types: Collection[str] | None = None,
        reembed: bool = False,
        cache: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> Backfill:
        """Compute the missing vectors of `@embed` properties as one commit, or all with `reembed`."""
        if cache is not None:
            raise refuse_here("cache", "the server computes the vectors")
        wanted = None if types is None else list(types)
        body = {"branch": branch, "types": wanted, "reembed": reembed, "message": message}
        return decode(Backfill, self._transport.act("POST", "/embed", body))  # type: ignore[no-any-return]

    def optimize(
        self, branch: str | None = None, progress: Progress | None = None, *, engine: ReadEngine = "auto"
    ) -> Optimization:
        """Join fragments, fold new rows into indexes and build declared ones, in at most one commit."""
        return self._optimize(branch, progress, engine, indexes_only=False)

    def ensure_indices(
        self, branch: str | None = None, progress: Progress | None = None, *, engine: ReadEngine = "auto"
    ) -> Optimization:
        """Fold new rows into indexes and build declared ones that are missing, in at most one commit."""
        return self._optimize(branch, progress, engine, indexes_only=True)

    def _optimize(
        self, branch: str | None, progress: Progress | None, engine: str, indexes_only: bool
    ) -> Optimization:
        _refuse_progress(progress)
        body = {"branch": branch, "engine": engine, "indexes_only": indexes_only}
        return decode(Optimization, self._transport.act("POST", "/optimize", body))  # type: ignore[no-any-return]

    def cleanup(
        self,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        dry_run: bool = False,
        message: str | None = None,
    ) -> Cleanup:
        """Drop old commits and remove files that nothing needs."""
        read_limits(keep, older_than)
        age = f"{older_than.total_seconds():f}s" if isinstance(older_than, timedelta) else older_than
        body = {"keep": keep, "older_than": age, "dry_run": dry_run, "message": message}
        return decode(Cleanup, self._transport.act("POST", "/cleanup", body))  # type: ignore[no-any-return]

    def repair(
        self, confirm: bool = False, *, scrub: bool = False, progress: Progress | None = None
    ) -> Repair:
        """Verify the whole graph and explain what is inconsistent; `confirm` fixes what needs no guess."""
        _refuse_progress(progress)
        done = self._transport.act("POST", "/repair", {"confirm": confirm, "scrub": scrub})
        return decode(Repair, done)  # type: ignore[no-any-return]

    def backup(
        self,
        target: str | os.PathLike[str],
        since: str | None = None,
        *,
        branch: str | None = None,
        snapshot: Any = None,
        storage_options: Mapping[str, str] | None = None,
        progress: Any = None,
        reads_back: bool = True,
    ) -> Any:
        """Refuse: files are copied from the storage of a graph."""
        raise refuse("a backup")

    def namespace(self, branch: str | None = None) -> Any:
        """Return a read-only Lance namespace of a branch's head, for other tools that read Lance.

        They read the storage of the graph themselves, with credentials of their own.
        """
        from omnigraph.storage.public_namespace import ServedNamespace

        commit = self.snapshot(branch).commit_id
        return ServedNamespace(*self._transport.beside("lance"), [*self._transport.names, commit])

    def stream_writer(
        self,
        type: str | None = None,
        *,
        mode: LoadMode = "merge",
        app_id: str,
        branch: str | None = None,
        mapping: Mapping[str, str] | None = None,
        on_error: OnError = "fail",
        rejected_to: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> Any:
        """Refuse: the tasks of Spark write to the storage of a graph themselves."""
        raise refuse("a stream of Spark")

    def close(self) -> None:
        """Let go of connections; the handle can still be used."""
        self._transport.close()

    def __enter__(self) -> RemoteGraph:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Graph({self.uri!r}, branch={self.branch!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to open the same graph, on the same branch, in another process."""
        if self._transport.token is not None:
            raise BadInput(
                "this handle cannot be pickled: it was opened with a token, which may not leave the process; "
                "open the graph again there"
            )
        return RemoteGraph, (self.uri, self.branch)


def _refuse_progress(progress: object) -> None:
    if progress is not None:
        raise refuse_here("progress", "the answer comes when everything is done")
