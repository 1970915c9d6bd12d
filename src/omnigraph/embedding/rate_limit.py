"""A provider's rate limit: requests are spaced out, and all wait when the provider asks for it."""

from __future__ import annotations

import math
import threading

from omnigraph.base import clock


class RateLimit:
    """The time at which the next request may be sent; shared by all threads of a client."""

    def __init__(self, per_minute: int) -> None:
        """Allow `per_minute` requests a minute; 0 for any number."""
        self._gap = 60 / per_minute if per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self, last: float = math.inf) -> float:
        """Wait until a request may be sent, or until `last`, and return the seconds waited."""
        now = clock.current()
        with self._lock:
            started = now.monotonic()
            pause = max(0.0, min(self._next, last) - started)
            self._next = max(self._next, started) + self._gap
        if pause:
            now.sleep(pause)
        return pause

    def hold(self, seconds: float) -> None:
        """Delay all requests for a while, as the provider asked."""
        with self._lock:
            self._next = max(self._next, clock.current().monotonic() + seconds)
