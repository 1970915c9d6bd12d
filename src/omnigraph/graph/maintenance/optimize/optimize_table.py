"""Optimize one table in one attempt: new rows folded into indexes, fragments joined, indexes built."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from omnigraph.base.errors import OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.plain import to_full_object
from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.maintenance.optimize.executor import MaintenanceExecutor
from omnigraph.graph.maintenance.optimize.wanted_indexes import (
    IndexPlan,
    PendingIndex,
    WantedIndex,
    plan_indexes,
)
from omnigraph.graph.manifest.record import TableEntry
from omnigraph.graph.write.compact_on_write import TIERS
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.indexes.indexes import IndexChanges
from omnigraph.storage.namespace import Pin

_log = logging.getLogger("omnigraph")

BUSY = "other writers kept changing the table, so its fragments were left as they are"


@dataclass(frozen=True, slots=True)
class TableOptimization:
    """What was done to one table."""

    type_key: str
    fragments_removed: int = 0
    fragments_added: int = 0
    built: tuple[WantedIndex, ...] = ()
    folded: tuple[WantedIndex, ...] = ()
    pending_indexes: tuple[PendingIndex, ...] = ()
    skipped: str | None = None
    """Why fragments were not joined, if they were not."""
    committed: bool = False
    """Whether the table has a new version."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return to_full_object(self)


@dataclass(frozen=True, slots=True)
class OptimizedTable:
    """What an attempt made of a table, so that an attempt after a lost race can use it again."""

    on: Pin
    done: TableOptimization
    staged: Mapping[int, Pin]
    indexes: IndexChanges = field(default_factory=IndexChanges)


def reuse_attempt(base: WriteBase, entry: TableEntry, earlier: OptimizedTable) -> OptimizedTable | None:
    """Stage again what was staged for a table, when it is as it was; None when it has changed."""
    if earlier.on != entry.pin:
        return None
    if earlier.staged:
        base.rely_on(entry.key)
        base.undo(entry.key, earlier.staged)
    return earlier


def optimize_table(
    base: WriteBase,
    type_: TableType,
    entry: TableEntry,
    compacts: bool,
    lost: OptimizedTable | None,
    executor: MaintenanceExecutor,
) -> OptimizedTable:
    """Do what a table needs. After a lost race its fragments are left alone: that can be lost once more."""
    work = _TableWork(base, type_, entry, executor)
    # Fragments that an index covers are never joined with others, so folding comes before joining.
    if lost is None or not work.put_again(lost):
        work.fold()
        if compacts and lost is None:
            work.compact()
        work.build()
    staged = base.savepoint(entry.key)
    if not staged:
        base.release(entry.key)
    busy = BUSY if compacts and lost is not None else None
    return OptimizedTable(
        entry.pin, replace(work.done, committed=bool(staged), skipped=busy), staged, work.changes
    )


class _TableWork:
    def __init__(
        self, base: WriteBase, type_: TableType, entry: TableEntry, executor: MaintenanceExecutor
    ) -> None:
        self._base, self._key, self._executor = base, entry.key, executor
        self._type, self._rows = type_, entry.rows
        self.done = TableOptimization(entry.key)
        self.changes = IndexChanges()

    def put_again(self, lost: OptimizedTable) -> bool:
        """Put the indexes of an earlier attempt on the table as it is now, if they are right there."""
        if not lost.indexes.added or not self._base.table(self._key).put_indexes(lost.indexes):
            return False
        self.changes = lost.indexes
        self.done = replace(lost.done, fragments_removed=0, fragments_added=0)
        return True

    def fold(self) -> None:
        """Fold new rows into the indexes that do not know them."""
        stale = self._plan().fold
        if stale:
            folded_in = self._executor.fold(self._base, self._key, [item.name for item in stale])
            self.changes = self.changes.then(folded_in)
            folded = tuple(WantedIndex(item.column, item.kind) for item in stale)
            self.done = replace(self.done, folded=folded)
            hit(Failpoint.MAINTENANCE_AFTER_FOLD)

    def compact(self) -> None:
        """Join small fragments, and rewrite those of which much was deleted."""
        removed, added = self._executor.compact(self._base, self._key, TIERS[-1])
        if removed:
            self.done = replace(self.done, fragments_removed=removed, fragments_added=added)
            hit(Failpoint.MAINTENANCE_AFTER_COMPACT)

    def build(self) -> None:
        """Build what is declared and missing; one that cannot be built keeps nobody from the others."""
        plan = self._plan()
        self.done = replace(self.done, pending_indexes=plan.pending)
        built = self._executor.build(self._base, self._key, plan.build)
        for wanted, outcome in zip(plan.build, built, strict=True):
            if isinstance(outcome, OmniError):
                _log.warning("the index of %s.%s is left for later: %s", self._key, wanted.column, outcome)
                self._leave(PendingIndex(self._key, wanted.column, outcome.message))
                continue
            self.changes = self.changes.then(outcome)
            self.done = replace(self.done, built=(*self.done.built, wanted))
            hit(Failpoint.MAINTENANCE_AFTER_INDEX)

    def _leave(self, pending: PendingIndex) -> None:
        self.done = replace(self.done, pending_indexes=(*self.done.pending_indexes, pending))

    def _plan(self) -> IndexPlan:
        count = partial(self._executor.count_vectors, self._base, self._key)
        return plan_indexes(self._type, self._base.table(self._key).indexes(), self._rows, count)
