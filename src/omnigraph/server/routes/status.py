"""How the server is: alive, ready, and its numbers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

import omnigraph
from omnigraph.base.errors import Unauthorized, Unavailable
from omnigraph.graph.manifest.format import CURRENT
from omnigraph.server.calls import KnownCaller, find_caller, graphs_of
from omnigraph.server.observe.metrics import MEDIA_TYPE
from omnigraph.server.policies import ServerState
from omnigraph.server.requests.paging import PageDep

router = APIRouter(tags=["server"])


@router.get("/healthz")
async def show_health(request: Request) -> dict[str, Any]:
    """Say that the server works, and to those who may list them, which graphs it could not open."""
    graphs = graphs_of(request)
    health: dict[str, Any] = {
        "status": "ok",
        "version": omnigraph.__version__,
        "internal_schema_version": CURRENT,
        "state": graphs.policies.state,
        "graphs_served": len(graphs.names),
        "graphs_quarantined": len(graphs.quarantined),
    }
    if graphs.revision is not None:
        health["revision"] = graphs.revision.number
        health["takes_over"] = request.app.state.served.problem is None
    if await _may_list(request):
        health["graphs"] = graphs.names
        health["quarantined"] = {name: item.error.code for name, item in graphs.quarantined.items()}
    return health


async def _may_list(request: Request) -> bool:
    """Return whether the caller, who needs no token here, may know which graphs there are."""
    graphs = graphs_of(request)
    try:
        return graphs.policies.may_list((await find_caller(request)).actor)
    except Unauthorized:
        return False


@router.get("/readyz")
async def show_readiness(request: Request) -> dict[str, Any]:
    """Say whether requests should be sent here; a worker that stops says 503 (`unavailable`)."""
    if request.app.state.stopping.is_set():
        raise Unavailable("this worker stops: ask another")
    return {"status": "ready"}


@router.get("/metrics", response_class=Response)
async def show_metrics(request: Request, caller: KnownCaller) -> Response:
    """Return the metrics of all workers, as Prometheus reads them."""
    state, graphs = request.app.state, graphs_of(request)
    if graphs.policies.state is ServerState.POLICY_ENABLED:  # it names graphs
        graphs.policies.check_list(caller.actor)
    state.metrics.set_gauges(state.pool.running, state.pool.admission.streams)
    return Response(await run_in_threadpool(state.metrics.render), media_type=MEDIA_TYPE)


@router.get("/graphs")
async def list_graphs(request: Request, caller: KnownCaller, page: PageDep) -> dict[str, Any]:
    """Return the names of the graphs that are served, sorted."""
    graphs = graphs_of(request)
    graphs.policies.check_list(caller.actor)
    return page.cut("graphs", graphs.names, lambda name: (name,))
