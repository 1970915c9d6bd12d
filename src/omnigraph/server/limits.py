"""How much a request may send."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIB = 1024 * 1024
_LARGE = re.compile(r"/graphs/[^/]+/(load/[^/]+|blob|changes/apply)")
_COUNTED = re.compile(r"/graphs/[^/]+/(load/[^/]+|blob)")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """RequestLimits of requests, in bytes."""

    body_bytes: int = MIB
    load_bytes: int = 32 * MIB
    """Of the body of a load, which is written to a file first, of a blob, and of a block of a feed."""


class BodyLimit:
    """Refuses bodies that are too large before they are held in memory; a load counts its own."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting what it sends."""
        if scope["type"] != "http" or _COUNTED.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        taken, parts = 0, []
        is_large = _LARGE.fullmatch(scope["path"])
        most = self._limits.load_bytes if is_large else self._limits.body_bytes
        while True:
            message = await receive()
            parts.append(message)
            taken += len(message.get("body", b""))
            if taken > most:
                await _refuse(send, most)
                return
            if message["type"] != "http.request" or not message.get("more_body"):
                break
        waiting = iter(parts)

        async def replay() -> Message:
            return next(waiting, None) or await receive()

        await self._app(scope, replay, send)


async def _refuse(send: Send, most: int) -> None:
    body = {
        "error": f"the body has more than {most} bytes",
        "code": "resource_limit",
        "retryable": False,
        "details": {"resource": "body_bytes", "limit": most},
    }
    await send(
        {
            "type": "http.response.start",
            "status": 413,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
