"""Keeping to a provider's limits: requests spaced out, and everyone waiting when it says so."""

from __future__ import annotations

import math
import threading

from omnigraph.base import clock


class RateLimit:
    """When the next request may go out; shared by all threads of a client."""

    def __init__(self, per_minute: int) -> None:
        """Take how many requests a minute may have; 0 for any number."""
        self._gap = 60 / per_minute if per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self, last: float = math.inf) -> float:
        """Wait until a request may go out, or to a last moment, and return how long that took, in seconds."""
        now = clock.current()
        with self._lock:
            moment = now.monotonic()
            pause = max(0.0, min(self._next, last) - moment)
            self._next = max(self._next, moment) + self._gap
        if pause:
            now.sleep(pause)
        return pause

    def hold(self, seconds: float) -> None:
        """Let nobody send a request for a while: the provider asked for it."""
        with self._lock:
            self._next = max(self._next, clock.current().monotonic() + seconds)
