"""`optimize` and `ensure_indices`: optimize all tables of a branch, in at most one maintenance commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from omnigraph.base import clock
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.committer import Committer
from omnigraph.graph.maintenance.optimize.executor import LocalMaintenance, MaintenanceExecutor
from omnigraph.graph.maintenance.optimize.optimize_table import (
    OptimizedTable,
    TableOptimization,
    optimize_table,
    reuse_attempt,
)
from omnigraph.graph.maintenance.optimize.wanted_indexes import PendingIndex
from omnigraph.graph.manifest.record import CommitClass, TableEntry
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.write.parallel import side_by_side
from omnigraph.graph.write.write_state import WriteBase

Progress = Callable[[str, int, int], None]
"""Called with a table's key, how many tables are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Optimization:
    """What was done, and the commit that published it; no commit when there was nothing to do."""

    commit_id: str | None
    tables: tuple[TableOptimization, ...]
    seconds: float
    engine: str = "local"
    engine_reason: str = ""

    @property
    def pending_indexes(self) -> tuple[PendingIndex, ...]:
        """The declared indexes that could not be built yet."""
        return tuple(item for table in self.tables for item in table.pending_indexes)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return {
            "commit": self.commit_id,
            "tables": [table.to_json() for table in self.tables],
            "pending_indexes": [item.to_json() for item in self.pending_indexes],
            "engine": self.engine,
            "engine_reason": self.engine_reason,
            "seconds": round(self.seconds, 3),
        }


def optimize(
    graph: Committer,
    branch: str | None = None,
    progress: Progress | None = None,
    executor: MaintenanceExecutor | None = None,
) -> Optimization:
    """Join fragments, fold new rows into indexes and build missing ones."""
    return _run(graph, "optimize", True, branch, progress, executor)


def ensure_indices(
    graph: Committer,
    branch: str | None = None,
    progress: Progress | None = None,
    executor: MaintenanceExecutor | None = None,
) -> Optimization:
    """Fold new rows into indexes and build missing ones."""
    return _run(graph, "ensure_indices", False, branch, progress, executor)


def _run(
    graph: Committer,
    operation: str,
    compacts: bool,
    branch: str | None,
    progress: Progress | None,
    executor: MaintenanceExecutor | None,
) -> Optimization:
    begun = clock.current().monotonic()
    concurrency = graph.settings.maintenance_concurrency
    work = Optimize(operation, graph.schemas, compacts, concurrency, progress, executor or LocalMaintenance())
    published = graph.commit_work(work, branch, durable=True)
    seconds = clock.current().monotonic() - begun
    return Optimization(published.commit if published else None, tuple(work.tables), seconds)


class Optimize:
    """Work for `commit`: content stays, files and indexes change.

    A lost race costs little. Tables that nobody has changed keep what was staged for them, and indexes that
    were built are put on the newer version where what they cover is still there. Joined fragments are all
    that a racing writer can undo, so a table that is written all the time is left in its fragments.
    """

    commit_class = CommitClass.MAINTENANCE
    repeatable = True

    def __init__(
        self,
        operation: str,
        schemas: Schemas,
        compacts: bool,
        concurrency: int,
        progress: Progress | None,
        executor: MaintenanceExecutor,
    ) -> None:
        """Take the word for the commit, how many tables may be worked on at once, and who does the work."""
        self.operation = operation
        self._schemas = schemas
        self._compacts = compacts
        self._concurrency = max(1, concurrency)
        self._progress = progress
        self._executor = executor
        self._done: dict[str, OptimizedTable] = {}
        self._lock = Lock()

    @property
    def tables(self) -> list[TableOptimization]:
        """What was done, sorted by table key."""
        return [self._done[key].done for key in sorted(self._done)]

    def stage(self, base: WriteBase) -> None:
        """Write nothing ahead: what to do depends on the state."""

    def apply(self, base: WriteBase) -> None:
        """Optimize every table of the schema."""
        earlier, self._done = self._done, {}
        types = self._schemas.get(base.state.head.schema).catalog.tables
        entries = base.state.head.by_key()
        steps = [
            partial(self._step, base, type_, entries[type_.table_key], earlier, len(types)) for type_ in types
        ]
        for first in range(0, len(steps), self._concurrency):
            side_by_side(steps[first : first + self._concurrency])
        for type_ in types:
            if self._done[type_.table_key].done.committed:
                columns = columns_to_count(type_)
                base.note_distinct(type_.table_key, base.table(type_.table_key).estimate_distinct(columns))

    def _step(
        self,
        base: WriteBase,
        type_: TableType,
        entry: TableEntry,
        earlier: dict[str, OptimizedTable],
        total: int,
    ) -> None:
        lost = earlier.get(entry.key)
        done = reuse_attempt(base, entry, lost) if lost is not None else None
        if done is None:
            done = optimize_table(base, type_, entry, self._compacts, lost, self._executor)
        with self._lock:
            self._done[entry.key] = done
            if self._progress is not None:
                self._progress(entry.key, len(self._done), total)


def columns_to_count(type_: TableType) -> list[str]:
    """Return the columns whose number of values the schema does not tell."""
    alone = {names[0] for names in (type_.key or (), *type_.uniques) if len(names) == 1}
    return [
        item.name
        for item in type_.properties
        if item.type.is_plain
        and not item.type.enum
        and item.type.scalar is not Scalar.BOOL
        and item.name not in alone
    ]
