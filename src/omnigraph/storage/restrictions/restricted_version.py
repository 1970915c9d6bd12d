"""A table version without what a reader may not see: a manifest that deletes hidden rows and drops columns.

To Lance it is a version like any other, whose hidden rows are deleted and whose hidden columns were never
there: no scan, look-up, index or count can find them. The manifest is never stored; the lists of deleted rows
are files in a private folder of this process, under names made of what they hold.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from omnigraph.base.errors import CorruptState
from omnigraph.base.handed.process_folders import SIGHT, private_folder
from omnigraph.storage.format.protobuf import fields
from omnigraph.storage.numbers import unite
from omnigraph.storage.restrictions.hidden_rows import HiddenRows, RowOffsets
from omnigraph.storage.restrictions.row_bitmap import encode_bitmap

_SCHEMA_FIELD, _FRAGMENT, _INDEX_SECTION, _BASE_PATH = 1, 2, 6, 18
_FIELD_NAME, _FIELD_ID, _FIELD_PARENT = 2, 3, 4
_FRAGMENT_ID, _FRAGMENT_DELETIONS, _FRAGMENT_ROWS = 1, 3, 4
_BASE_ID, _BASE_IS_ROOT, _BASE_ADDRESS = 1, 3, 4
_DELETION_KIND, _DELETION_VERSION, _DELETION_ID, _DELETION_ROWS, _DELETION_BASE = 1, 2, 3, 4, 7
_BITMAP = 1
"""The other kind, a plain list, is a hash table to Lance: its scans take half as long again."""
_VARINT, _COUNTED = 0, 2
_TOP_LEVEL = 2**64 - 1
_UNUSED_FILES = 512
"""Files that no opened version names and that are kept: a scan may outlive what it was begun on."""


class DeletionLists:
    """Lists of deleted rows as files, by what they hold; removed some time after nothing names them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._folder: str | None = None
        self._process = 0
        self._uses: Counter[str] = Counter()
        self._unused: OrderedDict[str, None] = OrderedDict()

    def put(self, fragment: int, offsets: RowOffsets) -> tuple[int, int]:
        """Store a list; return the version and number that its name is made of."""
        digest = hashlib.sha256(offsets.tobytes()).digest()
        version, number = int.from_bytes(digest[:4]) >> 1, int.from_bytes(digest[4:12]) >> 1
        name = _name(fragment, version, number)
        with self._lock:
            path = os.path.join(self.folder, "_deletions", name)
            if not os.path.exists(path):
                with open(f"{path}.part", "wb") as file:
                    file.write(encode_bitmap(offsets))
                os.replace(f"{path}.part", path)
            self._uses[name] += 1
            self._unused.pop(name, None)
        return version, number

    @property
    def folder(self) -> str:
        """Where the files lie."""
        with self._lock:
            if self._folder is None or self._process != os.getpid():  # a fork has a folder of its own
                self._folder = str(private_folder(SIGHT, os.getpid()))
                self._process = os.getpid()
                self._uses.clear()
                self._unused.clear()
                # A process that has ended may have had our number: its lists are the same, or not asked for.
                os.makedirs(os.path.join(self._folder, "_deletions"), exist_ok=True)
            return self._folder

    def release(self, names: list[str]) -> None:
        """Note that an opened version that named some files is gone."""
        with self._lock:
            if self._process != os.getpid():
                return
            for name in names:
                self._uses[name] -= 1
                if self._uses[name] <= 0:
                    del self._uses[name]
                    self._unused[name] = None
            while len(self._unused) > _UNUSED_FILES:
                name, _ = self._unused.popitem(last=False)
                os.unlink(os.path.join(self.folder, "_deletions", name))


_lists = DeletionLists()


class RestrictedManifest:
    """The message of a manifest without hidden rows and columns, and the files that it names."""

    def __init__(
        self,
        message: bytes,
        hidden: Mapping[int, HiddenRows],
        deleted: Mapping[int, RowOffsets],
        columns: frozenset[str],
    ) -> None:
        """Take what a version hides, and which rows of those fragments are deleted anyway."""
        self._hidden, self._deleted, self._columns = hidden, deleted, columns
        self._files: list[str] = []
        try:
            self.message = self._write(message)
        except ValueError as error:
            raise CorruptState(
                f"a manifest cannot be read ({error}): another release wrote it", damaged="manifest"
            ) from error

    def keep_for(self, dataset: Any) -> None:
        """Keep the files for as long as an opened version is there."""
        weakref.finalize(dataset, _lists.release, self._files)

    def _write(self, message: bytes) -> bytes:
        stored = list(fields(message))
        bases = [_numbers(field.value).get(_BASE_ID, 0) for field in stored if field.number == _BASE_PATH]
        self._base = max(bases, default=0) + 1
        gone = self._list_gone_fields([field.value for field in stored if field.number == _SCHEMA_FIELD])
        parts = []
        for field in stored:
            if field.number == _SCHEMA_FIELD and _id_of(field.value) in gone:
                continue
            if field.number == _INDEX_SECTION and gone:
                continue  # an index may be of a column that is not there
            part = field.stored
            if field.number == _FRAGMENT:
                part = self._fragment(field.value, field.stored)
            parts.append(part)
        base = _number(_BASE_ID, self._base) + _number(_BASE_IS_ROOT, 1)
        parts.append(_put_bytes(_BASE_PATH, base + _put_bytes(_BASE_ADDRESS, _lists.folder.encode())))
        return b"".join(parts)

    def _list_gone_fields(self, schema: list[int | bytes]) -> set[int]:
        gone: set[int] = set()
        for item in schema:  # parents come before what is inside of them
            said = {field.number: field.value for field in fields(_bytes(item))}
            name, parent = _bytes(said.get(_FIELD_NAME, b"")).decode(), said.get(_FIELD_PARENT, 0)
            if parent in gone or (parent == _TOP_LEVEL and name in self._columns):
                gone.add(_id_of(item))
        return gone

    def _fragment(self, value: int | bytes, stored: bytes) -> bytes:
        said = _numbers(value)
        number, rows = said.get(_FRAGMENT_ID, 0), said.get(_FRAGMENT_ROWS, 0)
        hidden = self._hidden.get(number)
        if hidden is None:
            return stored
        offsets = unite(hidden.offsets, self._deleted.get(number, np.empty(0, np.uint32)))
        if len(offsets) >= rows:
            return b""
        version, unique = _lists.put(number, offsets.astype(np.uint32))
        self._files.append(_name(number, version, unique))
        deletion = (
            (_DELETION_KIND, _BITMAP),
            (_DELETION_VERSION, version),
            (_DELETION_ID, unique),
            (_DELETION_ROWS, len(offsets)),
            (_DELETION_BASE, self._base),
        )
        rest = b"".join(
            field.stored for field in fields(_bytes(value)) if field.number != _FRAGMENT_DELETIONS
        )
        return _put_bytes(
            _FRAGMENT, rest + _put_bytes(_FRAGMENT_DELETIONS, b"".join(_number(*a) for a in deletion))
        )


def _name(fragment: int, version: int, number: int) -> str:
    return f"{fragment}-{version}-{number}.bin"


def _numbers(value: int | bytes) -> dict[int, int]:
    return {item.number: item.value for item in fields(_bytes(value)) if isinstance(item.value, int)}


def _id_of(value: int | bytes) -> int:
    return _numbers(value).get(_FIELD_ID, 0)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a message was expected, found a number")
    return value


def _put_bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _COUNTED) + _varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
