"""`restore`, `backups` and `verify_backup`: what can be done with backups without their graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from omnigraph.base.errors import BadInput
from omnigraph.base.ids import is_ulid_prefix
from omnigraph.embedding.embedder import EmbeddingChoice
from omnigraph.graph.backup.manifest import Manifest
from omnigraph.graph.backup.progress import Progress
from omnigraph.graph.backup.restore import Restored
from omnigraph.graph.backup.restore import restore as restore_graph
from omnigraph.graph.backup.run import Backups, describe
from omnigraph.graph.backup.target import Target, UnreadableBackup, refuse_nested
from omnigraph.graph.backup.verify import Verification, verify
from omnigraph.graph.revisions import MIN_PREFIX_LETTERS
from omnigraph.sdk.backup import check_progress, open_place
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.opening import open, open_root

Address = str | os.PathLike[str]
Options = Mapping[str, str] | None


def restore(
    backup: Address,
    uri: Address,
    *,
    id: str | None = None,
    new_id: bool = False,
    actor: str | None = None,
    storage_options: Options = None,
    backup_options: Options = None,
    embedding: EmbeddingChoice = None,
    progress: Progress | None = None,
) -> Graph:
    """Make a graph from a backup (the newest there unless `id` names one) at an empty address, and open it.

    It has the same commits, branches and tags, and the same graph id unless `new_id` asks for another. A
    restore that was cut off goes on when it is called again.
    """
    run_restore(backup, uri, id, new_id, storage_options, backup_options, progress)
    return open(uri, actor=actor, storage_options=storage_options, embedding=embedding)


def run_restore(
    backup: Address,
    uri: Address,
    id: str | None = None,
    new_id: bool = False,
    storage_options: Options = None,
    backup_options: Options = None,
    progress: Progress | None = None,
) -> Restored:
    """Make a graph from a backup and return what was copied."""
    root = open_root(uri, storage_options)
    refuse_nested(root, storage_options, is_graph=True)
    target = Target(open_place(backup, backup_options))
    return restore_graph(target, _check_id(id), root, new_id, check_progress(progress))


def backups(target: Address, *, commit: str | None = None, storage_options: Options = None) -> Backups:
    """Return the complete backups at an address, oldest first; with `commit` those that hold it.

    `commit` is an id, six letters or more that it begins with, or a tag that a backup has. Those whose
    manifests cannot be read are `unreadable` of what is returned.
    """
    place = Target(open_place(target, storage_options))
    each = list(reversed(list(place.each())))
    readable = [item for item in each if isinstance(item, Manifest)]
    holding = readable if commit is None else _find_holding(readable, commit)
    found = Backups(describe(item, place.store.root_uri) for item in holding)
    found.unreadable = tuple(item for item in each if isinstance(item, UnreadableBackup))
    return found


def verify_backup(
    target: Address,
    id: str | None = None,
    *,
    storage_options: Options = None,
    progress: Progress | None = None,
) -> Verification:
    """Read every file of a backup, or of all at an address, and report which are missing or damaged."""
    place = Target(open_place(target, storage_options))
    return verify(place, _check_id(id), check_progress(progress))


def _find_holding(manifests: Sequence[Manifest], name: str) -> list[Manifest]:
    """Return the backups that hold the commit of this name."""
    if not isinstance(name, str) or not name.strip():
        raise _unknown_commit(name)
    tags = (item.find_tagged(name.strip()) for item in manifests)
    found = {commit for commit in tags if commit is not None}
    beginning = name.strip().upper()
    if not found:
        if len(beginning) < MIN_PREFIX_LETTERS or not is_ulid_prefix(beginning):
            raise _unknown_commit(name)
        every = (held.commit for item in manifests for _, held in item.commits)
        found = {commit for commit in every if commit.startswith(beginning)}
    if len(found) > 1:
        raise BadInput(
            f"{name!r} stands for {len(found)} commits of these backups, {min(found)} among them: give an id",
            commit=name,
        )
    return [item for item in manifests if any(item.holds(commit) for commit in found)]


def _unknown_commit(name: object) -> BadInput:
    return BadInput(
        f"commit is {name!r}: give an id, its first {MIN_PREFIX_LETTERS} letters or more, or a tag that a "
        "backup has; what a branch or main~2 stands for is not the same in all of them",
        commit=name,
    )


def _check_id(id: str | None) -> str | None:
    if id is not None and not (isinstance(id, str) and id.isalnum()):
        raise BadInput(f"id is {id!r}: it must be the id of a backup", id=id)
    return id
