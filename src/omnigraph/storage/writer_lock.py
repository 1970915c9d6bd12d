"""Taking turns on one machine: a lock that makes contending writers faster and decides nothing.

Correctness never rests on it. A writer that waits too long goes ahead without its turn and puts another
lock file in the place of the one that is held, so a stopped process holds up only those who wait at that
moment, once. On object storage there is no lock at all, and none on a disk that has no file locks.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base import clock
from omnigraph.storage.objects import ObjectStore

_log = logging.getLogger("omnigraph")
_FOLDER = ".og/turns"
_FIRST_WAIT_SECONDS = 0.0002
_LONGEST_WAIT_SECONDS = 0.004
_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR)
_without_locks: set[str] = set()
"""Roots on disks that have no file locks, as far as this process has found out."""


@contextmanager
def turn(store: ObjectStore, name: str, patience: float) -> Iterator[bool]:
    """Wait for this machine's turn to write under `name`; say whether the caller has it."""
    if not store.is_local or store.root_uri in _without_locks:
        yield False
        return
    path = f"{store.root_uri}/{_FOLDER}/{name}"
    try:
        descriptor = _open(path)
    except OSError:
        yield False  # a disk that cannot be written says so when the write itself is tried
        return
    try:
        yield _wait(store.root_uri, descriptor, path, patience)
    finally:
        os.close(descriptor)


def forget_turn(store: ObjectStore, name: str) -> None:
    """Remove the lock file of a name that nobody will write under again."""
    if store.is_local:
        with contextlib.suppress(OSError):
            os.unlink(f"{store.root_uri}/{_FOLDER}/{name}")


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o666)


def _wait(root: str, descriptor: int, path: str, patience: float) -> bool:
    now = clock.current()
    deadline, pause = now.monotonic() + patience, _FIRST_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in _BUSY:
                _do_without(root, error)
                return False
        if now.monotonic() >= deadline:
            _put_aside(descriptor, path)
            return False
        now.sleep(pause * (0.5 + now.jitter()))
        pause = min(pause * 1.5, _LONGEST_WAIT_SECONDS)


def _do_without(root: str, error: OSError) -> None:
    """Remember that a disk has no file locks, and tell of it once."""
    _without_locks.add(root)
    _log.warning(
        "the disk of %s has no file locks (%s): writers of this machine do not take turns, which costs "
        "speed when several write to one branch, and nothing else",
        root,
        error,
    )


def _put_aside(descriptor: int, path: str) -> None:
    """Take a lock file away whose holder does not let go: who comes next makes a new one."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            os.unlink(path)
