"""Backups as the public API offers them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from omnigraph.base.errors import BadInput
from omnigraph.base.ids import is_ulid
from omnigraph.graph.backup.progress import Progress
from omnigraph.graph.backup.run import Backup, BackupRequest, backup
from omnigraph.graph.backup.target import Target, refuse_nested
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.objects import ObjectStore, open_store

_S3 = "s3://"


def run_backup(
    graph: Graph,
    target: str | os.PathLike[str],
    since: str | None,
    snapshot: Snapshot | None,
    options: Mapping[str, str] | None,
    progress: Progress | None,
    reads_back: bool,
) -> Backup:
    """Back up a graph, or one snapshot of it; a handle for reading writes nothing to the graph."""
    if since is not None and snapshot is not None:
        raise BadInput("`since` is for a backup of the whole graph: leave out the branch or snapshot")
    graph.internals.check_sees_all_branches("a backup")
    if since is not None:
        since = _find_since(graph, since)
    options = _options(graph, target) if options is None else options
    place = open_place(target, options)
    refuse_nested(place, options)
    request = BackupRequest(
        snapshot=snapshot.record if snapshot is not None else None,
        since=since,
        actor=graph.actor,
        holds=not graph.read_only,
        reads_back=reads_back,
        progress=check_progress(progress),
    )
    return backup(graph.internals.whole.truth, graph.settings, Target(place), request)


def _find_since(graph: Graph, since: str) -> str:
    """Return the id of a commit, which the graph need not have any more when it is given whole."""
    if not isinstance(since, str):
        raise BadInput(f"since is {since!r}: it must stand for a commit", since=since)
    return since.upper() if is_ulid(since.upper()) else graph.snapshot(commit=since).commit_id


def open_place(address: str | os.PathLike[str], options: Mapping[str, str] | None) -> ObjectStore:
    """Return the object store of an address for backups."""
    if not isinstance(address, str | os.PathLike) or not isinstance(text := os.fspath(address), str):
        raise BadInput(f"{address!r} is not an address for backups: use a path, file:// or s3://")
    if not isinstance(options, Mapping | None):
        raise BadInput(f"storage options are {type(options).__name__}: use a dictionary of strings")
    store = open_store(text, options)
    if store.scheme == "memory":
        raise BadInput(f"{text!r}: a backup cannot be stored in memory: use a folder or s3://", uri=text)
    return store


def check_progress(progress: Progress | None) -> Progress | None:
    """Return the progress callback, or refuse what cannot be called."""
    if progress is not None and not callable(progress):
        raise BadInput(
            f"progress is {progress!r}: give a function of three arguments: the step, bytes, total bytes"
        )
    return progress


def _options(graph: Graph, target: str | os.PathLike[str]) -> Mapping[str, str]:
    """Return the default storage options of a bucket: the graph's own."""
    return graph.storage_options if str(target).startswith(_S3) else {}
