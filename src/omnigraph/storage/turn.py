"""Taking turns on one machine: a lock that makes contending writers faster and decides nothing.

Correctness never rests on it. A writer that waits too long goes ahead without its turn, so a stopped
process holds nobody up for good; on object storage there is no lock at all.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base import clock
from omnigraph.storage.objects import ObjectStore

_FOLDER = ".og/turns"
_FIRST_WAIT = 0.0002
_LONGEST_WAIT = 0.004


@contextmanager
def turn(store: ObjectStore, name: str, patience: float) -> Iterator[bool]:
    """Wait for this machine's turn to write under `name`; say whether the caller has it."""
    if not store.is_local:
        yield False
        return
    try:
        descriptor = _open(f"{store.root_uri}/{_FOLDER}", name)
    except OSError:
        yield False  # a disk that cannot be written says so when the write itself is tried
        return
    try:
        yield _wait(descriptor, patience)
    finally:
        os.close(descriptor)


def forget_turn(store: ObjectStore, name: str) -> None:
    """Remove the lock file of a name that nobody will write under again."""
    if store.is_local:
        with contextlib.suppress(OSError):
            os.unlink(f"{store.root_uri}/{_FOLDER}/{name}")


def _open(folder: str, name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(f"{folder}/{name}", flags, 0o666)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        return os.open(f"{folder}/{name}", flags, 0o666)


def _wait(descriptor: int, patience: float) -> bool:
    now = clock.current()
    deadline, pause = now.monotonic() + patience, _FIRST_WAIT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if now.monotonic() >= deadline:
                return False
        now.sleep(pause * (0.5 + now.jitter()))
        pause = min(pause * 1.5, _LONGEST_WAIT)
