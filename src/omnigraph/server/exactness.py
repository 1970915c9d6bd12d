"""Callers that read integers of any size, as Python does, and mark the values that they send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from omnigraph.wire.marked import unmark
from omnigraph.wire.media import EXACT, VALUES_HEADER
from omnigraph.wire.values import are_exact, exact_values

_HEADER = (VALUES_HEADER.lower().encode(), EXACT.encode())


class ExactValues:
    """Answers requests with `Omnigraph-Values: exact` in that form."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and _HEADER in scope["headers"]:
            with exact_values():
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def read_params(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the parameters of a query, as values where the caller has marked them."""
    if given is None or not are_exact():
        return None if given is None else dict(given)
    return {name: unmark(value) for name, value in given.items()}
