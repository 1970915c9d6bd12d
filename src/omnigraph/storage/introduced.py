"""Which files a table version brings that another one does not have, read from their manifests alone."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.base.errors import CorruptState
from omnigraph.storage.manifests import message_of
from omnigraph.storage.namespace import PinnedTable
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.protobuf import fields
from omnigraph.storage.version_files import (
    DATA,
    blob_folder,
    deletions_path,
    index_folders_of,
    transactions_of,
)

# Where Lance's table format keeps what is looked for.
_FRAGMENTS = 2
_FRAGMENT_ID, _FRAGMENT_FILES, _FRAGMENT_DELETIONS = 1, 2, 3
_FILE_PATH = 1
_DELETIONS_KIND, _DELETIONS_VERSION, _DELETIONS_ID = 1, 2, 3
_DELETION_KINDS = ("arrow", "bin")


def introduced(store: ObjectStore, before: PinnedTable | None, after: PinnedTable) -> list[str]:
    """Return the paths of what `after` needs and `before` does not: files, and folders that are whole.

    A folder (of an index, of the blobs of a data file) ends with a slash, and need not exist.
    """
    assert after.pin is not None
    pin = f"{after.location}/{after.pin.path}"
    manifest = store.get(pin)
    older = b""
    if before is not None and before.pin is not None:
        if before.pin == after.pin:
            return []
        older = store.get(f"{before.location}/{before.pin.path}")
    old = dict.fromkeys(_fragments(older, pin)) if older else {}
    new = dict.fromkeys(_fragments(manifest, pin))
    known = {path for fragment in old if fragment not in new for path in _files(fragment)}
    brought = (path for fragment in new if fragment not in old for path in _files(fragment))
    # The pin's folder is its own, and holds the sums of the version as well.
    folder = f"{pin.rpartition('/')[0]}/"
    paths = [folder, *(f"{after.location}/{path}" for path in brought if path not in known)]
    paths += [f"{after.location}/{path}" for path in transactions_of(manifest) - transactions_of(older)]
    paths += [f"{after.location}/{path}/" for path in index_folders_of(manifest) - index_folders_of(older)]
    return paths


def _fragments(manifest: bytes, path: str) -> Iterator[bytes]:
    """Yield the fragments of a manifest as they are stored."""
    try:
        for number, value, _ in fields(message_of(manifest)):
            if number == _FRAGMENTS and isinstance(value, bytes):
                yield value
    except (CorruptState, ValueError) as error:
        raise CorruptState(f"the manifest {path} is damaged: run `omnigraph repair`", path=path) from error


def _files(fragment: bytes) -> Iterator[str]:
    number = 0
    for field, value, _ in fields(fragment):
        if field == _FRAGMENT_ID and isinstance(value, int):
            number = value
        elif field == _FRAGMENT_FILES and isinstance(value, bytes):
            name = next(bytes(item) for at, item, _ in fields(value) if at == _FILE_PATH).decode()
            yield f"{DATA}{name}"
            yield f"{blob_folder(f'{DATA}{name}')}/"
        elif field == _FRAGMENT_DELETIONS and isinstance(value, bytes):
            parts = {at: item for at, item, _ in fields(value) if isinstance(item, int)}
            kind = _DELETION_KINDS[parts.get(_DELETIONS_KIND, 0)]
            yield deletions_path(number, parts.get(_DELETIONS_VERSION, 0), parts.get(_DELETIONS_ID, 0), kind)
