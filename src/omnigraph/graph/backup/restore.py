"""`restore`: make a graph from a backup. Its stamp comes last: until it stands there is no graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import AlreadyExists, CorruptState, NotAGraph, NotFound
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.graph.backup.manifest import Manifest
from omnigraph.graph.backup.progress import Progress, Told
from omnigraph.graph.backup.target import Target, object_path
from omnigraph.graph.backup.verify import check_sizes
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.stamp import Stamp, read_stamp, write_stamp
from omnigraph.storage.copying import Content, content_of, side_by_side, transfer
from omnigraph.storage.objects import ObjectStore

CLAIM = "__restore.json"
"""Says which backup is being restored to a root; gone when it is done."""


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


@dataclass(frozen=True, slots=True)
class _Claim:
    """Which backup is being restored, and the id that the graph will have."""

    backup: str
    graph_id: str

    def encode(self) -> bytes:
        """Return the claim as stored."""
        return stored_format.encode({"backup": self.backup, "graph": self.graph_id}, CLAIM)


def restore(
    target: Target, backup: str | None, root: ObjectStore, new_id: bool, progress: Progress | None
) -> Restored:
    """Make a graph from a backup, the newest unless given; a restore that was cut off goes on."""
    started = clock.moment()
    if backup is None and (standing := _standing(root)) is not None:
        backup = standing.backup  # there may be newer ones by now
    manifest = target.newest(backup)
    lost = check_sizes(target, manifest)
    if lost:
        raise _damaged(target, manifest, lost[0])
    graph_id = new_ulid() if new_id else manifest.stamp.graph_id
    claim, goes_on = _claimed(root, _Claim(manifest.id, graph_id), new_id)
    stamp = replace(manifest.stamp, graph_id=claim.graph_id)
    if not _stands(root, stamp):
        _fill(target, manifest, root, goes_on, progress)
        hit(Failpoint.RESTORE_BEFORE_STAMP)
        write_stamp(root, stamp)
        hit(Failpoint.RESTORE_AFTER_STAMP)
    root.delete(CLAIM)
    contents = manifest.objects().values()
    return Restored(
        uri=root.root_uri,
        graph_id=claim.graph_id,
        backup=manifest.id,
        heads={branch: ref.commit for branch, ref in manifest.heads.items()},
        commits=sum(len(chain.commits) for chain in manifest.chains.values()),
        files=len(contents),
        bytes=sum(content.size for content in contents),
        seconds=started.age(),
    )


def _claimed(root: ObjectStore, claim: _Claim, new_id: bool) -> tuple[_Claim, bool]:
    """Claim an empty root, or go on with the restore that has claimed it; say which of the two it is."""
    standing = _standing(root)
    if standing is None:
        if next(iter(root.list()), None) is not None:
            raise _taken(root, "it is not empty")
        try:
            root.create(CLAIM, claim.encode())
            return claim, False
        except AlreadyExists:
            standing = _standing(root)  # another process restores to the same root
    if standing is None or standing.backup != claim.backup:
        raise _taken(root, "another backup is being restored there")
    if not new_id and standing.graph_id != claim.graph_id:
        raise _taken(root, "a restore with a new id is unfinished there: go on with it, with `new_id`")
    return standing, True


def _standing(root: ObjectStore) -> _Claim | None:
    try:
        data = root.get(CLAIM)
    except NotFound:
        return None
    return stored_format.decode(data, CLAIM, f"the claim of {root.root_uri},", _claim)


def _claim(data: Mapping[str, Any]) -> _Claim:
    return _Claim(data["backup"], data["graph"])


def _stands(root: ObjectStore, stamp: Stamp) -> bool:
    """Say whether the graph was made already, and only the claim was left."""
    try:
        found = read_stamp(root).stamp
    except NotAGraph:
        return False
    if found.graph_id != stamp.graph_id:
        raise _taken(root, "there is another graph")
    return True


def _fill(
    target: Target, manifest: Manifest, root: ObjectStore, goes_on: bool, progress: Progress | None
) -> None:
    """Copy everything but the stamp; what is there already, and is right, stays."""
    contents = manifest.objects()
    lying = {info.path: info.size for info in root.list()}
    hints = {layout.hint_path(incarnation) for incarnation in manifest.chains}
    for path in lying.keys() - contents.keys() - manifest.texts.keys() - hints - {CLAIM}:
        raise _taken(root, f"it holds {path}, which is not part of the backup")
    told = Told("restore", [content.size for content in contents.values()], progress)

    def copy(item: tuple[str, Content]) -> Content:
        path, expected = item
        if goes_on and lying.get(path) == expected.size and content_of(root, path) == expected:
            return expected

        def place(found: Content) -> str:
            if found != expected:
                raise _damaged(target, manifest, object_path(expected))
            return path

        try:
            return transfer(target.store, object_path(expected), expected.size, root, place)
        finally:
            hit(Failpoint.RESTORE_AFTER_FILE)

    for content in side_by_side((target.store, root), copy, contents.items()):
        told.advance(content.size)
    hit(Failpoint.RESTORE_AFTER_FILES)
    for path, text in manifest.texts.items():
        root.put(path, text.encode())
    _check_written(root, contents)
    chains = Chains(root)
    for chain in manifest.chains.values():
        if (newest := chains.record(chain.incarnation, max(chain.commits))) is not None:
            chains.leave_hint(newest)


def _check_written(root: ObjectStore, contents: Mapping[str, Content]) -> None:
    sizes = {info.path: info.size for info in root.list()}
    wrong = sorted(path for path, content in contents.items() if sizes.get(path) != content.size)
    if wrong:
        raise CorruptState(
            f"{wrong[0]} at {root.root_uri} does not have the size that was written: check that storage",
            path=wrong[0],
        )


def _damaged(target: Target, manifest: Manifest, name: str) -> CorruptState:
    paths = [path for path, content in manifest.objects().items() if object_path(content) == name]
    return CorruptState(
        f"{name} at {target.store.root_uri} is missing or damaged, so backup {manifest.id} cannot be "
        f"restored (it is {paths[0] if paths else 'a file'} of the graph): restore another backup, or remove "
        "the file and run the backup again while the graph has it",
        path=name,
        of=paths[0] if paths else None,
        backup=manifest.id,
    )


def _taken(root: ObjectStore, why: str) -> AlreadyExists:
    return AlreadyExists(
        f"{root.root_uri} cannot take a graph: {why}; choose an empty address", uri=root.root_uri
    )
