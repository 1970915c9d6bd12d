"""Lance's manifests as bytes: read once, compared with the digest that a commit has of them, and cut.

A manifest file is a few sections, then a protocol-buffer message, then 16 bytes that say where the message
begins. Lance takes the message as it is, so that what was compared is what is opened.
"""

from __future__ import annotations

import struct

from omnigraph.base.errors import CorruptState, HistoricalVersionReclaimed, NotFound
from omnigraph.base.lru import Lru
from omnigraph.storage.format.digests import digest_of
from omnigraph.storage.format.protobuf import fields
from omnigraph.storage.format.table_folder import TableFolder

_CACHE_BYTES = 32 << 20
_MAGIC = b"LANC"
_TAIL_BYTES = 16
_INDEX_SECTION = 6


class Manifests:
    """Manifests by their address, for all tables of a process; the least recently used go first.

    Only those that cost a request to read are kept: what lies on a local disk is read every time, which tells
    at once that a cleanup has removed it.
    """

    def __init__(self, capacity: int = _CACHE_BYTES) -> None:
        self._found: Lru[str, bytes] = Lru(capacity, len)

    def put(self, folder: TableFolder, path: str, data: bytes) -> None:
        """Remember a manifest that this process has written or compared."""
        if not folder.is_local:
            self._found.put(folder.address(path), data)

    def get(self, folder: TableFolder, path: str, digest: str) -> bytes:
        """Return a manifest, or raise CorruptState when it is not the one with this digest."""
        data = self._found.get(folder.address(path))
        if data is None:
            data = read_manifest(folder, path, digest)
            self.put(folder, path, data)
        return data

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()


manifests = Manifests()
"""Of this process."""


def read_manifest(folder: TableFolder, path: str, digest: str) -> bytes:
    """Read a manifest from storage and compare it with its digest."""
    where = folder.inside(path)
    try:
        data = folder.read(path)
    except NotFound as error:
        raise HistoricalVersionReclaimed(
            f"the manifest {where} is gone: a cleanup has removed this table version (or someone has from "
            "outside, which `omnigraph repair` tells)",
            path=where,
        ) from error
    if digest_of(data) != digest:
        raise manifest_damaged(where)
    return data


def manifest_damaged(where: str) -> CorruptState:
    """Return the error for a manifest that is not as it was written."""
    return CorruptState(
        f"the manifest {where} is damaged: its bytes are not those that were written; "
        "restore it from a backup",
        path=where,
        damaged="manifest",
    )


def message_of(data: bytes) -> bytes:
    """Return the message inside the bytes of a manifest file; CorruptState when there is none."""
    if len(data) >= _TAIL_BYTES and data[-4:] == _MAGIC:
        (start,) = struct.unpack("<Q", data[-_TAIL_BYTES : 8 - _TAIL_BYTES])
        if start + 4 <= len(data) - _TAIL_BYTES:
            (length,) = struct.unpack("<I", data[start : start + 4])
            if start + 4 + length <= len(data) - _TAIL_BYTES:
                return data[start + 4 : start + 4 + length]
    raise CorruptState("a manifest does not end as Lance's do: it is damaged, or of another release")


def without_indexes(message: bytes) -> bytes:
    """Return the message of a version that has no indexes and is otherwise the same."""
    try:
        return b"".join(field.stored for field in fields(message) if field.number != _INDEX_SECTION)
    except ValueError as error:
        raise CorruptState(f"a manifest cannot be read ({error}): another release wrote it") from error
