"""Applying a plan's changes again on top of tables that maintenance has rewritten since."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.publish.plan import ExpectedTable, PublishPlan, WrittenTable
from omnigraph.storage.namespace import PinnedTable, SnapshotNamespace, WriteAttempt
from omnigraph.storage.tables.staging import StagedTable
from omnigraph.storage.versions.changes import rows_changed
from omnigraph.storage.versions.durability import sync_staged

_BEFORE, _AFTER = "before", "after"


def restage(truth: Truth, plan: PublishPlan, state: BranchState) -> PublishPlan | None:
    """Return the plan with its row changes staged on the newest files; None when that cannot be done.

    Publishing what was staged on the older files would be right in content, but would drop the maintenance
    and give a table a version number that it has had (A8).
    """
    if plan.commit_class is CommitClass.MAINTENANCE or plan.schema or plan.drops or plan.queries is not None:
        return None
    head = state.head.tables
    attempt = WriteAttempt(truth.store, {entry.key: entry.pinned for entry in head.values()})
    writes, reads = dict(plan.writes), dict(plan.reads)
    for identity, expected in plan.reads.items():
        entry = head.get(identity)
        if entry is None or entry.changed_by != expected.changed_by:
            return None
        reads[identity] = ExpectedTable.of(entry)
        if identity in writes and not writes[identity].elsewhere and entry.pin.path != expected.path:
            again = _apply(truth, attempt, writes[identity], expected)
            if again is None:
                return None
            writes[identity] = again
    sync_staged(truth.store, attempt)
    return replace(plan, reads=reads, writes=writes, base=state.head.ref)


def _apply(
    truth: Truth, attempt: WriteAttempt, written: WrittenTable, expected: ExpectedTable
) -> WrittenTable | None:
    store = truth.store
    versions = SnapshotNamespace(
        store.root_uri,
        store.lance_options(),
        {
            _BEFORE: PinnedTable(written.location, expected.pin),
            _AFTER: PinnedTable(written.location, written.pin),
        },
    )
    changes = rows_changed(versions, _BEFORE, _AFTER)
    if changes is None:
        return None
    table = StagedTable(attempt, expected.key)
    if changes.rows.num_rows:
        table.merge(changes.rows)
    if changes.gone:
        table.delete(changes.gone)
    if expected.key not in attempt.staged_pins():
        return None
    size = table.state
    return WrittenTable(written.key, written.location, table.seal(), size.rows, size.fragments)
