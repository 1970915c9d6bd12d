"""Connections to one server: kept open, used by one request at a time, left when the server closes them."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from threading import Lock
from urllib.parse import urlsplit

from omnigraph.base.cancellation import checkpoint, is_watched
from omnigraph.base.errors import BadInput

_CONNECT_SECONDS = 10.0
_POLL_MILLISECONDS = 50
_MAX_IDLE_CONNECTIONS = 16
_PIECE_BYTES = 1 << 16
SentContent = bytes | Iterator[bytes] | None
BROKEN = (OSError, HTTPException)


class NotSent(Exception):
    """The server was not reached: it knows nothing of the request."""


class Lost(Exception):
    """The connection broke after a request was begun: whether it was carried out is not known."""


class Answer:
    """The answer to a request, read at the pace of the reader; to close it gives its connection back."""

    closed = False

    def __init__(self, response: HTTPResponse, connection: HTTPConnection, pool: Connections) -> None:
        self._response, self._connection, self._pool = response, connection, pool
        self.status = response.status
        self.headers = response.headers
        self.content = b""
        """All of it, once it is loaded."""

    def load(self) -> None:
        """Read all of the answer and give its connection back."""
        try:
            self.content = self.read()
        finally:
            self.close()

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end."""
        checkpoint()
        try:
            return self._response.read(None if size < 0 else size)
        except BROKEN as error:
            raise Lost(_error_text(error)) from error

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, while they come."""
        rest = b""
        while piece := self._read_some():
            whole = (rest + piece).split(b"\n")
            rest = whole.pop()
            yield from whole
        if rest:
            yield rest

    def _read_some(self) -> bytes:
        checkpoint()
        try:
            return self._response.read1(_PIECE_BYTES)
        except BROKEN as error:
            raise Lost(_error_text(error)) from error

    def close(self) -> None:
        """Give the connection back; one whose answer was not read to its end is closed instead."""
        self._pool.give_back(self._connection, is_done=self._response.isclosed())


def no_graph_at(uri: str) -> BadInput:
    """Return the error for an address that is none of a graph."""
    return BadInput(f"{uri!r} is not the address of a graph on a server: use http://host/graphs/name")


class Connections:
    """The connections to one server, for all threads of a program."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError as error:
            raise BadInput(f"{uri!r} is not the address of a graph: {error}") from None
        if not self._host or parts.query or parts.fragment or parts.username is not None:
            raise no_graph_at(uri)
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._idle: list[HTTPConnection] = []
        self._lock = Lock()

    def send(self, method: str, target: str, headers: Mapping[str, str], body: SentContent) -> Answer:
        """Send a request and return its answer, whatever status it has."""
        connection = self._take() or self._connect()
        try:
            # A server that refuses a body may have answered before all of it was sent.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, target, body, dict(headers), encode_chunked=_is_chunked(body))
            if is_watched():
                _await(connection.sock)
            response = connection.getresponse()
            if response.length is None and not response.chunked:
                raise IncompleteRead(b"")  # headers that break off are not told by the library
            return Answer(response, connection, self)
        except BROKEN as error:
            connection.close()
            raise Lost(_error_text(error)) from error
        except BaseException:
            connection.close()  # whoever asked does not wait any more: the server sees that, and stops
            raise

    def give_back(self, connection: HTTPConnection, is_done: bool) -> None:
        """Keep a connection for the next request, unless an answer is still in it."""
        with self._lock:
            if is_done and connection.sock is not None and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close what is not in use; the next request connects again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> HTTPConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.sock is not None and not _has_input(connection.sock, 0):
                return connection
            connection.close()  # the server has closed it

    def _connect(self) -> HTTPConnection:
        connection = self._kind(self._host or "", self._port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except BROKEN as error:
            raise NotSent(_error_text(error)) from error
        connection.sock.settimeout(None)  # a query takes as long as it takes
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection


def _is_chunked(body: SentContent) -> bool:
    return body is not None and not isinstance(body, bytes)


def _await(sock: socket.socket) -> None:
    """Wait for an answer while its caller still waits."""
    while not _has_input(sock, _POLL_MILLISECONDS):
        checkpoint()


def _has_input(sock: socket.socket, milliseconds: int) -> bool:
    waiting = select.poll()
    waiting.register(sock, select.POLLIN)
    return bool(waiting.poll(milliseconds))


def _error_text(error: BaseException) -> str:
    return str(error) or type(error).__name__
