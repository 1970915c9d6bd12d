"""The files of one version of a table: what cleanup keeps, and what a commit relies on that names it."""

from __future__ import annotations

from omnigraph.storage.namespace import PinnedTable, SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.versions.reachable import TableFiles, files_of


def table_files(store: ObjectStore, key: str, table: PinnedTable) -> TableFiles:
    """Return the files of one table version."""
    return files_of(store, open_pinned(store, key, table), key)


def open_pinned(store: ObjectStore, key: str, table: PinnedTable) -> SnapshotNamespace:
    """Return a namespace of one table version alone."""
    return SnapshotNamespace(store.root_uri, store.lance_options(), {key: table})
