"""A short way to what is asked most, queries and mutations: past the framework's search for routes.

Only a request that is right takes it. Any other goes the long way, where whatever is wrong is said.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette._utils import get_route_path
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnigraph.base.errors import OmniError
from omnigraph.server.calls import find_call, read_write_headers
from omnigraph.server.requests.refusals import answer_of
from omnigraph.wire.media import HANDLE_HEADER, IF_COMMIT_HEADER, JSON, KEY_HEADER

_PARTS = 4
"""Of a path like `/graphs/NAME/query`, split at its slashes."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A route of a graph that takes a body of JSON, and of headers what every read or write takes."""

    route: APIRoute
    body: type[BaseModel]
    writes: bool = False

    async def call(self, request: Request, graph: str, body: BaseModel) -> Response:
        """Return the answer of the route's function."""
        given = request.headers.get
        told: dict[str, Any] = {"call": await find_call(request, graph, given(HANDLE_HEADER)), "body": body}
        if self.writes:
            told["headers"] = await read_write_headers(given(KEY_HEADER), given(IF_COMMIT_HEADER))
        else:
            told["accept"] = given("accept")
        work: Callable[..., Awaitable[Response]] = self.route.endpoint
        return await work(**told)


class Shortcuts:
    """Answers what has a shortcut, and passes everything else on."""

    def __init__(self, app: ASGIApp, routes: Mapping[str, Shortcut]) -> None:
        """Take shortcuts by the last word of their paths."""
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        found = self._find(scope)
        if found is None:
            await self._app(scope, receive, send)
            return
        graph, shortcut = found
        message = await receive()
        body = _read_body(shortcut.body, message)
        if body is None:
            await self._app(scope, _begin_with(message, receive), send)
            return
        scope["route"], scope["path_params"] = shortcut.route, {"graph": graph}
        try:
            answer = await shortcut.call(Request(scope, receive), graph, body)
            await answer(scope, receive, send)
        except OmniError as error:
            await answer_of(error)(scope, receive, send)

    def _find(self, scope: Scope) -> tuple[str, Shortcut] | None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"]:
            return None
        parts = get_route_path(scope).split("/", _PARTS)
        if len(parts) != _PARTS or parts[1] != "graphs" or not parts[2]:
            return None
        shortcut = self._routes.get(parts[3])
        if shortcut is None or (b"content-type", JSON.encode()) not in scope["headers"]:
            return None
        return parts[2], shortcut


def find_route(router: APIRouter, path: str) -> APIRoute:
    """Return the route of a path."""
    return next(route for route in router.routes if isinstance(route, APIRoute) and route.path == path)


def _read_body(model: type[BaseModel], message: Message) -> BaseModel | None:
    """Return the body of a request, which came as one message; None where it is not what it should be."""
    if message["type"] != "http.request" or message.get("more_body"):
        return None
    try:
        return model.model_validate(json.loads(message["body"]))
    except (ValueError, ValidationError, RecursionError):
        return None


def _begin_with(message: Message, receive: Receive) -> Receive:
    held = [message]

    async def replay() -> Message:
        return held.pop() if held else await receive()

    return replay
