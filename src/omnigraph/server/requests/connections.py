"""Connections: one that sends or takes nothing, or its head slowly, is closed; what is not HTTP is told."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from omnigraph.base.errors import BadInput
from omnigraph.server.limits import RequestLimits
from omnigraph.wire.errors import answer_error

_MOST_HEAD_BYTES = 64 * 1024
"""Of what is neither a head that is whole nor a part of a body: the parser would keep any amount of it."""


class PatientConnection(HttpToolsProtocol):
    """One connection. A client has as long for the head of a request as for any other part of it.

    A connection that is closed sends first what waits to be sent: to a client that takes nothing, for ever.
    So each is looked at now and then, and one that has not gone on since the last look is cut off.
    """

    _unread = 0
    """Bytes since the parser told of anything: of a head, or of what may stand around pieces of a body."""
    _deadline: asyncio.TimerHandle | None = None
    _next_look: asyncio.TimerHandle | None = None
    _resumed = 0
    """How often the client has taken what was waiting for it."""
    _stuck_at: int | None = None
    """The number above when a look found that the client was waited for."""

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait_for_head()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        """Take some bytes: of a head, or of a body, for which the request itself has a limit."""
        self._unread += len(data)
        self._feed(data)
        if self._unread > _MOST_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The request cannot be read.")
        elif self._is_between_requests():
            self._wait_for_head()
        else:
            self._stop_waiting()

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            self._begin_anew(data[stopped.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("The request cannot be read.")

    def _should_upgrade(self) -> bool:
        return True  # a request that asks for another protocol is not begun as it stands

    def _begin_anew(self, rest: bytes) -> None:
        """Begin a request as if it did not ask for another protocol: the parser passes over its body else."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            self.send_400_response("The request cannot be read.")
            return
        lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self._feed(b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(lines)) + rest)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header; one that comes behind a body says nothing any more."""
        if self.cycle is None or self.cycle.scope is not self.scope:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin a request."""
        self._unread = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a body."""
        self._unread = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Tell that a request cannot be read, in the shape of every error, unless an answer is on its way."""
        if not self._is_between_requests():
            self.transport.close()
            return
        refused = answer_error(BadInput(f"{msg} Its head is too long, or is not that of HTTP/1.1."))
        body = json.dumps(refused.body).encode()
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def resume_writing(self) -> None:
        """Go on with an answer."""
        self._resumed += 1
        super().resume_writing()

    def _look_later(self) -> None:
        if seconds := _find_limit():
            self._next_look = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        is_waiting = self.transport.is_closing() or self.flow.write_paused
        if not is_waiting or self.transport.get_write_buffer_size() == 0:
            self._stuck_at = None
        elif self._stuck_at == self._resumed:
            self.transport.abort()
            return
        else:
            self._stuck_at = self._resumed
        self._look_later()

    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        seconds = _find_limit()
        if self._deadline is None and seconds:
            self._deadline = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self._is_between_requests():
            self.transport.close()


@cache
def _find_limit() -> float:
    return RequestLimits.from_environment().stall_seconds
