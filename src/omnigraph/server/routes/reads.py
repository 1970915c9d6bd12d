"""Asking: queries, plans, snapshots, exports."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query
from fastapi.responses import Response

from omnigraph.base.choices import refuse_branch_and_snapshot
from omnigraph.execution.export.export import resolve_types
from omnigraph.sdk.sharing import list_actions, list_rights
from omnigraph.sdk.snapshot import Snapshot
from omnigraph.server.answers import (
    answer_records,
    answer_result,
    answer_stream,
    answer_whole,
    choose_format,
)
from omnigraph.server.bodies import ExplainBody, ExportBody, QueryBody
from omnigraph.server.calls import GraphCall, GraphDep
from omnigraph.server.exactness import read_params
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.route_terms import reads_only
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.media import JSON
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["reads"])


@router.get("")
def show_graph(call: GraphDep, branch: str | None = None) -> dict[str, Any]:
    """Return which graph this is, and which branch a handle on it would work on."""
    graph = call.open(branch)
    graph.internals.check_any_allowed(graph.branch)
    ref = graph.internals.read_state().ref
    return {
        "graph": call.name,
        "id": graph.id,
        "branch": ref.name,
        "incarnation": ref.incarnation,
        "actor": graph.actor,
        "read_only": graph.read_only,
        "actions": sorted(list_actions(graph)),
    }


@router.get("/access")
def show_access(call: GraphDep) -> dict[str, Any]:
    """Return what the caller may do on each branch; who administers the graph is told it of every actor."""
    graph = call.open()
    graph.internals.check_any_allowed(graph.branch)
    rights = [
        {"actor": actor, "branches": {branch: sorted(actions) for branch, actions in on.items()}}
        for actor, on in list_rights(graph).items()
    ]
    return {"state": call.graphs.policies.state, "actors": rights}


@router.post("/query")
@reads_only
def run_query(call: GraphDep, body: QueryBody, accept: Annotated[str | None, Header()] = None) -> Response:
    """Run a read query; `Accept` chooses JSON, NDJSON or an Arrow stream."""
    given = {
        "gq": body.query,
        "params": read_params(body.params),
        **body.model_dump(include={"name", "branch", "snapshot", "timeout"}),
    }
    media_type = choose_format(accept)
    if media_type != JSON and body.stream:
        return answer_stream(call.open().stream(**given, batch_rows=body.batch_rows), media_type)
    result = call.open().query(**given, engine=body.engine, optimise=body.optimise)
    if media_type != JSON:
        return answer_whole(result, media_type)
    return answer_result(result, body.name, {"branch": body.branch, "snapshot": body.snapshot})


@router.post("/explain")
@reads_only
def explain_query(call: GraphDep, body: ExplainBody) -> dict[str, Any]:
    """Return the plan of a read query."""
    given = body.model_dump(exclude={"query"}) | {"params": read_params(body.params)}
    plan = call.open().explain(body.query, **given)
    return {"text": str(plan), "plan": encode(plan.to_json()), "explanation": encode(plan)}


@router.get("/snapshot")
def show_snapshot(
    call: GraphDep,
    branch: str | None = None,
    commit: str | None = None,
    version: Annotated[int | None, Query(ge=0)] = None,
    tag: str | None = None,
    timestamp: str | None = None,
) -> dict[str, Any]:
    """Return the tables of a commit, sorted by key."""
    seen = call.open().snapshot(branch, commit, version, tag, timestamp)
    tables = sorted(seen.tables, key=lambda table: table.key)
    distinct = seen.distinct
    return {
        "branch": seen.branch,
        "commit": seen.commit_id,
        "version": seen.version,
        "record": encode(seen.commit),
        "datasets": [encode(table) | {"distinct": encode(distinct.get(table.key, {}))} for table in tables],
    }


@router.post("/export/types")
@reads_only
def show_exported(call: GraphDep, body: ExportBody) -> dict[str, Any]:
    """Return which types an export would send, and of which commit."""
    seen = _export_snapshot(call, body)
    types = resolve_types(seen, body.type_names)
    names = {kind: [item.name for item in types if item.kind == kind] for kind in ("node", "edge")}
    return {"commit": seen.commit_id, "nodes": names["node"], "edges": names["edge"]}


@router.post("/export")
@reads_only
def export_graph(call: GraphDep, body: ExportBody) -> Response:
    """Send every node and edge, in the load format."""
    seen = _export_snapshot(call, body)
    resolve_types(seen, body.type_names)  # what is wrong is said before rows are sent
    records = call.open().export(snapshot=seen, types=body.type_names)
    return answer_records(records, seen.commit_id)  # type: ignore[arg-type]


def _export_snapshot(call: GraphCall, body: ExportBody) -> Snapshot:
    refuse_branch_and_snapshot(body.branch, body.snapshot)
    return call.open().snapshot(body.branch, commit=body.snapshot)
