"""Which files a table version brings that another one does not have, read from their manifests alone."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.base.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.storage.format.version_files import (
    blob_folder,
    files_of,
    fragments_of,
    index_folders_of,
    transactions_of,
)
from omnigraph.storage.namespace import PinnedTable
from omnigraph.storage.objects import ObjectStore


def find_introduced(store: ObjectStore, before: PinnedTable | None, after: PinnedTable) -> list[str]:
    """Return the paths of what `after` needs and `before` does not: files, and folders that are whole.

    A folder (of an index, of the blobs of a data file) ends with a slash, and need not exist.
    """
    assert after.pin is not None
    pin, manifest = _read_pin(store, after.location, after.pin.path)
    older = b""
    if before is not None and before.pin is not None:
        if before.pin == after.pin:
            return []
        _, older = _read_pin(store, before.location, before.pin.path)
    old = dict.fromkeys(fragments_of(older, pin)) if older else {}
    new = dict.fromkeys(fragments_of(manifest, pin))
    known = {path for fragment in old if fragment not in new for path in _paths(fragment)}
    brought = (path for fragment in new if fragment not in old for path in _paths(fragment))
    # The pin's folder is its own, and holds the sums of the version as well.
    folder = f"{pin.rpartition('/')[0]}/"
    paths = [folder, *(f"{after.location}/{path}" for path in brought if path not in known)]
    paths += [f"{after.location}/{path}" for path in transactions_of(manifest) - transactions_of(older)]
    paths += [f"{after.location}/{path}/" for path in index_folders_of(manifest) - index_folders_of(older)]
    return paths


def _read_pin(store: ObjectStore, location: str, path: str) -> tuple[str, bytes]:
    """Return where the manifest of a version is, and the manifest."""
    where = f"{location}/{path}"
    try:
        return where, store.get(where)
    except NotFound as error:
        raise HistoricalVersionReclaimed(
            f"the manifest {where} is gone: a cleanup has removed this table version", path=where
        ) from error


def _paths(fragment: bytes) -> Iterator[str]:
    files = files_of(fragment)
    for path in files.data:
        yield path
        yield f"{blob_folder(path)}/"
    yield from files.deletions
