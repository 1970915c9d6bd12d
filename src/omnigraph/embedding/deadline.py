"""The caller's deadline: requests to a provider end by then, whatever their own timeout."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_last: ContextVar[float] = ContextVar("last", default=math.inf)


@contextmanager
def set_deadline(deadline: float | None) -> Iterator[None]:
    """Limit requests inside the block to a time of the monotonic clock; None for no limit."""
    token = _last.set(math.inf if deadline is None else deadline)
    try:
        yield
    finally:
        _last.reset(token)


def current_deadline() -> float:
    """Return the time by which a request must have ended; infinity when none is set."""
    return _last.get()
