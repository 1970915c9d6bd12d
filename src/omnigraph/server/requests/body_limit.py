"""Bodies that are read whole before anybody looks at them, up to a limit."""

from __future__ import annotations

import hashlib
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnigraph.base.errors import ResourceLimit
from omnigraph.server.context import current_request
from omnigraph.server.limits import RequestLimits
from omnigraph.server.requests.refusals import refuse, send_error
from omnigraph.wire.media import HANDLE_HEADER

_STREAMED = re.compile(r"/graphs/[^/]+/(?:load/[^/]+|jobs/load|blob)")
"""Paths whose routes read the body piece by piece, and count it themselves."""
_LARGE = re.compile(r"/graphs/[^/]+/(?:changes/apply|load)")
"""Paths whose bodies may be as large as those of loads."""


class BodyLimit:
    """Refuses bodies that are too large before they are held in memory."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body."""
        if scope["type"] == "http" and (coding := _find_coding(scope)) is not None:
            text = f"the body is encoded ({coding}): send it as it is, without Content-Encoding"
            refused = refuse(text, "unsupported_media_type", content_encoding=coding)
            await refused(scope, receive, send)
            return
        if scope["type"] != "http" or _STREAMED.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        # One buffer: a body that comes byte by byte must not become a million messages.
        body = bytearray()
        is_large = _LARGE.fullmatch(scope["path"]) is not None
        most = self._limits.load_bytes if is_large else self._limits.body_bytes
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if len(body) > most:
                error = ResourceLimit(
                    f"the body has more than {most} bytes", resource="body_bytes", limit=most
                )
                await send_error(send, error)
                return
            if not message.get("more_body"):
                break
        _note_digest(scope, bytes(body))
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)


def _note_digest(scope: Scope, body: bytes) -> None:
    """Note what a request with a key asks for: repeated, it must ask for the same."""
    state = current_request()
    if state is not None and state.idempotency_key is not None:
        handle = [value for name, value in scope["headers"] if name == HANDLE_HEADER.lower().encode()]
        parts = [scope["method"].encode(), scope["raw_path"], scope["query_string"], *handle, body]
        state.digest = hashlib.sha256(b"\0".join(parts)).hexdigest()


def _find_coding(scope: Scope) -> str | None:
    """Return how a body is said to be compressed, if it is."""
    for name, value in scope["headers"]:
        if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            return str(value.decode("latin-1"))
    return None
