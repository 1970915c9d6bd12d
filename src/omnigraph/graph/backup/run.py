"""`backup`: copy what the target does not have yet, verify it, and write the manifest last."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from omnigraph.base import clock
from omnigraph.base.errors import Contention, CorruptState, NotFound
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.base.settings import Settings
from omnigraph.graph.backup.holds import Holds, release_abandoned
from omnigraph.graph.backup.keys import SeenKeys
from omnigraph.graph.backup.manifest import WHOLE, Manifest, manifest_path
from omnigraph.graph.backup.plan import (
    Copied,
    Folders,
    KnownContents,
    control_objects,
    files_of_version,
    manifest_of,
    new_versions,
    paths_held_before,
    record_contents,
    to_hold,
)
from omnigraph.graph.backup.progress import Progress, Told
from omnigraph.graph.backup.seen_chains import ChangedMeanwhile
from omnigraph.graph.backup.target import Target, UnreadableBackup, object_path
from omnigraph.graph.backup.verify import check_sizes, find_damaged
from omnigraph.graph.backup.view import View, find_dropped, view_of_graph, view_of_snapshot
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord, TableEntry
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.publish.table_files import table_files
from omnigraph.storage.files.copying import Content, side_by_side, transfer
from omnigraph.storage.objects.lost_answers import put_over

_MAX_VIEWS = 8
_log = logging.getLogger("omnigraph")
_TABLE_FOLDERS = ("nodes", "edges")


@dataclass(frozen=True)
class Backup:
    """A complete backup, and what it took to make it."""

    id: str
    uri: str
    """Where it lies."""
    scope: str
    """`graph` or `snapshot`."""
    created_at: datetime
    heads: Mapping[str, str]
    """The newest commit of every branch."""
    commits: int
    files: int
    """How many files it holds: of tables, commits and schemas."""
    bytes: int
    since: str | None = None
    actor: str | None = None
    files_copied: int = 0
    bytes_copied: int = 0
    """How much the target did not have yet."""
    seconds: float = 0.0
    unreadable: tuple[UnreadableBackup, ...] = ()
    """Earlier backups that this one could not go on from."""


class Backups(list[Backup]):
    """The backups at a place, oldest first."""

    unreadable: tuple[UnreadableBackup, ...] = ()
    """Those whose manifests cannot be read; they are not among the others."""


@dataclass(frozen=True)
class BackupRequest:
    """What is to be backed up, and how."""

    snapshot: CommitRecord | None = None
    """One commit, or the whole graph."""
    since: str | None = None
    actor: str | None = None
    holds: bool = True
    """Whether to keep cleanups from what is copied, which writes to the graph."""
    reads_back: bool = True
    """Whether what was copied is read again and compared."""
    progress: Progress | None = None


def describe(manifest: Manifest, uri: str) -> Backup:
    """Return a backup as users see it."""
    contents = manifest.objects().values()
    return Backup(
        id=manifest.id,
        uri=uri,
        scope=manifest.scope,
        created_at=datetime.fromtimestamp(manifest.created_at / 1e6, UTC),
        heads={branch: ref.commit for branch, ref in manifest.heads.items()},
        commits=sum(len(chain.commits) for chain in manifest.chains.values()),
        files=len(contents),
        bytes=sum(content.size for content in contents),
        since=manifest.since,
        actor=manifest.actor,
    )


def backup(truth: Truth, settings: Settings, target: Target, request: BackupRequest) -> Backup:
    """Make a backup; what an earlier or a killed one has copied is not copied again."""
    started = clock.moment()
    target.claim(truth.stamp.graph_id)
    run = _BackupRun(truth, target, request)
    for item in run.unreadable:
        _log.warning("the backup does not build on an earlier one that cannot be read: %s", item.error)
    if not request.holds:
        manifest = run.run()
    else:
        release_abandoned(truth, settings.backup_hold_seconds)
        try:
            manifest = run.run()
        finally:
            run.holds.release()
    done = describe(manifest, target.store.root_uri)
    return replace(
        done,
        files_copied=run.files_copied,
        bytes_copied=run.bytes_copied,
        seconds=started.age(),
        unreadable=tuple(run.unreadable),
    )


class _BackupRun:
    """One backup in progress."""

    def __init__(self, truth: Truth, target: Target, request: BackupRequest) -> None:
        self.truth, self.target, self.request = truth, target, request
        self.id = new_ulid()
        self.holds = Holds(truth, self.id, request.actor)
        self.lock = threading.Lock()
        self.files_copied = self.bytes_copied = 0
        manifests, self.unreadable = target.read_manifests(request.since)
        self.base = next((item for item in manifests if item.scope == WHOLE), None)
        self.known = KnownContents.of(reversed(manifests))
        self.lying = target.objects()
        """What lies in the target, by path; content that this run has put there is added."""
        self.contents = {
            path: content for path, content in self.known.contents.items() if self._lies(content)
        }
        """What the files of the graph are that lie in the target, by their path in the graph."""
        self.unproven: dict[str, Content] = {}
        """What lies there that no complete backup vouches for, by path."""

    def run(self) -> Manifest:
        """Look, hold, copy, look again; then verify and write the manifest."""
        for _ in range(_MAX_VIEWS):
            try:
                manifest = self._attempt()
            except ChangedMeanwhile:
                continue
            break
        else:
            raise Contention(
                "branches of this graph change, or are cleaned up, too fast to be backed up: try again"
            )
        self._verify(manifest)
        hit(Failpoint.BACKUP_BEFORE_MANIFEST)
        put_over(
            self.target.store, manifest_path(manifest.id), manifest.encode(), None
        )  # nobody else has its id
        hit(Failpoint.BACKUP_AFTER_MANIFEST)
        return manifest

    def _attempt(self) -> Manifest:
        keys = SeenKeys(self.truth) if self.request.snapshot is None else None
        view = self._view()
        needed = to_hold(view)
        if self.request.holds and self.holds.add(needed):
            raise ChangedMeanwhile
        hit(Failpoint.BACKUP_AFTER_VIEW)
        copied = self._copy(view)
        hit(Failpoint.BACKUP_AFTER_FILES)
        dropped, floors = find_dropped(self.truth, view.places())
        if any((record.incarnation, record.seq) in dropped for record in needed):
            raise ChangedMeanwhile
        draft = Manifest(
            id=self.id,
            created_at=clock.current().now_us(),
            actor=self.request.actor,
            scope=view.scope,
            stamp=view.stamp,
            heads={},
            chains={},
            schemas={},
            files={},
            versions={},
            texts={},
            since=self.request.since,
        )
        manifest = manifest_of(draft, view, dropped, floors, copied)
        if any(not manifest.has(ref) for ref in view.standing()):
            raise ChangedMeanwhile
        return replace(manifest, keys=self._keys(manifest, view, keys))

    def _keys(self, manifest: Manifest, view: View, seen: SeenKeys | None) -> dict[str, Content]:
        """Return the claims of idempotency keys that belong to a backup, which are in the target then."""
        if seen is None:
            return {}
        held = {held.commit for _, held in manifest.commits}
        # Who has proposed something under a key gets that proposal again.
        held.update(layout.proposal_of(path) for path in view.notes if path.startswith(layout.PROPOSALS))
        claims = seen.part_of(held, {record.commit for record in view.fresh().values()})
        return {path: self._put(path, data) for path, data in claims.items()}

    def _put(self, path: str, data: bytes) -> Content:
        """Put a small object of the graph into the target."""
        content = Content.of(data)
        if self.known.contents.get(path) == content and self._lies(content):
            return content
        if not self._lies(content):
            self.target.store.put(object_path(content), data)
        self._count(content)
        return content

    def _view(self) -> View:
        if self.request.snapshot is not None:
            return view_of_snapshot(self.truth, self.request.snapshot)
        return view_of_graph(self.truth, self.base, keeps_all=self.request.since is not None)

    def _copy(self, view: View) -> Copied:
        versions, paths, missing = self._versions(view)
        paths.update(control_objects(view))
        for path, record in record_contents(view).items():
            if self.contents.get(path, record) != record:
                del self.contents[path]  # a graph that was restored has another commit in this place
        paths.update({path: 0 for path in paths_held_before(view, self.known) if path not in self.contents})
        waiting = {path: size for path, size in paths.items() if path not in self.contents}
        told = Told("copy", waiting.values(), self.request.progress)
        stores = (self.truth.store, self.target.store)
        for path, content in side_by_side(stores, lambda item: self._copy_one(*item), waiting.items()):
            told.advance(waiting[path])
            if content is None:
                missing.add(path)
            else:
                self.contents[path] = content
        return Copied({**self.known.versions, **versions}, self.contents, missing)

    def _versions(self, view: View) -> tuple[dict[str, frozenset[str]], dict[str, int], set[str]]:
        """Return the files of every new version, the sizes of these files, and what is missing."""
        entries = new_versions(view, self.known)
        if not entries:
            return {}, {}, set()
        folders = Folders.of(info for kind in _TABLE_FOLDERS for info in self.truth.store.list(kind))
        versions: dict[str, frozenset[str]] = {}
        missing: set[str] = set()

        def look(item: tuple[str, TableEntry]) -> tuple[str, frozenset[str] | None]:
            pin, entry = item
            try:
                found = table_files(self.truth.store, entry.key, entry.pinned)
            except NotFound:
                return pin, None
            return pin, files_of_version(found, entry.location, folders)

        for pin, files in side_by_side([self.truth.store], look, entries.items()):
            if files is None:
                missing.add(pin)
            else:
                versions[pin] = files
        wanted = {path for files in versions.values() for path in files}
        missing |= {path for path in wanted if path not in folders.sizes}
        return versions, {path: folders.sizes[path] for path in wanted - missing}, missing

    def _copy_one(self, path: str, size: int) -> tuple[str, Content | None]:
        def place(content: Content) -> str | None:
            return None if self._lies(content) else object_path(content)

        try:
            content = transfer(self.truth.store, path, size, self.target.store, place)
        except NotFound:
            return path, None
        self._count(content)
        hit(Failpoint.BACKUP_AFTER_FILE)
        return path, content

    def _count(self, content: Content) -> None:
        """Note that a file lies in the target now."""
        with self.lock:
            if not self._lies(content):
                self.lying[object_path(content)] = content.size
                self.files_copied += 1
                self.bytes_copied += content.size
            self.unproven[object_path(content)] = content

    def _lies(self, content: Content) -> bool:
        return self.lying.get(object_path(content)) == content.size

    def _verify(self, manifest: Manifest) -> None:
        """Compare sizes of everything, and read back what no complete backup vouches for yet."""
        lost = check_sizes(self.target, manifest)
        told = Told("verify", [item.size for item in self.unproven.values()], self.request.progress)
        if not lost and self.request.reads_back:
            lost = find_damaged(self.target, self.unproven, told.advance)
        if lost:
            raise CorruptState(
                f"{lost[0]} at {self.target.store.root_uri} is not what was copied: check that storage, "
                "remove the file and run the backup again",
                path=lost[0],
                paths=lost,
            )
