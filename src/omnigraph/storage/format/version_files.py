"""Which files one opened version of a table names, told by its fragments and the bytes of its manifest."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from omnigraph.base.errors import CorruptState
from omnigraph.storage.format.manifests import message_of
from omnigraph.storage.format.protobuf import fields, read_counted
from omnigraph.storage.lance_errors import translate_errors

# How a manifest spells the file of its transaction: a tag, the length, the name.
_TRANSACTION = re.compile(rb"\x62([\x20-\x7f])(\d{1,20}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.txn)")
# How a manifest spells the id of an index. What Lance lists may leave out indexes that it keeps for itself.
_INDEX = re.compile(rb"\x0a\x12\x0a\x10(.{16})", re.DOTALL)
DATA, DELETIONS, INDEXES, TRANSACTIONS = "data/", "_deletions/", "_indices/", "_transactions/"
# Sparse and dense deletions are stored in two ways.
_DELETION_KINDS = {"array": "arrow", "bitmap": "bin"}
# Where Lance's table format keeps what is looked for.
_FRAGMENTS_FIELD = 2
_FRAGMENT_ID, _FRAGMENT_FILES, _FRAGMENT_DELETIONS = 1, 2, 3
_FILE_PATH_FIELD = 1
_DELETIONS_KIND, _DELETIONS_VERSION, _DELETIONS_ID = 1, 2, 3
_STORED_KINDS = ("arrow", "bin")
_FRAGMENTS_KEPT = 4096


@dataclass(frozen=True, slots=True)
class VersionFiles:
    """Files and folders of a version, below the table's folder."""

    data: Mapping[str, int | None] = field(default_factory=dict)
    """Data files with their sizes; blobs lie beside one, in a folder of its name without the ending."""
    deletions: frozenset[str] = frozenset()
    index_folders: frozenset[str] = frozenset()
    transactions: frozenset[str] = frozenset()
    """Which need not exist."""
    fragments: int = 0

    @property
    def blob_folders(self) -> list[str]:
        """Where blobs lie, if there are any."""
        return [blob_folder(path) for path in self.data]


def blob_folder(path: str) -> str:
    """Return the folder of the blobs beside a data file."""
    return path.removesuffix(".lance")


def list_files(table_id: str, dataset: Any, manifest: bytes) -> VersionFiles:
    """Return what an opened version names."""
    with translate_errors(f"listing the files of {table_id}", reading=True):
        fragments = dataset.get_fragments()
        segments = [segment for index in dataset.describe_indices() for segment in index.segments]
    data: dict[str, int | None] = {}
    deletions: set[str] = set()
    for fragment in fragments:
        stored = fragment.metadata
        _refuse_unknown(table_id, stored)
        for file in stored.files:
            data[f"{DATA}{path_of(file)}"] = file.file_size_bytes
        if stored.deletion_file is not None:
            deletions.add(deletions_of(fragment.fragment_id, stored.deletion_file))
    if any(segment.base_id is not None for segment in segments):
        raise _elsewhere(table_id)
    indexes = index_folders_of(manifest).union(f"{INDEXES}{segment.uuid}" for segment in segments)
    transactions = transactions_of(manifest)
    return VersionFiles(data, frozenset(deletions), indexes, transactions, len(fragments))


@dataclass(frozen=True, slots=True)
class FragmentFiles:
    """The files of one fragment, below the table's folder."""

    data: tuple[str, ...] = ()
    deletions: tuple[str, ...] = ()


def read_files(manifest: bytes, path: str) -> VersionFiles:
    """Return what a version that was written here names, by the bytes of its manifest alone."""
    try:
        found = [files_of(fragment) for fragment in fragments_of(manifest, path)]
        return VersionFiles(
            {name: None for files in found for name in files.data},
            frozenset(name for files in found for name in files.deletions),
            index_folders_of(manifest),
            transactions_of(manifest),
            len(found),
        )
    except (ValueError, LookupError, StopIteration) as error:
        raise manifest_damaged_error(path) from error


def fragments_of(manifest: bytes, path: str) -> list[bytes]:
    """Return the fragments of a manifest as they are stored."""
    try:
        return read_counted(message_of(manifest), _FRAGMENTS_FIELD)
    except (CorruptState, ValueError) as error:
        raise manifest_damaged_error(path) from error


def manifest_damaged_error(path: str) -> CorruptState:
    """Return the error of a manifest whose bytes mean nothing."""
    return CorruptState(f"the manifest {path} is damaged: run `omnigraph repair`", path=path)


@lru_cache(_FRAGMENTS_KEPT)
def files_of(fragment: bytes) -> FragmentFiles:
    """Return the files of a fragment as it is stored; most fragments of a version were in the one before."""
    number, data, deletions = 0, list[str](), list[str]()
    for part, value, _ in fields(fragment):
        if part == _FRAGMENT_ID and isinstance(value, int):
            number = value
        elif part == _FRAGMENT_FILES and isinstance(value, bytes):
            name = next(bytes(item) for at, item, _ in fields(value) if at == _FILE_PATH_FIELD).decode()
            data.append(f"{DATA}{name}")
        elif part == _FRAGMENT_DELETIONS and isinstance(value, bytes):
            parts = {at: item for at, item, _ in fields(value) if isinstance(item, int)}
            kind = _STORED_KINDS[parts.get(_DELETIONS_KIND, 0)]
            version, own = parts.get(_DELETIONS_VERSION, 0), parts.get(_DELETIONS_ID, 0)
            deletions.append(deletions_path(number, version, own, kind))
    return FragmentFiles(tuple(data), tuple(deletions))


def index_folders_of(manifest: bytes) -> frozenset[str]:
    """Return the folders of the indexes that a manifest names."""
    return frozenset(f"{INDEXES}{uuid.UUID(bytes=found)}" for found in _INDEX.findall(manifest))


def transactions_of(manifest: bytes) -> frozenset[str]:
    """Return the paths of the transactions that a manifest names."""
    return frozenset(
        f"{TRANSACTIONS}{name.decode()}"
        for length, name in _TRANSACTION.findall(manifest)
        if length[0] == len(name)
    )


def path_of(file: Any) -> str:
    """Return the path of a data file as Lance describes it; its own `path` makes a class at every look."""
    return str(file._path)


def deletions_of(fragment: int, deletions: Any) -> str:
    """Return the path of a fragment's deletion file."""
    kind = _DELETION_KINDS[deletions.file_type]
    return deletions_path(fragment, deletions.read_version, deletions.id, kind)


def deletions_path(fragment: int, version: int, number: int, kind: str) -> str:
    """Return the path of a deletion file; the name before the dot is one version's own."""
    return f"{DELETIONS}{fragment}-{version}-{number}.{kind}"


def _refuse_unknown(table_id: str, fragment: Any) -> None:
    """Refuse to guess about what this release of Lance does not write for us."""
    parts = [*fragment.files, *([fragment.deletion_file] if fragment.deletion_file else [])]
    if any(part.base_id is not None for part in parts):
        raise _elsewhere(table_id)
    if fragment.overlays:
        raise stored_otherwise_error(table_id)


def stored_otherwise_error(table_id: str) -> CorruptState:
    """Return the error for rows that are stored in a way that nothing here writes."""
    return CorruptState(
        f"table {table_id} stores its rows in a way that this release does not know: "
        "clean it up with the release that wrote it",
        table=table_id,
    )


def _elsewhere(table_id: str) -> CorruptState:
    return CorruptState(
        f"table {table_id} has files outside its folder: restore it from a backup", table=table_id
    )
