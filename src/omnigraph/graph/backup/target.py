"""The place that backups lie in: how it is laid out, claimed and listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import (
    AccessDenied,
    AlreadyExists,
    BadInput,
    CorruptState,
    FormatTooNew,
    FormatTooOld,
    NotAGraph,
    NotFound,
)
from omnigraph.graph.backup.manifest import BACKUPS, WHOLE, Manifest, decode_manifest, manifest_path
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest.stamp import read_stamp
from omnigraph.storage.files.copying import Content
from omnigraph.storage.objects import ObjectStore, open_store

MARK = "omnigraph-backups.json"
"""Says that backups of one graph lie here; written first."""
OBJECTS = "objects"


def object_path(content: Content) -> str:
    """Return where a file lies, whatever its path in the graph is."""
    return f"{OBJECTS}/{content.digest[:2]}/{content.digest}"


@dataclass(frozen=True)
class UnreadableBackup:
    """A backup whose manifest cannot be read."""

    id: str
    path: str
    """Where its manifest lies in the target."""
    code: str
    error: str
    """What is wrong, and what can be done."""


class Target:
    """A place with backups of one graph."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store

    def claim(self, graph_id: str) -> None:
        """Make an empty place one for backups of a graph; one that holds something else is refused."""
        if self.graph_id() is None:
            self._refuse_other_content()
            mark = stored_format.encode({"graph": graph_id}, MARK)
            with suppress(AlreadyExists):  # another backup has come first
                self.store.create(MARK, mark)
            if self.graph_id() is None:
                self.store.create(MARK, mark)  # nobody has: this says what stands in the way
        found = self.graph_id()
        if found != graph_id:
            raise AlreadyExists(
                f"{self.store.root_uri} holds backups of another graph ({found}): choose another target",
                uri=self.store.root_uri,
                graph=found,
            )

    def graph_id(self) -> str | None:
        """Return the graph whose backups lie here, None when nothing says that backups do."""
        try:
            data = self.store.get(MARK)
        except NotFound:
            return None
        return stored_format.decode(data, MARK, f"the mark of {self.store.root_uri},", _graph)

    def ids(self) -> list[str]:
        """Return the ids of all complete backups, oldest first."""
        if self.graph_id() is None:
            raise NotFound(
                f"there are no backups at {self.store.root_uri}: check the address", uri=self.store.root_uri
            )
        return sorted(_id(info.path) for info in self.store.list(BACKUPS) if info.path.endswith(".json"))

    def read(self, backup: str) -> Manifest:
        """Return a complete backup's manifest."""
        path = manifest_path(backup)
        try:
            data = self.store.get(path)
        except NotFound:
            raise NotFound(
                f"there is no backup {backup!r} at {self.store.root_uri}: `omnigraph backups` lists them",
                uri=self.store.root_uri,
                backup=backup,
            ) from None
        try:
            return decode_manifest(data, path)
        except (FormatTooNew, FormatTooOld):
            raise
        except CorruptState as error:
            raise CorruptState(
                f"{path} at {self.store.root_uri} is damaged, so backup {backup} is lost: use another backup "
                "(`omnigraph backups` lists them); put a copy of the file back, or remove it",
                path=path,
                backup=backup,
                uri=self.store.root_uri,
            ) from error

    def each(self) -> Iterator[Manifest | UnreadableBackup]:
        """Yield all complete backups, newest first."""
        for backup in reversed(self.ids()):
            try:
                yield self.read(backup)
            except CorruptState as error:
                yield UnreadableBackup(backup, manifest_path(backup), error.code, error.message)

    def newest(self) -> Manifest:
        """Return the newest backup of the whole graph, or the newest of all when each holds one snapshot.

        For one that cannot be read no older one is taken.
        """
        each = self.each()
        snapshot: Manifest | None = None
        for item in each:
            if isinstance(item, UnreadableBackup):
                raise self._newest_is_unreadable_error(item, each)
            if item.scope == WHOLE:
                return item
            snapshot = snapshot or item
        if snapshot is None:
            raise NotFound(
                f"no backup at {self.store.root_uri} is complete: run the backup again",
                uri=self.store.root_uri,
            )
        return snapshot

    def _newest_is_unreadable_error(
        self, newest: UnreadableBackup, others: Iterator[Manifest | UnreadableBackup]
    ) -> CorruptState:
        older = next((item.id for item in others if isinstance(item, Manifest)), None)
        instead = f"take an older one with `--id {older}`" if older else "no other one there can be read"
        return CorruptState(
            f"the newest backup cannot be restored, {instead}: {newest.error}",
            path=newest.path,
            backup=newest.id,
            older=older,
            uri=self.store.root_uri,
        )

    def read_manifests(self, since: str | None) -> tuple[list[Manifest], list[UnreadableBackup]]:
        """Return the backups that a new one goes on from: the newest of a whole graph first.

        With `since` that is the newest one that holds this commit. Those that cannot be read are passed over.
        """
        known: list[Manifest] = []
        unreadable: list[UnreadableBackup] = []
        for item in self.each() if self.graph_id() is not None else ():
            if isinstance(item, UnreadableBackup):
                unreadable.append(item)
            elif item.scope != WHOLE:
                known += [item] if not known else []
            elif since is None or item.holds(since):
                return [item, *known], unreadable
        if since is not None:
            passed = "".join(f" (backup {item.id} cannot be read)" for item in unreadable)
            raise NotFound(
                f"no backup of the whole graph at {self.store.root_uri} holds commit {since}{passed}: "
                "back up without `since` first",
                uri=self.store.root_uri,
                commit=since,
            )
        return known, unreadable

    def objects(self) -> dict[str, int]:
        """Return the size of every file that lies here."""
        return {info.path: info.size for info in self.store.list(OBJECTS)}

    def _refuse_other_content(self) -> None:
        if next(iter(self.store.list()), None) is not None:
            raise AlreadyExists(
                f"{self.store.root_uri} is not empty and holds no backups: choose an empty place",
                uri=self.store.root_uri,
            )


