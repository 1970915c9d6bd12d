"""Which files a table version brings that another one does not have, read from their manifests alone."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

from omnigraph.base.errors import CorruptState
from omnigraph.storage.namespace import PinnedTable
from omnigraph.storage.objects import ObjectStore

_TRANSACTION = re.compile(rb"\d+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.txn")
_INDEX = re.compile(rb"\x0a\x12\x0a\x10(.{16})", re.DOTALL)
_MAGIC = b"LANC"
_FOOTER = 16
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
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
    for path in set(_TRANSACTION.findall(manifest)) - set(_TRANSACTION.findall(older)):
        paths.append(f"{after.location}/_transactions/{path.decode()}")
    for index in set(_INDEX.findall(manifest)) - set(_INDEX.findall(older)):
        paths.append(f"{after.location}/_indices/{uuid.UUID(bytes=index)}/")
    return paths


def _fragments(manifest: bytes, path: str) -> Iterator[bytes]:
    """Yield the fragments of a manifest as they are stored."""
    start = int.from_bytes(manifest[-_FOOTER : -_FOOTER + 8], "little")
    size = int.from_bytes(manifest[start : start + 4], "little")
    if manifest[-4:] != _MAGIC or not 0 <= start + 4 + size <= len(manifest) - _FOOTER:
        raise CorruptState(f"the manifest {path} is damaged: run `omnigraph repair`", path=path)
    try:
        for number, value in _fields(manifest[start + 4 : start + 4 + size]):
            if number == _FRAGMENTS and isinstance(value, bytes):
                yield value
    except (IndexError, ValueError) as error:
        raise CorruptState(f"the manifest {path} is damaged: run `omnigraph repair`", path=path) from error


def _files(fragment: bytes) -> Iterator[str]:
    number = 0
    for field, value in _fields(fragment):
        if field == _FRAGMENT_ID and isinstance(value, int):
            number = value
        elif field == _FRAGMENT_FILES and isinstance(value, bytes):
            name = next(bytes(item) for at, item in _fields(value) if at == _FILE_PATH).decode()
            yield f"data/{name}"
            yield f"data/{name.removesuffix('.lance')}/"
        elif field == _FRAGMENT_DELETIONS and isinstance(value, bytes):
            parts = {at: item for at, item in _fields(value) if isinstance(item, int)}
            kind = _DELETION_KINDS[parts.get(_DELETIONS_KIND, 0)]
            version, own = parts.get(_DELETIONS_VERSION, 0), parts.get(_DELETIONS_ID, 0)
            yield f"_deletions/{number}-{version}-{own}.{kind}"


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numbers and values of a message of Protocol Buffers."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED_64, _FIXED_32):
            size = 8 if kind == _FIXED_64 else 4
        else:
            raise ValueError(f"no field is of kind {kind}")
        if at + size > end:
            raise ValueError("a field goes beyond its message")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
