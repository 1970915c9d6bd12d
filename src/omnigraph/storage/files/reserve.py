"""A little room on a local disk, kept for when there is none left: cleanup writes before it frees."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.storage.objects import ObjectStore

RESERVE_BYTES = 1 << 20
_FILE = ".og/reserve"


def keep_reserve(store: ObjectStore) -> bool:
    """Set the room aside again where it is missing; say whether it is there. A full disk is not an error."""
    if not store.is_local:
        return False
    name = f"{store.root_uri}/{_FILE}"
    with contextlib.suppress(OSError):
        if os.lstat(name).st_size >= RESERVE_BYTES:
            return True
    try:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError:
        return False
    try:
        _allocate(descriptor)
    except OSError:
        release_reserve(store)  # part of it helps nobody
        return False
    finally:
        os.close(descriptor)
    return True


def release_reserve(store: ObjectStore) -> None:
    """Give the room free."""
    if store.is_local:
        with contextlib.suppress(OSError):
            os.unlink(f"{store.root_uri}/{_FILE}")


@contextmanager
def reserve_released(store: ObjectStore) -> Iterator[None]:
    """Let a block have the room, and set it aside again afterwards."""
    release_reserve(store)
    try:
        yield
    finally:
        keep_reserve(store)


def _allocate(descriptor: int) -> None:
    if hasattr(os, "posix_fallocate"):
        with contextlib.suppress(OSError):  # some disks cannot; a full one fails again below
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            return
    os.pwrite(descriptor, os.urandom(RESERVE_BYTES), 0)
    if os.fstat(descriptor).st_size < RESERVE_BYTES:
        raise OSError("there is not enough room")
