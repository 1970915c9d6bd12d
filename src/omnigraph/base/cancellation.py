"""Long work stops here, between its pieces, when whoever waits for it has no more time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

CHUNK_ROWS = 1 << 18
"""Rows that are worked on between two checkpoints."""

_LOCK_WAIT_SECONDS = 0.02
"""Seconds between two checkpoints of who waits for a lock."""

_check: ContextVar[Callable[[], None] | None] = ContextVar("checkpoint", default=None)


class Lock(Protocol):
    """What `threading` calls a lock, of either kind."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for the lock, and say whether it was taken."""

    def release(self) -> None:
        """Give it back."""


@contextmanager
def watch(check: Callable[[], None]) -> Iterator[None]:
    """Let `check` be called at every checkpoint of the work inside; it raises to end the work."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def is_watched() -> bool:
    """Say whether anybody waits, so that work is worth cutting into pieces."""
    return _check.get() is not None


def checkpoint() -> None:
    """End the work if its time is over."""
    check = _check.get()
    if check is not None:
        check()


@contextmanager
def acquire_cancellable(lock: Lock) -> Iterator[None]:
    """Take a lock as `with` does, but end the work if its time is over before the lock is free."""
    while not lock.acquire(timeout=_LOCK_WAIT_SECONDS if is_watched() else -1):
        checkpoint()
    try:
        yield
    finally:
        lock.release()


def chunks(count: int, size: int | None = None) -> Iterator[slice]:
    """Yield the slices of so many rows, with a checkpoint before each; all at once when nobody waits."""
    step = (size or CHUNK_ROWS) if is_watched() else max(count, 1)
    for start in range(0, count, step):
        checkpoint()
        yield slice(start, min(start + step, count))