def refuse_nested(store: ObjectStore, options: Mapping[str, str] | None, is_graph: bool = False) -> None:
    """Refuse a place among the files of a graph, which a cleanup might remove, or among backups.

    With `is_graph` it is to be a graph, and what is at the place itself is left to whoever makes it.
    """
    for place in _above(store.root_uri):
        if is_graph and place == store.root_uri:
            continue
        outer = open_store(place, options)
        try:
            found = _what_is_at(outer, is_inside=place != store.root_uri)
        except AccessDenied:
            continue  # who may not look there cannot tell; the place itself is looked at
        if found:
            raise BadInput(
                f"{store.root_uri} lies inside {found} at {place}: choose another address", uri=store.root_uri
            )


def refuse_among_backups(store: ObjectStore, options: Mapping[str, str] | None) -> None:
    """Refuse to make a graph in a place of backups, or below one."""
    for place in _above(store.root_uri):
        try:
            is_target = _is_target(open_store(place, options))
        except AccessDenied:
            continue  # who may not look there cannot tell
        if is_target:
            raise BadInput(
                f"{store.root_uri} lies inside a place of backups at {place}: choose another address",
                uri=store.root_uri,
            )


def _above(uri: str) -> Iterable[str]:
    """Yield an address and all those that it lies in, but for the root of everything."""
    scheme, mark, rest = uri.rpartition("://")
    parts = rest.rstrip("/").split("/")
    for count in range(len(parts), 0, -1):
        if place := "/".join(parts[:count]):
            yield f"{scheme}{mark}{place}"


def _what_is_at(store: ObjectStore, is_inside: bool) -> str | None:
    try:
        read_stamp(store)
    except NotAGraph:
        return "a place of backups" if is_inside and _is_target(store) else None
    except CorruptState:
        return "a graph"
    return "a graph"


def _is_target(store: ObjectStore) -> bool:
    try:
        return Target(store).graph_id() is not None
    except CorruptState:
        return True


def _graph(data: Mapping[str, Any]) -> str:
    return str(data["graph"])


def _id(path: str) -> str:
    return path.rsplit("/", 1)[1].removesuffix(".json")
