"""Answers that are sent while they are made: a piece at a time, as fast as the client takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.base.errors import OmniError
from omnigraph.server.context import BrokenAnswer, ClientGone, current_request
from omnigraph.server.requests.engine_pool import current_pool

PIECE_BYTES = 64 * 1024
"""About how much is sent at once of what is made line by line."""
_SLICE_BYTES = 256 * 1024
"""The most that the connection is given at once: what the system does not take of it is copied."""


class StreamedAnswer(Response):
    """Pieces that an iterator makes in a thread. Errors before the first piece are answers like any other.

    The next piece is made when the client has taken the one before. An error in the middle breaks the
    connection, so that nobody takes a part for the whole.
    """

    def __init__(
        self,
        pieces: Iterable[bytes],
        media_type: str,
        headers: Mapping[str, str] | None = None,
        status_code: int = 200,
    ) -> None:
        self._pieces = iter(pieces)
        self._admission = current_pool().admission
        self._admission.begin_stream()
        try:
            self._first = next(self._pieces, None)
        except BaseException:
            self._close()
            raise
        self.status_code, self.media_type, self.background = status_code, media_type, None
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all pieces; the client's going ends the work."""
        request, pool = current_request(), current_pool()
        assert request is not None
        request.is_answering = True
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            piece = self._first
            self._first = None
            while piece is not None and not request.gone.is_set():
                for part in cut_slices([memoryview(piece)]):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                piece = await pool.run(next, self._pieces, None)
            if not request.gone.is_set():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except ClientGone:
            pass
        except OmniError as error:
            request.code = error.code
            raise BrokenAnswer from error
        finally:
            self._close()

    def _close(self) -> None:
        close = getattr(self._pieces, "close", None)
        try:
            if close is not None:
                close()
        except ValueError:
            pass  # a thread is still in it, and stops at its next checkpoint
        finally:
            self._admission.end_stream()


class HeldAnswer(Response):
    """An answer that is all there, in parts that lie somewhere in memory: it is sent from there."""

    def __init__(
        self, parts: Sequence[memoryview], media_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self._parts = parts
        self.status_code, self.media_type, self.background = 200, media_type, None
        size = sum(part.nbytes for part in parts)
        self.init_headers({**(headers or {}), "Content-Length": str(size)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it, unless the client goes."""
        request, admission = current_request(), current_pool().admission
        assert request is not None
        admission.begin_stream()
        request.is_answering = True
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            for part in cut_slices(self._parts):
                if request.gone.is_set():
                    return
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            admission.end_stream()


def cut_slices(parts: Iterable[memoryview], size: int = _SLICE_BYTES) -> Iterator[bytes]:
    """Yield the bytes of some parts in slices of a size, the last of them smaller; small parts are joined."""
    held: list[memoryview] = []
    length = 0
    for part in parts:
        start = 0
        while length + part.nbytes - start >= size:
            end = start + size - length
            yield b"".join((*held, part[start:end]))
            held, length, start = [], 0, end
        if start < part.nbytes:
            held.append(part[start:])
            length += part.nbytes - start
    if held:
        yield b"".join(held)


def join_lines(lines: Iterable[str], size: int = PIECE_BYTES) -> Iterator[bytes]:
    """Yield lines in pieces of about a size: a piece for each would be slow."""
    held: list[bytes] = []
    length = 0
    for line in lines:
        data = line.encode()
        held.append(data)
        length += len(data)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    if held:
        yield b"".join(held)


def render_event(name: str, data: str, id: Any = None) -> bytes:
    """Return an event as a stream of events (`text/event-stream`) has it."""
    marked = "" if id is None else f"id: {id}\n"
    return f"{marked}event: {name}\ndata: {data}\n\n".encode()
