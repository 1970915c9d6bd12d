"""The sums of a table version: the size and hash of every file that it needs, and comparing them.

They lie beside the pin's manifest as `sums.json`; the commit that pins the version holds the digest of both,
so that the record vouches for everything. The same files always give the same bytes of sums: a lost
`sums.json` is proved, or made again, by reading the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from omnigraph.base.errors import NotFound
from omnigraph.base.lru import Lru
from omnigraph.base.settings import Settings
from omnigraph.storage.format.digests import FileSum, digest_of, known
from omnigraph.storage.format.table_folder import TableFolder
from omnigraph.storage.format.version_files import VersionFiles, blob_folder
from omnigraph.storage.namespace import Pin

_NAME = "sums.json"
_CACHED_VERSIONS = 512


@dataclass(frozen=True)
class Sums:
    """The files of one version, by their paths below the table's folder."""

    files: Mapping[str, FileSum] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return them as stored; equal sums give equal bytes."""
        content = {path: [item.size, item.hash] for path, item in sorted(self.files.items())}
        return json.dumps({"files": content}, separators=(",", ":")).encode()

    @staticmethod
    def decode(data: bytes) -> Sums:
        """Build them from their stored form, whose digest was compared."""
        content = json.loads(data)["files"]
        return Sums({path: FileSum(size, hash_) for path, (size, hash_) in content.items()})


def sums_path(pin: Pin) -> str:
    """Return where the sums of a version lie, below the table's folder."""
    return f"{pin.path.rsplit('/', 1)[0]}/{_NAME}"


def keeps_sums(folder: TableFolder) -> bool:
    """Return whether versions written here get sums: over a network every file would cost a request."""
    return folder.is_local or bool(Settings.from_environment().verify_remote)


def hash_written(folder: TableFolder, data_files: Iterable[str]) -> dict[str, FileSum]:
    """Return the sums of data files that were just written, and of the blobs beside them."""
    paths = [part for path in data_files for part in (path, *folder.names(blob_folder(path)))]
    return {path: folder.sum_of(path) for path in paths}


def learn(folder: TableFolder, sums: Mapping[str, FileSum]) -> None:
    """Take over the sums of files that another process has written and hashed."""
    for path, item in sums.items():
        known.put(folder.address(path), item)


def compute(folder: TableFolder, files: VersionFiles, before: Sums, fresh: bool = False) -> Sums:
    """Return the sums of a version that names these files, reading those that the one before had not."""
    found: dict[str, FileSum] = {}
    paths = [path for path in files.deletions if path not in before.files]
    for path in files.data:
        if path not in before.files:
            paths += [path, *folder.names(blob_folder(path))]
    for place in files.index_folders:
        paths += [path for path in folder.names(place) if path not in before.files]
    paths += [path for path in files.transactions if path not in before.files and folder.exists(path)]
    found.update((path, folder.sum_of(path, fresh)) for path in paths)
    kept = {path: item for path, item in before.files.items() if _is_named(path, files)}
    return Sums({**kept, **found})


def _is_named(path: str, files: VersionFiles) -> bool:
    return (
        path in files.data
        or path in files.deletions
        or path in files.transactions
        or "/".join(path.split("/", 2)[:2]) in files.index_folders
        or f"{path.rsplit('/', 1)[0]}.lance" in files.data
    )


stored: Lru[str, Sums] = Lru(_CACHED_VERSIONS)
"""Sums by the address of their version, for all tables of this process."""


def read_sums(folder: TableFolder, pin: Pin) -> Sums | None:
    """Return the sums of a version from storage; None when they are lost or damaged."""
    try:
        data = folder.read(sums_path(pin))
    except NotFound:
        return None
    return Sums.decode(data) if digest_of(data) == pin.sums else None


def put_sums(folder: TableFolder, pin: Pin, sums: Sums) -> str:
    """Store the sums of a version and return their digest."""
    data = sums.encode()
    folder.write(sums_path(pin), data)
    stored.put(folder.address(pin.path), sums)
    return digest_of(data)
