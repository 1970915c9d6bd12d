"""The tools of a graph for agents: MCP over HTTP, with this server's tokens, policies and limits."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from omnigraph.base.errors import BadInput, OmniError
from omnigraph.sdk.graph import Graph
from omnigraph.server.calls import GraphCall, GraphDep, WriteHeaders
from omnigraph.server.context import ClientGone, current_request
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.engine_route import note_commit

# It takes most of a second to import, which only servers pay that agents call.
if TYPE_CHECKING:
    from omnigraph.mcp.serving import HttpHost
    from omnigraph.mcp.source import ToolCaller

router = APIRouter(tags=["mcp"])


@router.post("/mcp", include_in_schema=False)
async def answer_agent(
    request: Request,
    call: GraphDep,
    read_only: Annotated[bool, Query(description="Whether only tools that read are there.")] = False,
) -> Response:
    """Answer a message of MCP about one graph."""
    await current_pool().run(call.open)  # a graph that there is not is told as everywhere
    host = await _find_host(request.app)
    return _Answer(host, _describe_caller(call, read_only or request.app.state.agents_read_only))


async def stop_host(app: FastAPI) -> None:
    """Stop what answers agents, if any ever called."""
    host: HttpHost | None = app.state.agents
    if host is not None:
        await host.stop()


async def _find_host(app: FastAPI) -> HttpHost:
    if app.state.agents is None:
        if find_spec("mcp") is None:
            raise BadInput("this server has no tools for agents: pip install 'omnigraph[mcp]' where it runs")
        made = await run_in_threadpool(_make_host)
        if app.state.agents is None:
            app.state.agents = made
            await made.start()
    found: HttpHost = app.state.agents
    await found.ready.wait()
    return found


def _make_host() -> HttpHost:
    from omnigraph.mcp.limits import ToolLimits
    from omnigraph.mcp.serving import HttpHost

    return HttpHost(ToolLimits.from_environment(), _run, (ClientGone,))


def _describe_caller(call: GraphCall, read_only: bool) -> ToolCaller:
    from omnigraph.mcp.source import RequestSource, ToolCaller

    def handle(key: str | None, branch: str | None) -> Graph:
        return call.open(branch, WriteHeaders(key, None))

    return ToolCaller(RequestSource(handle, read_only), call.caller.actor, read_only)


async def _run(call: Callable[[], Any], writes: bool) -> Any:
    """Run a call of the engine as routes do: in its threads, until nobody waits, and within limits."""
    request, pool = current_request(), current_pool()
    assert request is not None
    try:
        if not writes:
            return await pool.run(call)
        with pool.admission.admit(request.actor, request.body_bytes):
            done = await pool.run(call, writes=True)
            note_commit(done)
            return done
    except OmniError as error:
        request.code = error.code
        raise


class _Answer(Response):
    """What the host sends, when it is asked for it."""

    def __init__(self, host: HttpHost, caller: ToolCaller) -> None:
        super().__init__()
        self._host, self._caller = host, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._host.answer(self._caller, scope, receive, send)
