"""The graph that users hold: what writes to it and what keeps it in order."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import (
    ExportFormat,
    LoadMode,
    OnError,
    ReadEngine,
    SourceFormat,
)
from omnigraph.graph.snapshot import Snapshot as Pinned
from omnigraph.pipeline.engine import SparkEngine
from omnigraph.sdk.reading import ReadableGraph

# A read needs half of the engine: what else a method needs is imported when it is called.
if TYPE_CHECKING:
    from omnigraph.execution.embed.backfill import Backfill
    from omnigraph.execution.export.export import Export
    from omnigraph.execution.load.run import Load
    from omnigraph.execution.write.mutate import Mutation
    from omnigraph.graph.backup.progress import Progress as CopyProgress
    from omnigraph.graph.backup.run import Backup
    from omnigraph.graph.maintenance.cleanup.cleanup import Cleanup
    from omnigraph.graph.maintenance.optimize.optimize import Optimization, Progress
    from omnigraph.graph.maintenance.verify.repair_report import Repair
    from omnigraph.pipeline.jobs.stream import StreamWriter
    from omnigraph.sdk.changes import Changes
    from omnigraph.sdk.proposals.handle import Proposals


class Graph(ReadableGraph):
    """An open graph: a branch to work on, and who is working. Safe to share between threads."""

    @property
    def changes(self) -> Changes:
        """The change feed: poll it, take a baseline, apply it to another graph."""
        from omnigraph.sdk.changes import Changes

        return Changes(self)

    @property
    def proposals(self) -> Proposals:
        """What is to be merged: proposed, looked at, approved and merged."""
        from omnigraph.sdk.proposals.handle import Proposals

        return Proposals(self)

    def embed(
        self,
        *,
        branch: str | None = None,
        types: Collection[str] | None = None,
        reembed: bool = False,
        cache: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> Backfill:
        """Compute the missing vectors of `@embed` properties as one commit, or all with `reembed`.

        `types` names types or properties (`Doc.vec`); `cache` is a folder from which a run that was
        interrupted goes on.
        """
        from omnigraph.execution.embed.backfill import run_embed

        return run_embed(self, branch=branch, types=types, reembed=reembed, cache=cache, message=message)

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
        """Run a mutation query as one commit; `if_commit` names the commit that must still be the head.

        The same `idempotency_key` again answers with the first commit and changes nothing. When another
        writer changes the rows that an update or delete selects while it runs, it is evaluated anew up to
        `retry` times before it is a conflict. `metadata` is noted in the commit.
        """
        from omnigraph.execution.write.run_mutation import run_mutation

        return run_mutation(
            self,
            gq,
            params,
            name=name,
            branch=branch,
            if_commit=if_commit,
            message=message,
            idempotency_key=idempotency_key,
            retry=retry,
            metadata=metadata,
            reader=self.reader,
        )

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        engine: ReadEngine = "auto",
        timeout: float | None = None,
        if_commit: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        retry: int = 0,
        metadata: Mapping[str, str] | None = None,
        expect_mutation: bool | None = None,
    ) -> Any:
        """Run a stored query: a read gives a Result, a mutation is one commit and gives a Mutation.

        A snapshot is asked with the queries that it has. With `expect_mutation` a query of the other kind is
        refused. What only one of the kinds takes is refused for the other.
        """
        from omnigraph.sdk.queries.run import run_stored

        given = {
            "snapshot": snapshot,
            "engine": engine,
            "timeout": timeout,
            "if_commit": if_commit,
            "message": message,
            "idempotency_key": idempotency_key,
            "retry": retry,
            "metadata": metadata,
        }
        return run_stored(self, self, name, params, branch, given, expect_mutation)

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

        `patch` upserts the given properties only. With `type` the source is columns of that type (a table, a
        data frame, Parquet or CSV files), and `mapping` gives property names by column. The path of a mapping
        file as `mapping` is for rows of any columns: it says which nodes and edges they make. With
        `on_error="quarantine"` wrong records go to a file, with the reasons. The same `idempotency_key` again
        answers with the first commit and loads nothing. `metadata` is noted in the commit.
        """
        from omnigraph.execution.load.request import LoadRequest
        from omnigraph.execution.load.run import run_load

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
        return run_load(self, request, SparkEngine(self.settings))

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
    ) -> StreamWriter:
        """Return a function for `foreachBatch` of Spark: one micro-batch is one commit, and lands once.

        Without `type` the rows are graph records of any types, as JSON strings in one column. A stream with a
        new checkpoint counts its batches anew and needs another `app_id`. `rejected_to` is a folder.
        """
        from omnigraph.pipeline.jobs.stream import StreamWriter

        self.internals.check_allowed("change", self.internals.resolve_branch(branch))
        self.internals.check_writable()
        given = (type, mode, app_id, branch, mapping, on_error, rejected_to, message)
        return StreamWriter(self, SparkEngine(self.settings), *given)

    def export(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        types: Sequence[str] | None = None,
        format: ExportFormat = "ndjson",
        engine: ReadEngine = "auto",
    ) -> Export | Iterator[dict[str, Any]]:
        """Return the records of a branch or snapshot, in the load format, or write them to a target.

        In process, `ndjson` is one file and `parquet` a folder with a file for each type. On Spark both are
        folders of part files.
        """
        from omnigraph.sdk.export import run_export

        return run_export(
            self, self.internals.choose_snapshot(branch, snapshot, "export"), target, types, format, engine
        )

    def optimize(
        self, branch: str | None = None, progress: Progress | None = None, *, engine: ReadEngine = "auto"
    ) -> Optimization:
        """Join fragments, fold new rows into indexes and build declared ones, in at most one commit.

        With `engine="spark"` the files are read and written by Spark's executors; `auto` takes them for large
        graphs, when a session runs or is configured.
        """
        from omnigraph.sdk.maintenance import run_optimize

        return run_optimize(self, branch, progress, engine)

    def cleanup(
        self,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        dry_run: bool = False,
        message: str | None = None,
    ) -> Cleanup:
        """Drop old commits and remove files that nothing needs: unfinished writes, deleted branches, drops.

        A commit is dropped when it is not among the `keep` newest of a branch, and older than `older_than`
        (`7d`, a timedelta); what is not given does not count, and with neither all commits stay. The newest
        commit of every branch and what a tag names always stay.
        """
        from omnigraph.execution.run_cleanup import run_cleanup

        return run_cleanup(self, keep, older_than, dry_run, message)

    def repair(
        self, confirm: bool = False, *, scrub: bool = False, progress: Progress | None = None
    ) -> Repair:
        """Verify the whole graph and explain what is inconsistent; `confirm` fixes what needs no guess.

        With `scrub` every byte of every file is read; `progress` is called for each.
        """
        from omnigraph.sdk.maintenance import run_repair

        return run_repair(self, confirm, scrub, progress)

    def backup(
        self,
        target: str | os.PathLike[str],
        since: str | None = None,
        *,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        storage_options: Mapping[str, str] | None = None,
        progress: CopyProgress | None = None,
        reads_back: bool = True,
    ) -> Backup:
        """Copy the whole graph, or one snapshot of it, to a folder or an `s3://` address.

        Only what the target does not have yet is copied. With `since`, the id of a commit that an earlier
        backup there holds, only what came after that backup is looked at, and the rest is taken from it.
        What was copied is read back and compared, unless `reads_back` is False.
        """
        from omnigraph.sdk.backup import run_backup

        self.internals.check_allowed("admin")
        of_all = branch is None and snapshot is None
        seen = None if of_all else self.internals.choose_snapshot(branch, snapshot)
        return run_backup(self, target, since, seen, storage_options, progress, reads_back)

    def ensure_indices(
        self, branch: str | None = None, progress: Progress | None = None, *, engine: ReadEngine = "auto"
    ) -> Optimization:
        """Fold new rows into indexes and build declared ones that are missing, in at most one commit."""
        from omnigraph.sdk.maintenance import run_optimize

        return run_optimize(self, branch, progress, engine, compacts=False)
