"""Sweeping the tables: what lies in their folders, what of it goes, and what it frees."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from omnigraph.base.errors import OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest import layout
from omnigraph.storage.files.delete_files import remove_files
from omnigraph.storage.objects import ObjectInfo, ObjectStore
from omnigraph.storage.versions.reachable import is_among

_log = logging.getLogger("omnigraph")
_LANCE_OWN = "_versions/latest_version_hint.json"


@dataclass(frozen=True, slots=True)
class Size:
    """A number of files and their bytes."""

    files: int = 0
    bytes: int = 0

    @staticmethod
    def of(found: Sequence[ObjectInfo]) -> Size:
        """Return the size of files that a listing found."""
        return Size(len(found), sum(info.size for info in found))


@dataclass(frozen=True)
class TableCleanup:
    """What cleanup did to one table, or with `dry_run` would do."""

    table_key: str
    """The name that the table has, or had last; its folder when no commit tells."""
    location: str
    removed: Size
    kept: Size
    waiting: Size
    """Files that no commit has named and that may belong to a write in progress: too young to be removed."""
    error: str | None = None


@dataclass
class Folder:
    """The files in one table's folder, sorted by what becomes of them."""

    kept: list[ObjectInfo] = field(default_factory=list)
    dropped: list[ObjectInfo] = field(default_factory=list)
    """Published once, by commits that are dropped now."""
    unnamed: list[ObjectInfo] = field(default_factory=list)
    """Never published, and old."""
    waiting: list[ObjectInfo] = field(default_factory=list)

    @property
    def condemned(self) -> list[ObjectInfo]:
        """Everything that goes."""
        return [*self.dropped, *self.unnamed]


def list_folders(store: ObjectStore, foreign: list[ObjectInfo] | None = None) -> dict[str, list[ObjectInfo]]:
    """Return every file of every table, also of those that no commit names.

    What is not of a table is never among them; `foreign` takes it.
    """
    folders: dict[str, list[ObjectInfo]] = {}
    for kind in layout.TABLES:
        for info in store.list(kind):
            if layout.is_own(info.path):
                folders.setdefault("/".join(info.path.split("/", 2)[:2]), []).append(info)
            elif foreign is not None:
                foreign.append(info)
    return folders


def sort_folder(
    location: str, found: Sequence[ObjectInfo], kept: set[str], published: set[str], oldest: datetime
) -> Folder:
    """Decide about each file of a folder; `oldest` is the age of the youngest unnamed file that may go."""
    folder = Folder()
    for info in found:
        path = info.path.removeprefix(f"{location}/")
        if is_among(path, kept) or (kept and path == _LANCE_OWN):
            folder.kept.append(info)
        elif is_among(path, published):
            folder.dropped.append(info)
        elif info.last_modified < oldest:
            folder.unnamed.append(info)
        else:
            folder.waiting.append(info)
    return folder


def sweep(
    store: ObjectStore,
    folders: Mapping[str, Folder],
    kept: Mapping[str, set[str]],
    keys: Mapping[str, str],
    dry_run: bool,
) -> tuple[TableCleanup, ...]:
    """Remove what is condemned and not kept after all, table by table; a table that fails says so."""
    swept = []
    for location, folder in sorted(folders.items()):
        saved = kept.get(location, set())
        going = [info for info in folder.condemned if not is_among(_inside(location, info), saved)]
        spared = [info for info in folder.condemned if is_among(_inside(location, info), saved)]
        error = None if dry_run else _remove(store, location, going)
        done = Size() if error else Size.of(going)
        key = keys.get(location, location)
        staying = Size.of([*folder.kept, *spared])
        if going or folder.waiting or staying.files:
            swept.append(TableCleanup(key, location, done, staying, Size.of(folder.waiting), error))
    return tuple(sorted(swept, key=lambda item: (item.table_key, item.location)))


def _remove(store: ObjectStore, location: str, going: Sequence[ObjectInfo]) -> str | None:
    if not going:
        return None
    try:
        remove_files(store, [info.path for info in going])
        hit(Failpoint.CLEANUP_AFTER_TABLE)
    except (OmniError, OSError) as error:
        _log.warning("cleanup of %s failed and is left for the next one: %s", location, error)
        return str(error)
    return None


def _inside(location: str, info: ObjectInfo) -> str:
    return info.path.removeprefix(f"{location}/")
