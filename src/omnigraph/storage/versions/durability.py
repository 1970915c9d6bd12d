"""Making table versions survive a power cut before a commit record names them.

Lance writes data files, deletions, indexes, transactions and manifests, and flushes none of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.storage.namespace import PinnedTable, WriteAttempt
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.versions.introduced import find_introduced


def sync_versions(store: ObjectStore, tables: Iterable[tuple[PinnedTable | None, PinnedTable]]) -> None:
    """Flush every file that a version (the second) brings which the one that it follows does not have.

    All files and folders of one commit are flushed together. Files that other processes have written, such
    as Spark's workers on the same disk, are flushed as well.
    """
    if not store.flushes:
        return
    store.sync([path for before, after in tables for path in find_introduced(store, before, after)])


def sync_staged(store: ObjectStore, attempt: WriteAttempt) -> None:
    """Flush every version that a write attempt would publish."""
    if store.flushes:
        newest = attempt.newest()
        sync_versions(store, [(attempt.pinned_table(key), newest[key]) for key in attempt.staged_pins()])
