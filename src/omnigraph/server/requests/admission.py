"""Who may begin: writes of each actor, and streams of all, of one worker; more are told to come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from omnigraph.base.errors import TooManyRequests
from omnigraph.server.limits import RequestLimits


class Admission:
    """What runs now in this worker; every worker counts its own."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._requests: Counter[str | None] = Counter()
        self._bytes: Counter[str | None] = Counter()
        self._streams = 0

    @contextmanager
    def admit(self, actor: str | None, size: int) -> Iterator[None]:
        """Count a write of an actor while the block runs; refuse one too many."""
        with self._lock:
            self._check(actor, "requests", self._requests[actor] + 1, self._limits.actor_requests)
            # One that is alone may be of any size: its own limit is that of the body.
            if self._requests[actor]:
                self._check(actor, "bytes", self._bytes[actor] + size, self._limits.actor_bytes)
            self._requests[actor] += 1
            self._bytes[actor] += size
        try:
            yield
        finally:
            with self._lock:
                self._requests[actor] -= 1
                self._bytes[actor] -= size
                if not self._requests[actor]:
                    del self._requests[actor], self._bytes[actor]

    def begin_stream(self) -> None:
        """Count an answer that is streamed; refuse one too many."""
        with self._lock:
            if self._streams >= self._limits.streams:
                raise TooManyRequests(
                    f"this worker streams {self._streams} answers, and may not stream more: come back later",
                    resource="streams",
                    limit=self._limits.streams,
                )
            self._streams += 1

    def end_stream(self) -> None:
        """Count it no more."""
        with self._lock:
            self._streams -= 1

    @property
    def streams(self) -> int:
        """How many answers are streamed now."""
        return self._streams

    def _check(self, actor: str | None, resource: str, wanted: int, limit: int) -> None:
        if wanted > limit:
            who = "everybody together has" if actor is None else f"{actor!r} has"
            raise TooManyRequests(
                f"{who} more than {limit} {resource} of writes in flight in this worker: come back later",
                resource=f"actor_{resource}",
                limit=limit,
                actual=wanted,
            )
