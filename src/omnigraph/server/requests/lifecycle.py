"""What every request has around it: an id, a deadline, a line in the log, and an end when its client goes."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, OmniError, ResourceLimit, Unavailable
from omnigraph.base.ids import new_ulid
from omnigraph.server.context import CLIENT_GONE_STATUS, BrokenAnswer, ClientGone, RequestState, enter_request
from omnigraph.server.limits import RequestLimits
from omnigraph.server.observe.traces import Traces
from omnigraph.server.requests.engine_pool import enter_pool
from omnigraph.server.requests.refusals import send_error
from omnigraph.wire.media import (
    COMMIT_HEADER,
    IF_COMMIT_HEADER,
    KEY_HEADER,
    REQUEST_HEADER,
    REVISION_HEADER,
    TIMEOUT_HEADER,
    read_header,
)

_log = logging.getLogger("omnigraph.server.requests")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_FAILED = "the server has failed; its log says why, under the id of the request"
_STOPPING = "the server is stopping: ask again; a write with an idempotency key is not done twice"
_GRAPH = "/graphs/{graph}"
_WATCH_SECONDS = 0.01
"""After how long somebody looks whether the client is still there: most requests are answered before."""


class RequestLifecycle:
    """Serves each request with its state, and tells what became of it."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        state = _read_state(scope, headers, self._limits)
        enter_request(state)
        enter_pool(scope["app"].state.pool)
        wire = _Wire(state, receive, send, self._limits)
        traces: Traces | None = scope["app"].state.traces
        span = None if traces is None else traces.begin(state.method, headers)
        try:
            state.seconds = _read_seconds(headers.get(TIMEOUT_HEADER.lower()), self._limits.request_seconds)
            await self._app(scope, wire.receive, wire.send)
        except OmniError as error:
            if wire.status is None:
                await send_error(wire.send, error)
        except (ClientGone, asyncio.CancelledError):  # the server stops, and waits no longer
            if wire.status is None and not state.has_left:
                await send_error(wire.send, Unavailable(_STOPPING))
        except (ClientDisconnect, BrokenAnswer, TimeoutError):
            pass  # the connection ends when this returns before the answer is complete
        except Exception as error:
            _log.error("%s failed", state.method, exc_info=error)
            if wire.status is None:
                await send_error(wire.send, OmniError(_FAILED))
        finally:
            state.gone.set()
            wire.close()
            facts = _sum_up(scope, state, wire)
            _log.info("request", extra={"facts": facts})
            scope["app"].state.metrics.count_request(facts)
            if traces is not None:
                traces.end(span, facts)


class _Wire:
    """Both directions of a request: what has passed, and whether the client is still there."""

    def __init__(self, state: RequestState, receive: Receive, send: Send, limits: RequestLimits) -> None:
        self.taken = self.sent = 0
        self.status: int | None = None
        self.is_complete = False
        self._state, self._receive, self._send = state, receive, send
        self._stall, self._pace = limits.stall_seconds or None, limits.body_pace
        self._waited = 0.0
        """Seconds in which the client owed a part of its body."""
        self._has_body = False
        self._left = asyncio.Event()
        self._watch_later: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        """Return a part of the body; after the last one, wait for the client to go."""
        if self._has_body:
            await self._left.wait()
            return {"type": "http.disconnect"}
        began = clock.current().monotonic()
        left = self._time_for_body()
        try:
            async with asyncio.timeout(left):
                message = await self._receive()
        except TimeoutError:
            raise self._too_slow(left) from None
        self._waited += clock.current().monotonic() - began
        if message["type"] != "http.request":
            self._note_gone()
            return message
        self.taken += len(message.get("body", b""))
        if not message.get("more_body"):
            self._has_body = True
            self._watch_later = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._begin_watch)
        return message

    def _begin_watch(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    def _time_for_body(self) -> float | None:
        """Return how long the next part of a body may take: one that comes byte by byte has an end, too."""
        if self._stall is None or not self._pace:
            return self._stall
        return max(0.0, min(self._stall, self._stall + self.taken / self._pace - self._waited))

    def _too_slow(self, waited: float | None) -> ResourceLimit:
        if waited == self._stall:
            return ResourceLimit(
                f"the client sent nothing of its body for {waited:g} seconds",
                resource="stall_seconds",
                limit=waited,
            )
        return ResourceLimit(
            f"the client sent {self.taken} bytes of its body in {self._waited + (waited or 0):.0f} seconds: "
            f"send it faster than {self._pace:g} bytes a second",
            resource="body_pace",
            limit=self._pace,
            actual=self.taken,
        )

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on; a client that takes nothing for long is left."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._headers(message)}
        else:
            self.sent += len(message.get("body", b""))
        try:
            async with asyncio.timeout(self._stall):
                await self._send(message)
        except TimeoutError:
            self._note_gone()
            raise
        self.is_complete = message["type"] == "http.response.body" and not message.get("more_body")

    def close(self) -> None:
        """Watch no more."""
        if self._watch_later is not None:
            self._watch_later.cancel()
        if self._watcher is not None:
            self._watcher.cancel()

    def _headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        headers = list(message.get("headers", []))
        for name, value in headers:
            if name.lower() == COMMIT_HEADER.lower().encode():
                self._state.commit = value.decode("latin-1")
        added = {REQUEST_HEADER: self._state.id}
        if (revision := self._state.graphs.revision) is not None:
            added[REVISION_HEADER] = str(revision.number)
        return [*headers, *((name.lower().encode(), value.encode()) for name, value in added.items())]

    async def _watch(self) -> None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._note_gone()

    def _note_gone(self) -> None:
        self._state.has_left = True
        self._state.gone.set()
        self._left.set()


def _sum_up(scope: Scope, state: RequestState, wire: _Wire) -> dict[str, Any]:
    """Return what is told of a request in the log, the metrics and traces."""
    route = getattr(scope.get("route"), "path", "")
    state.graph = (scope.get("path_params") or {}).get("graph") if route else None
    state.route = _GRAPH + route if state.graph is not None and not route.startswith(_GRAPH) else route
    facts: dict[str, Any] = {
        "request_id": state.id,
        "method": state.method,
        "route": state.route or None,
        "graph": state.graph,
        "actor": state.actor,
        "status": wire.status if wire.status is not None else CLIENT_GONE_STATUS,
        "complete": wire.is_complete,
        "code": state.code,
        "commit": state.commit,
        "seconds": round(clock.current().monotonic() - state.began, 6),
        "bytes_in": wire.taken,
        "bytes_out": wire.sent,
        "storage": dict(state.storage) or None,
    }
    return {key: item for key, item in facts.items() if item is not None}


def _read_state(scope: Scope, headers: dict[str, str], limits: RequestLimits) -> RequestState:
    given = headers.get(REQUEST_HEADER.lower(), "")
    length = headers.get("content-length", "")
    size = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else limits.body_bytes
    id = given if _ID.fullmatch(given) else new_ulid()
    state = RequestState(id, scope["method"], scope["app"].state.served.now)
    state.body_bytes = size
    key = headers.get(KEY_HEADER.lower())
    state.idempotency_key = None if key is None else read_header(key)
    state.is_conditional = IF_COMMIT_HEADER.lower() in headers
    return state


def _read_seconds(given: str | None, most: float) -> float:
    """Return how long a request may take: what it asks for, at most what the server allows."""
    if given is None:
        return most
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise BadInput(f"{TIMEOUT_HEADER} is {given!r}: give seconds")
    return min(seconds, most) if most else seconds
