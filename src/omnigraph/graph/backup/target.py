"""The place that backups lie in: how it is laid out, claimed and listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from omnigraph.base.errors import AccessDenied, AlreadyExists, BadInput, CorruptState, NotAGraph, NotFound
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


class Target:
    """A place with backups of one graph."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store

    def claim(self, graph_id: str) -> None:
        """Make an empty place one for backups of a graph; one that holds something else is refused."""
        if self.graph_id() is None:
            self._refuse_other_content()
            with suppress(AlreadyExists):  # another backup has come first
                self.store.create(MARK, stored_format.encode({"graph": graph_id}, MARK))
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
        return decode_manifest(data, path)

    def each(self) -> Iterator[Manifest]:
        """Yield the manifests of all complete backups, newest first."""
        for backup in reversed(self.ids()):
            yield self.read(backup)

    def newest(self, backup: str | None = None) -> Manifest:
        """Return a backup, the newest unless given."""
        if backup is not None:
            return self.read(backup)
        found = self.ids()
        if not found:
            raise NotFound(
                f"no backup at {self.store.root_uri} is complete: run the backup again",
                uri=self.store.root_uri,
            )
        return self.read(found[-1])

    def known(self, since: str | None) -> list[Manifest]:
        """Return the backups that a new one goes on from: the newest of a whole graph first.

        With `since` that is the newest one that holds this commit.
        """
        known: list[Manifest] = []
        for manifest in self.each() if self.graph_id() is not None else ():
            if manifest.scope != WHOLE:
                known += [manifest] if not known else []
            elif since is None or manifest.holds(since):
                return [manifest, *known]
        if since is not None:
            raise NotFound(
                f"no backup of the whole graph at {self.store.root_uri} holds commit {since}: "
                "back up without `since` first",
                uri=self.store.root_uri,
                commit=since,
            )
        return known

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
        return "a place of backups" if is_inside and Target(store).graph_id() is not None else None
    except CorruptState:
        return "a graph"
    return "a graph"


def _graph(data: Mapping[str, Any]) -> str:
    return str(data["graph"])


def _id(path: str) -> str:
    return path.rsplit("/", 1)[1].removesuffix(".json")
