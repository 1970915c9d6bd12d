"""Agents that call tools with the official client of MCP, over the input of a process or over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import omnigraph as og
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.protocol import build_server
from omnigraph.mcp.registry import ToolRegistry
from omnigraph.mcp.source import ToolCaller, source_of
from omnigraph.sdk.aio.threads import Threads

_PROGRAM = "from omnigraph.cli.main import run; run()"


@dataclass(frozen=True)
class Agent:
    """A client that is connected."""

    client: Client

    async def tools(self) -> dict[str, types.Tool]:
        """Return the tools that are listed."""
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Return the answer of a tool, which must be no error, and is the same as text."""
        done = await self.client.call_tool(name, arguments)
        assert isinstance(done, types.CallToolResult)
        assert not done.is_error, done.content
        (content,) = done.content
        assert isinstance(content, types.TextContent)
        assert json.loads(content.text) == done.structured_content
        return done.structured_content

    async def fail(self, name: str, /, **arguments: Any) -> Any:
        """Return the error of a tool."""
        done = await self.client.call_tool(name, arguments)
        assert isinstance(done, types.CallToolResult)
        assert done.is_error, done.structured_content
        return done.structured_content


@asynccontextmanager
async def agent_here(
    graph: og.Graph, *, read_only: bool = False, mode: str = "auto", **limits: int
) -> AsyncIterator[Agent]:
    """Connect to a server in this process, without a wire."""
    threads = Threads(4)

    async def run(call: Callable[[], Any], writes: bool) -> Any:
        return await threads.run(call)

    caller = ToolCaller(source_of(graph), graph.actor, read_only)
    server = build_server(ToolRegistry(ToolLimits(**limits)), lambda: caller, run)
    async with Client(server, mode=mode) as client:
        yield Agent(client)


@asynccontextmanager
async def agent_by_process(*words: str, mode: str = "auto", **environment: str) -> AsyncIterator[Agent]:
    """Connect to `omnigraph mcp` with these words."""
    told = {**os.environ, **environment}
    parameters = StdioServerParameters(command=sys.executable, args=["-c", _PROGRAM, "mcp", *words], env=told)
    async with Client(parameters, mode=mode) as client:
        yield Agent(client)


@asynccontextmanager
async def agent_by_http(url: str, token: str | None = None, mode: str = "auto") -> AsyncIterator[Agent]:
    """Connect to an address, as who has a token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=300) as http:
        transport = streamable_http_client(url, http_client=http, terminate_on_close=False)
        async with Client(transport, mode=mode) as client:
            yield Agent(client)


def act(story: Coroutine[Any, Any, Any]) -> Any:
    """Run what agents do; what fails in it is raised as it was, and not as a group of groups."""
    try:
        return asyncio.run(story)
    except BaseExceptionGroup as group:
        raise _first_of(group) from None


def _first_of(group: BaseException) -> BaseException:
    return _first_of(group.exceptions[0]) if isinstance(group, BaseExceptionGroup) else group
