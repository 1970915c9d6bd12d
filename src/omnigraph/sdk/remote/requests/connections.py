"""Connections to one server: kept open, used by one request at a time, left when the server closes them."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPSConnection
from threading import Lock
from urllib.parse import urlsplit

from omnigraph.base.cancellation import checkpoint, is_watched
from omnigraph.base.errors import BadInput
from omnigraph.sdk.remote.requests.exchange import BROKEN, Exchange, SentContent

_CONNECT_SECONDS = 10.0
_POLL_MILLISECONDS = 50
_MAX_IDLE_CONNECTIONS = 16
_PIECE_BYTES = 1 << 16


class NotSent(Exception):
    """The server was not reached: it knows nothing of the request."""


class Lost(Exception):
    """The connection broke after a request was begun: whether it was carried out is not known."""


class Answer:
    """The answer to a request, read at the pace of the reader; to close it gives its connection back."""

    def __init__(
        self, status: int, headers: Mapping[str, str], exchange: Exchange, pool: Connections
    ) -> None:
        self.status, self.headers = status, headers
        """Headers are named in small letters."""
        self._exchange, self._pool = exchange, pool
        self.closed = False
        self.content = b""
        """All of it, once it is loaded."""

    @property
    def media_type(self) -> str:
        """The form of what it holds."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

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
            return self._exchange.read(size)
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
            return self._exchange.read_some(_PIECE_BYTES)
        except BROKEN as error:
            raise Lost(_error_text(error)) from error

    def close(self) -> None:
        """Give the connection back; one whose answer was not read to its end is closed instead."""
        if not self.closed:
            self.closed = True
            self._pool.give_back(self._exchange)


def no_graph_at(uri: str) -> BadInput:
    """Return the error for an address that is none of a graph."""
    return BadInput(f"{uri!r} is not the address of a graph on a server: use http://host/graphs/name")


class Connections:
    """The connections to one server, for all threads of a program."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        try:
            self._host, self._port = parts.hostname, parts.port
            (self._host or "").encode("idna")
        except ValueError as error:
            raise BadInput(f"{uri!r} is not the address of a graph: {error}") from None
        if not self._host or parts.query or parts.fragment or parts.username is not None:
            raise no_graph_at(uri)
        self._name = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._idle: list[Exchange] = []
        self._lock = Lock()

    def send(self, method: str, target: str, headers: Mapping[str, str], body: SentContent) -> Answer:
        """Send a request and return its answer, whatever status it has."""
        exchange = self._take() or self._connect()
        try:
            exchange.send(method, target, headers, body)
            if is_watched():
                _await(exchange.sock)
            return Answer(*exchange.read_head(), exchange, self)
        except BROKEN as error:
            exchange.close()
            raise Lost(_error_text(error)) from error
        except BaseException:
            exchange.close()  # whoever asked does not wait any more: the server sees that, and stops
            raise

    def give_back(self, exchange: Exchange) -> None:
        """Keep a connection for the next request, unless an answer is still in it."""
        with self._lock:
            if exchange.can_go_on and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                self._idle.append(exchange)
                return
        exchange.close()

    def close(self) -> None:
        """Close what is not in use; the next request connects again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for exchange in idle:
            exchange.close()

    def _take(self) -> Exchange | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                exchange = self._idle.pop()
            if not _has_input(exchange.sock, 0):
                return exchange
            exchange.close()  # the server has closed it

    def _connect(self) -> Exchange:
        connection = self._kind(self._host or "", self._port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            raise NotSent(_error_text(error)) from error
        sock = connection.sock
        sock.settimeout(None)  # a query takes as long as it takes
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return Exchange(sock, self._name)


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
