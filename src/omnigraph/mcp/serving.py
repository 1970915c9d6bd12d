"""The two ways in: standard input and output of a process, and requests of an HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.protocol import RunsCalls, build_server
from omnigraph.mcp.registry import ToolRegistry
from omnigraph.mcp.source import ToolCaller
from omnigraph.sdk.aio.threads import CallStopped, Threads

_THREADS = 8
_caller: ContextVar[ToolCaller] = ContextVar("omnigraph_mcp_caller")


def serve_stdio(caller: ToolCaller, limits: ToolLimits) -> None:
    """Answer calls on standard input and output until the input ends."""
    asyncio.run(_serve_stdio(caller, limits))


async def _serve_stdio(caller: ToolCaller, limits: ToolLimits) -> None:
    threads = Threads(_THREADS)

    async def run(call: Callable[[], Any], writes: bool) -> Any:
        return await threads.run(call)

    server = build_server(ToolRegistry(limits), lambda: caller, run, (CallStopped,))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class HttpHost:
    """Answers requests of an HTTP server, each for its own caller; begun with the first one.

    No session outlives a request: any process that serves the graph can answer the next.
    """

    def __init__(self, limits: ToolLimits, run: RunsCalls, given_up: tuple[type[Exception], ...]) -> None:
        self._server: Server[Any] = build_server(ToolRegistry(limits), _caller.get, run, given_up)
        self._manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        self.ready = asyncio.Event()
        """Set when requests can be answered."""
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Be ready for requests; the same event loop must stop it."""
        self._task = asyncio.get_running_loop().create_task(self._hold())
        await self.ready.wait()

    async def stop(self) -> None:
        """Answer nothing more."""
        self._stop.set()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def answer(
        self, caller: ToolCaller, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        """Answer one request."""
        token = _caller.set(caller)
        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            _caller.reset(token)

    async def _hold(self) -> None:
        async with self._manager.run():
            self.ready.set()
            await self._stop.wait()
