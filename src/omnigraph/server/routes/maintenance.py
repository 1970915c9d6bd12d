"""Maintenance: optimize, cleanup, repair."""

from __future__ import annotations

from typing import Any

from omnigraph.graph.maintenance.health import describe_tables
from omnigraph.server.bodies import CleanupBody, EmbedBody, OptimizeBody, RepairBody
from omnigraph.server.calls import GraphDep, WriteDep
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["maintenance"])


@router.get("/tables")
def show_tables(call: GraphDep, branch: str | None = None) -> dict[str, Any]:
    """Return how the tables of a branch are stored: rows, fragments, indexes and what they do not know."""
    graph = call.open()
    graph.internals.check_sees_all("a look at how tables are stored")
    return {"tables": encode(describe_tables(graph.snapshot(branch)))}


@router.post("/optimize")
def optimize_graph(call: GraphDep, body: OptimizeBody) -> dict[str, Any]:
    """Join fragments, fold new rows into indexes and build declared ones."""
    graph = call.open()
    run = graph.ensure_indices if body.indexes_only else graph.optimize
    found: dict[str, Any] = encode(run(body.branch, engine=body.engine))
    return found


@router.post("/embed")
def embed_texts(call: GraphDep, headers: WriteDep, body: EmbedBody) -> dict[str, Any]:
    """Compute the missing vectors of `@embed` properties as one commit, or all with `reembed`."""
    found: dict[str, Any] = encode(call.open(headers=headers).embed(**body.model_dump()))
    return found


@router.post("/cleanup")
def clean_graph(call: GraphDep, body: CleanupBody) -> dict[str, Any]:
    """Drop old commits and remove files that nothing needs."""
    found: dict[str, Any] = encode(call.open().cleanup(**body.model_dump()))
    return found


@router.post("/repair")
def repair_graph(call: GraphDep, body: RepairBody) -> dict[str, Any]:
    """Verify the whole graph, and perhaps fix what needs no guess."""
    done = call.open().repair(body.confirm, scrub=body.scrub)
    found: dict[str, Any] = encode(done)
    return {**found, "ok": done.ok}
