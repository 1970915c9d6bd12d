"""The fragments and columns of a table version, as the message of its manifest tells them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from omnigraph.storage.format.protobuf import fields, read_counted
from omnigraph.storage.format.version_files import deletions_of, deletions_path, path_of

_COLUMNS_FIELD, _FRAGMENTS_FIELD = 1, 2
_COLUMN_NAME, _COLUMN_ID, _COLUMN_PARENT = 2, 3, 4
_FRAGMENT_ID, _FRAGMENT_FILES, _FRAGMENT_DELETIONS, _FRAGMENT_ROWS = 1, 2, 3, 4
_FILE_PATH = 1
_DELETIONS_KIND, _DELETIONS_VERSION, _DELETIONS_ID, _DELETIONS_BASE = 1, 2, 3, 7
_PLAIN_LIST = 0
_TOP_LEVEL = 2**64 - 1
_CACHED_PARTS = 4096


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of stored rows, some of them perhaps deleted; equal files hold equal rows, in every version."""

    number: int
    files: tuple[str, ...]
    rows: int
    """How many rows the files hold, deleted ones included."""
    deletion: tuple[int, int] | None
    """What tells this set of deleted rows from every other, or None when no row is deleted."""
    deletion_list: str | None = None
    """The path of the deleted rows below the table's folder, if the file is a plain list."""


def describe_fragment(metadata: Any) -> Fragment:
    """Return a fragment as Lance describes it."""
    deletion = metadata.deletion_file
    is_plain = deletion is not None and deletion.file_type == "array" and deletion.base_id is None
    return Fragment(
        metadata.id,
        tuple(map(path_of, metadata.files)),
        metadata.physical_rows,
        None if deletion is None else (deletion.read_version, deletion.id),
        deletions_of(metadata.id, deletion) if is_plain else None,
    )


def read_fragments(message: bytes) -> tuple[Fragment, ...]:
    """Return the fragments of a version in the order in which a scan reads them."""
    return tuple(_read_fragment(item) for item in read_counted(message, _FRAGMENTS_FIELD))


def read_column_ids(message: bytes) -> dict[str, int]:
    """Return the numbers of all columns, by their names."""
    columns = (_read_column(item) for item in read_counted(message, _COLUMNS_FIELD))
    return {name: number for name, number, is_column in columns if is_column}


@lru_cache(_CACHED_PARTS)
def _read_fragment(stored: bytes) -> Fragment:
    numbers, files, deletion = dict[int, int](), list[str](), None
    for part, value, _ in fields(stored):
        if isinstance(value, int):
            numbers[part] = value
        elif part == _FRAGMENT_FILES:
            path = next(item for at, item, _ in fields(value) if at == _FILE_PATH)
            assert isinstance(path, bytes)
            files.append(path.decode())
        elif part == _FRAGMENT_DELETIONS:
            deletion = {at: item for at, item, _ in fields(value) if isinstance(item, int)}
    number, rows = numbers.get(_FRAGMENT_ID, 0), numbers.get(_FRAGMENT_ROWS, 0)
    if deletion is None:
        return Fragment(number, tuple(files), rows, None)
    told = (deletion.get(_DELETIONS_VERSION, 0), deletion.get(_DELETIONS_ID, 0))
    is_plain = deletion.get(_DELETIONS_KIND, _PLAIN_LIST) == _PLAIN_LIST and _DELETIONS_BASE not in deletion
    listed = deletions_path(number, *told, "arrow") if is_plain else None
    return Fragment(number, tuple(files), rows, told, listed)


@lru_cache(_CACHED_PARTS)
def _read_column(stored: bytes) -> tuple[str, int, bool]:
    """Return the name and number of a field, and whether it is a column and not a part of one."""
    said = {part: value for part, value, _ in fields(stored)}
    name, number = said.get(_COLUMN_NAME, b""), said.get(_COLUMN_ID, 0)
    assert isinstance(name, bytes) and isinstance(number, int)
    return name.decode(), number, said.get(_COLUMN_PARENT, 0) == _TOP_LEVEL
