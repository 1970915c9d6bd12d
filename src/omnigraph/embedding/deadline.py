"""When whoever waits for vectors has no more time: requests end by then, whatever their own deadline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_last: ContextVar[float] = ContextVar("last", default=math.inf)


@contextmanager
def set_deadline(moment: float | None) -> Iterator[None]:
    """Let no request of the work inside go on beyond a moment of the monotonic clock; None for any time."""
    token = _last.set(math.inf if moment is None else moment)
    try:
        yield
    finally:
        _last.reset(token)


def current_deadline() -> float:
    """Return the moment by which a request must have ended; infinite when nobody set one."""
    return _last.get()
