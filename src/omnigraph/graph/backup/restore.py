"""`restore`: make a graph from a backup. Its stamp comes last: until it stands there is no graph.

A restore that was overtaken by another run finds that out before its next write (`claim`). The write that was
under way then overwrites nothing of a graph that lives by now: files of tables are written as they are, and
everything else is only created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, CorruptState, NotAGraph
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.backup.claim import (
    CLAIM,
    ClaimedRoot,
    RestoreClaim,
    claim_root,
    root_taken_error,
    standing_claim,
)
from omnigraph.graph.backup.manifest import Manifest
from omnigraph.graph.backup.progress import Progress, Told
from omnigraph.graph.backup.target import Target, object_path
from omnigraph.graph.backup.verify import check_sizes
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.stamp import Stamp, read_stamp, write_stamp
from omnigraph.storage.files.copying import Content, content_of, side_by_side, transfer
from omnigraph.storage.objects import ObjectStore


@dataclass(frozen=True)
class Restored:
    """A graph that was made from a backup."""

    uri: str
    graph_id: str
    backup: str
    heads: Mapping[str, str]
    """The newest commit of every branch."""
    commits: int
    files: int
    bytes: int
    seconds: float


def restore(
    target: Target, backup: str | None, root: ObjectStore, new_id: bool, progress: Progress | None
) -> Restored:
    """Make a graph from a backup, the newest of the whole graph unless given; a cut-off one goes on."""
    started = clock.moment()
    if backup is None and (standing := standing_claim(root)) is not None:
        _refuse_newer(target, root, standing)
    manifest = target.newest() if backup is None else target.read(backup)
    lost = check_sizes(target, manifest)
    if lost:
        raise _damage_error(target, manifest, lost[0])
    claimed = claim_root(root, manifest.id, manifest.stamp.graph_id, new_id)
    stamp = replace(manifest.stamp, graph_id=claimed.claim.graph_id)
    if not _stands(claimed, stamp):
        if not claimed.claim.is_sealed:
            _Filling(target, manifest, claimed).fill(progress)
            hit(Failpoint.RESTORE_BEFORE_STAMP)
            claimed.seal()
        write_stamp(root, stamp)
        hit(Failpoint.RESTORE_AFTER_STAMP)
    root.delete(CLAIM)
    contents = manifest.objects().values()
    return Restored(
        uri=root.root_uri,
        graph_id=stamp.graph_id,
        backup=manifest.id,
        heads={branch: ref.commit for branch, ref in manifest.heads.items()},
        commits=sum(len(chain.commits) for chain in manifest.chains.values()),
        files=len(contents),
        bytes=sum(content.size for content in contents),
        seconds=started.age(),
    )


def _refuse_newer(target: Target, root: ObjectStore, standing: RestoreClaim) -> None:
    """Refuse to choose between the backup that was being restored and one that has come since."""
    newest = target.newest().id
    if newest != standing.backup:
        raise AlreadyExists(
            f"a restore of backup {standing.backup} to {root.root_uri} is unfinished, and {newest} is the "
            f"newest by now: go on with `--id {standing.backup}`, or restore the newest to an empty address",
            uri=root.root_uri,
            backup=standing.backup,
            newest=newest,
        )


def _stands(claimed: ClaimedRoot, stamp: Stamp) -> bool:
    """Return whether the graph was made already, and only the claim was left.

    This comes after the root was claimed: from then on no other run makes it a graph.
    """
    try:
        found = read_stamp(claimed.root).stamp
    except NotAGraph:
        return False
    if found.graph_id != stamp.graph_id:
        if not claimed.goes_on:
            claimed.root.delete(CLAIM)  # the graph was made between the look at the root and the claim
        raise root_taken_error(claimed.root, "there is another graph")
    return True


class _Filling:
    """Everything of a backup but the stamp, on its way to a root."""

    def __init__(self, target: Target, manifest: Manifest, claimed: ClaimedRoot) -> None:
        self._target, self._manifest, self._claimed = target, manifest, claimed
        self._root = claimed.root
        self._contents = manifest.objects()
        self._lying = {info.path: info.size for info in self._root.list()}

    def fill(self, progress: Progress | None) -> None:
        """Copy what is not there; what is there already, and is right, stays."""
        self._refuse_others()
        told = Told("restore", [content.size for content in self._contents.values()], progress)
        stores = (self._target.store, self._root)
        for content in side_by_side(stores, lambda item: self._copy(*item), self._contents.items()):
            told.advance(content.size)
        hit(Failpoint.RESTORE_AFTER_FILES)
        for path, text in self._manifest.texts.items():
            self._claimed.create(path, text.encode())
        self._check_written()
        self._leave_hints()

    def _refuse_others(self) -> None:
        hints = {layout.hint_path(incarnation) for incarnation in self._manifest.chains}
        ours = self._contents.keys() | self._manifest.texts.keys() | hints | {CLAIM}
        for path in sorted(self._lying.keys() - ours):
            self._claimed.check()
            raise root_taken_error(self._root, f"it holds {path}, which is not part of the backup")

    def _copy(self, path: str, content: Content) -> Content:
        if self._claimed.goes_on and self._is_there(path, content):
            return content
        try:
            if path in self._manifest.files:
                self._copy_file(path, content)
            else:
                self._claimed.create(path, self._sound(content))
        finally:
            hit(Failpoint.RESTORE_AFTER_FILE)
        return content

    def _is_there(self, path: str, content: Content) -> bool:
        return self._lying.get(path) == content.size and content_of(self._root, path) == content

    def _copy_file(self, path: str, expected: Content) -> None:
        """Copy a file that never changes while it is there."""

        def place(found: Content) -> str:
            self._check_sound(found, expected)
            self._claimed.check()
            return path

        transfer(self._target.store, object_path(expected), expected.size, self._root, place)

    def _sound(self, expected: Content) -> bytes:
        """Return a small object of the backup."""
        data = self._target.store.get(object_path(expected))
        self._check_sound(Content.of(data), expected)
        return data

    def _check_sound(self, found: Content, expected: Content) -> None:
        if found != expected:
            raise _damage_error(self._target, self._manifest, object_path(expected))

    def _check_written(self) -> None:
        sizes = {info.path: info.size for info in self._root.list()}
        wrong = sorted(path for path, content in self._contents.items() if sizes.get(path) != content.size)
        if wrong:
            self._claimed.check()
            raise CorruptState(
                f"{wrong[0]} at {self._root.root_uri} does not have the size that was written: "
                "check that storage",
                path=wrong[0],
            )

    def _leave_hints(self) -> None:
        chains = Chains(self._root)
        for chain in self._manifest.chains.values():
            newest = chains.record(chain.incarnation, max(chain.commits))
            self._claimed.check()
            if newest is not None:
                chains.leave_hint(newest)


def _damage_error(target: Target, manifest: Manifest, name: str) -> CorruptState:
    paths = [path for path, content in manifest.objects().items() if object_path(content) == name]
    return CorruptState(
        f"{name} at {target.store.root_uri} is missing or damaged, so backup {manifest.id} cannot be "
        f"restored (it is {paths[0] if paths else 'a file'} of the graph): restore another backup elsewhere, "
        "or remove the file and run the backup again while the graph has it",
        path=name,
        of=paths[0] if paths else None,
        backup=manifest.id,
    )
