"""Small files that processes of one machine share: replaced whole, and locked by whoever changes them."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def replace_file(path: Path, data: bytes, keeps_readers: bool = False) -> None:
    """Put bytes in the place of a file in one step, also over a power cut: nobody reads half of them.

    Only its owner may read it; with `keeps_readers` those may who could read the one before.
    """
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # its mode is 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            if keeps_readers:
                _keep_readers(path, descriptor)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _keep_readers(path: Path, descriptor: int) -> None:
    try:
        before = os.stat(path)
    except FileNotFoundError:
        return
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    with suppress(PermissionError):
        os.fchown(descriptor, before.st_uid, before.st_gid)


@contextmanager
def hold_lock(path: Path, waits: bool = True) -> Iterator[bool]:
    """Hold the lock of a file, or of a folder, inside the block; the system lets go of the locks of the dead.

    What is not waited for is False while another holds it.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags, 0o600)
    try:
        yield take_lock(descriptor, waits)
    finally:
        os.close(descriptor)


def take_lock(descriptor: int, waits: bool) -> bool:
    """Lock an open file until it is closed; return False when another holds it and that is not waited for."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
