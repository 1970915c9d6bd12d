"""One request and its answer on an open connection, in the words of HTTP/1.1; what breaks is `BROKEN`."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress

from omnigraph.base.errors import BadInput

SentContent = bytes | Iterator[bytes] | None

_SMALL_BYTES = 1 << 16
"""Of a body that is sent together with the head."""
_MOST_LINE_BYTES = 1 << 16
_MOST_HEADERS = 256
_PIECE_BYTES = 1 << 20
"""Memory is taken for what has come, not for what an answer says that there will be."""
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
_EMPTY_STATUSES = frozenset({204, 304})
_FIRST_FINAL_STATUS = 200
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?\r?\n")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?\n")
_LENGTH = re.compile("[0-9]{1,18}")
_NOT_IN_HEADERS = re.compile("[\0-\x08\n-\x1f\x7f\ud800-\udfff]")
_NOT_IN_TARGETS = re.compile("[^!-~]")


class Malformed(Exception):
    """What came is not an answer, or not all of one."""


BROKEN = (OSError, Malformed)


class Exchange:
    """An open connection: requests are sent over it one after the other, each when the last is answered."""

    def __init__(self, sock: socket.socket, host: str) -> None:
        self.sock = sock
        self._host = host
        self._file = sock.makefile("rb")
        """Of one answer: what came behind it is not taken for the next."""
        self._method = ""
        self._closes = False
        """Whether the server closes the connection after this answer."""
        self._is_chunked = False
        self._left = 0
        """Bytes of the body, or of a chunk of it, that are still to come."""
        self.is_done = False
        """Whether the answer was read to its end, so that another request can be sent."""

    def send(self, method: str, target: str, headers: Mapping[str, str], body: SentContent) -> None:
        """Send a request; a body that is an iterator is sent piece by piece."""
        head = self._write_head(method, target, headers, body)
        self._method, self.is_done = method, False
        self._file.close()
        self._file = self.sock.makefile("rb")
        # A server that refuses a body may have answered before all of it was sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            if body is None or isinstance(body, bytes):
                self._send_whole(head, body or b"")
                return
            self.sock.sendall(head)
            for piece in body:
                if piece:
                    self.sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.sock.sendall(b"0\r\n\r\n")

    def _send_whole(self, head: bytes, body: bytes) -> None:
        if len(body) <= _SMALL_BYTES:
            self.sock.sendall(head + body)  # at once: the server wakes up once
            return
        self.sock.sendall(head)
        self.sock.sendall(body)

    def _write_head(self, method: str, target: str, headers: Mapping[str, str], body: SentContent) -> bytes:
        if _NOT_IN_TARGETS.search(target):
            raise BadInput(f"{target!r} is not an address: it has spaces or letters that no address may have")
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}", "Accept-Encoding: identity"]
        for name, value in headers.items():
            if _NOT_IN_HEADERS.search(value):
                raise BadInput(
                    f"{name} has characters that cannot be sent, such as a line break at its end", header=name
                )
            lines.append(f"{name}: {value}")
        if isinstance(body, bytes) or (body is None and method in _BODY_METHODS):
            lines.append(f"Content-Length: {len(body or b'')}")
        elif body is not None:
            lines.append("Transfer-Encoding: chunked")
        return "\r\n".join((*lines, "\r\n")).encode()

    def read_head(self) -> tuple[int, dict[str, str]]:
        """Return the status of the answer and its headers, by their names in small letters."""
        while True:
            line = self._read_line()
            found = _STATUS_LINE.fullmatch(line)
            if found is None:
                raise Malformed(
                    "the connection was closed" if not line else "the answer is not that of HTTP/1.1"
                )
            headers = self._read_headers()
            status = int(found[2])
            if status >= _FIRST_FINAL_STATUS:
                self._begin_body(status, headers, is_old=found[1] == b"0")
                return status, headers

    def _begin_body(self, status: int, headers: Mapping[str, str], is_old: bool) -> None:
        self._closes = is_old or "close" in headers.get("connection", "").lower()
        self._is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        length = headers.get("content-length", "")
        self._left = 0
        if self._method == "HEAD" or status in _EMPTY_STATUSES:
            self._is_chunked = False
        elif not self._is_chunked:
            if _LENGTH.fullmatch(length) is None:
                raise Malformed("the answer does not say where it ends")
            self._left = int(length)
        self.is_done = not self._left and not self._is_chunked

    def _read_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for _ in range(_MOST_HEADERS):
            line = self._read_line()
            if line in (b"\r\n", b"\n"):
                return headers
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or not line.endswith(b"\n"):
                raise Malformed("the headers of the answer break off")
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        raise Malformed(f"the answer has more than {_MOST_HEADERS} headers")

    def _read_line(self) -> bytes:
        line = self._file.readline(_MOST_LINE_BYTES)
        if len(line) == _MOST_LINE_BYTES:
            raise Malformed("a line of the answer is too long")
        return line

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes of the body, fewer at its end; all of them unless a size is given."""
        pieces = []
        while size and (piece := self._read_piece(size)):
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read_some(self, most: int) -> bytes:
        """Return what there is of the body, at most so many bytes, and none at its end."""
        return self._read_piece(most, waits=False)

    def _read_piece(self, size: int, waits: bool = True) -> bytes:
        if not self._left and not self._begin_chunk():
            return b""
        wanted = min(self._left, _PIECE_BYTES if size < 0 else min(size, _PIECE_BYTES))
        piece = self._file.read(wanted) if waits else self._file.read1(wanted)
        if not piece or (waits and len(piece) < wanted):
            raise Malformed("the answer breaks off")
        self._left -= len(piece)
        if not self._left:
            if self._is_chunked:
                self._end_line()
            else:
                self.is_done = True
        return piece

    def _begin_chunk(self) -> bool:
        """Read how long the next chunk is; the last has no bytes, and ends the answer."""
        if self.is_done or not self._is_chunked:
            return False
        size = _CHUNK_SIZE.match(self._read_line())
        if size is None:
            raise Malformed("the answer breaks off")
        self._left = int(size[1], 16)
        if not self._left:
            self._read_headers()
            self.is_done = True
        return self._left > 0

    def _end_line(self) -> None:
        if self._read_line() not in (b"\r\n", b"\n"):
            raise Malformed("the answer breaks off")

    @property
    def can_go_on(self) -> bool:
        """Whether another request can be sent."""
        return self.is_done and not self._closes

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            self._file.close()
        self.sock.close()
