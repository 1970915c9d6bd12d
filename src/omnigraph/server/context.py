"""One request as everything that serves it sees it: who asks, until when, and whether anybody still waits."""

from __future__ import annotations

import threading
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.base import clock
from omnigraph.base.errors import ResourceLimit

if TYPE_CHECKING:
    from omnigraph.server.graphs import ServedGraphs

CLIENT_GONE_STATUS = 499
"""The status, seen in the log alone, of a request whose client went away before its answer."""


class ClientGone(Exception):
    """Nobody waits for the answer any more; nobody is there to see this."""


class BrokenAnswer(Exception):
    """An answer that cannot be finished: the connection must end, so that nobody takes it for whole."""


@dataclass(slots=True)
class RequestState:
    """What is known of a request while it is served."""

    id: str
    method: str
    graphs: ServedGraphs
    """What is served to it, from its beginning to its end."""
    seconds: float = 0.0
    """How long it may take until its answer begins; 0 for any time."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the client has gone away, or the worker stops waiting for what runs."""
    has_left: bool = False
    """Whether the client has closed its connection."""
    body_bytes: int = 0
    """Of its body, as far as that is known before it is read."""
    is_conditional: bool = False
    """Whether it names the commit that must still be the head."""
    idempotency_key: str | None = None
    digest: str = ""
    """Of what it asks for, where it has a key and its body is read whole."""
    unknown_parameters: tuple[str, ...] = ()
    """Of its address: those that the route does not have."""
    known_parameters: tuple[str, ...] = ()
    """Those that it has."""
    route: str = ""
    """The template of its path."""
    graph: str | None = None
    actor: str | None = None
    code: str | None = None
    """Of the error that it was answered with."""
    commit: str | None = None
    storage: Counter[str] = field(default_factory=Counter)
    """Operations of storage that it took, by name."""
    began: float = field(default_factory=lambda: clock.current().monotonic())
    is_answering: bool = False
    """Whether its answer has begun: the deadline is over, and only the client can end it."""

    def check(self) -> None:
        """Raise when nobody waits any more, or the time is over; called at checkpoints of the engine."""
        if self.gone.is_set():
            raise ClientGone
        if self.seconds and not self.is_answering:
            used = clock.current().monotonic() - self.began
            if used > self.seconds:
                raise ResourceLimit(
                    f"the request took more than {self.seconds:g} seconds, and was given up",
                    resource="request_seconds",
                    limit=self.seconds,
                    actual=round(used, 3),
                )


_request: ContextVar[RequestState | None] = ContextVar("omnigraph_request", default=None)


def current_request() -> RequestState | None:
    """Return the request that is being served here."""
    return _request.get()


def enter_request(state: RequestState) -> None:
    """Make a request the one that this task serves."""
    _request.set(state)
