"""The graph that users hold: the kernel's handle, and the operations written in our languages."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.execution.backfill import Backfill, run_embed
from omnigraph.execution.compiled import compiled
from omnigraph.execution.export import Export, export_file, export_records
from omnigraph.execution.load.run import Load, run_load
from omnigraph.execution.local.views import Memory
from omnigraph.execution.mutate import Mutation
from omnigraph.execution.result import Result
from omnigraph.execution.run import run_mutation, run_query
from omnigraph.graph.handle import Graph as Handle
from omnigraph.graph.maintenance.optimize import Optimization, Progress, ensure_indices, optimize
from omnigraph.graph.snapshot import Snapshot
from omnigraph.sdk.schema import SchemaHandle


class Graph(Handle):
    """An open graph: a branch to work on, and who is working. Safe to share between threads."""

    @property
    def schema(self) -> SchemaHandle:
        """The schema of this handle's branch: read it, plan a change, apply one."""
        return SchemaHandle(self)

    @cached_property
    def _memory(self) -> Memory:
        """Arrays of tables that queries have read."""
        return Memory()

    def query(
        self,
        gq: str,
        params: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        snapshot: Snapshot | str | None = None,
        engine: str = "auto",
    ) -> Result:
        """Run a read query on a branch's head, or on a snapshot (or the id of a commit)."""
        if engine not in ("auto", "local"):
            raise BadInput(f"engine is {engine!r}: this release reads in process, with 'auto' or 'local'")
        if snapshot is not None and branch is not None:
            raise BadInput("give a branch or a snapshot, not both")
        seen = snapshot if isinstance(snapshot, Snapshot) else self.snapshot(branch, commit=snapshot)
        return run_query(self._memory, self.settings.query_rows, seen, gq, params, name)

    def prepare(self, gq: str, *, name: str | None = None) -> Callable[..., Result]:
        """Check a read query now and return a function that runs it: `p(params)`, on the newest state."""
        compiled(gq, self.schema.catalog, name, "read")

        def run(params: Mapping[str, Any] | None = None, **where: Any) -> Result:
            return self.query(gq, params, name=name, **where)

        return run

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
    ) -> Mutation:
        """Run a mutation query as one commit; `if_commit` names the commit that must still be the head."""
        return run_mutation(self, gq, params, name=name, branch=branch, if_commit=if_commit, message=message)

    def load(
        self,
        source: Any,
        *,
        mode: str,
        branch: str | None = None,
        from_branch: str | None = None,
        engine: str = "auto",
        format: str | None = None,
        mapping: Mapping[str, str] | None = None,
        type: str | None = None,
        on_error: str = "fail",
        rejected_to: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> Load:
        """Load graph records as one commit: `append` adds, `merge` upserts, `overwrite` replaces types.

        With `type` the source is columns of that type (a table, a data frame, Parquet or CSV files), and
        `mapping` gives property names by column. With `on_error="quarantine"` records that are wrong go to a
        file, with the reasons, and the others are loaded.
        """
        return run_load(
            self,
            source,
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
        )

    def export(
        self,
        target: str | os.PathLike[str] | None = None,
        *,
        branch: str | None = None,
        snapshot: Snapshot | str | None = None,
        types: Sequence[str] | None = None,
        format: str = "ndjson",
        engine: str = "auto",
    ) -> Export | Iterator[dict[str, Any]]:
        """Return the records of a branch or snapshot, in the load format, or write them to a file."""
        if format != "ndjson" or engine not in ("auto", "local"):
            raise BadInput(f"an export is 'ndjson' and made in process: not {format!r} by {engine!r}")
        seen = self._seen(branch, snapshot)
        return export_records(seen, types) if target is None else export_file(seen, target, types)

    def optimize(self, branch: str | None = None, progress: Progress | None = None) -> Optimization:
        """Join fragments, fold new rows into indexes and build declared ones, in at most one commit."""
        return optimize(self, branch, progress)

    def ensure_indices(self, branch: str | None = None, progress: Progress | None = None) -> Optimization:
        """Fold new rows into indexes and build declared ones that are missing, in at most one commit."""
        return ensure_indices(self, branch, progress)

    def _seen(self, branch: str | None, snapshot: Snapshot | str | None) -> Snapshot:
        if snapshot is not None and branch is not None:
            raise BadInput("give a branch or a snapshot, not both")
        return snapshot if isinstance(snapshot, Snapshot) else self.snapshot(branch, commit=snapshot)
