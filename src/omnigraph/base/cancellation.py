"""Checkpoints at which long work stops when its caller's time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

CHUNK_ROWS = 1 << 18
"""Rows processed between two checkpoints."""

_LOCK_WAIT_SECONDS = 0.02
"""Seconds between two checkpoints while waiting for a lock."""

_check: ContextVar[Callable[[], None] | None] = ContextVar("checkpoint", default=None)


class Lock(Protocol):
    """A `threading.Lock` or `threading.RLock`."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for the lock and return whether it was acquired."""

    def release(self) -> None:
        """Release the lock."""


@contextmanager
def watch(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` at every checkpoint of the work inside the block; it raises to end the work.

    Inside the block of another check both are called.
    """
    outer = _check.get()

    def check_both() -> None:
        if outer is not None:
            outer()
        check()

    token = _check.set(check if outer is None else check_both)
    try:
        yield
    finally:
        _check.reset(token)


def is_watched() -> bool:
    """Return whether a check is set, so that work has to be cut into chunks."""
    return _check.get() is not None


def checkpoint() -> None:
    """Raise if the time of this work is over."""
    check = _check.get()
    if check is not None:
        check()


@contextmanager
def acquire_cancellable(lock: Lock) -> Iterator[None]:
    """Hold a lock inside the block; raise if the time of this work ends before the lock is free."""
    while not lock.acquire(timeout=_LOCK_WAIT_SECONDS if is_watched() else -1):
        checkpoint()
    try:
        yield
    finally:
        lock.release()


def chunks(count: int, size: int | None = None) -> Iterator[slice]:
    """Yield slices that cover `count` rows, with a checkpoint before each; one slice when no check is set."""
    step = (size or CHUNK_ROWS) if is_watched() else max(count, 1)
    for start in range(0, count, step):
        checkpoint()
        yield slice(start, min(start + step, count))
