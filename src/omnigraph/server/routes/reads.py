"""Asking: queries, plans, snapshots, exports."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from omnigraph.server.answers import (
    answer_records,
    answer_result,
    answer_stream,
    answer_whole,
    choose_format,
)
from omnigraph.server.bodies import ExplainBody, ExportBody, QueryBody
from omnigraph.server.calls import GraphDep
from omnigraph.server.exactness import read_params
from omnigraph.server.requests.work import WorkRoute, reads_only
from omnigraph.wire.media import JSON
from omnigraph.wire.values import encode

router = APIRouter(route_class=WorkRoute, tags=["reads"])


@router.get("")
def show_graph(call: GraphDep, branch: str | None = None) -> dict[str, Any]:
    """Return which graph this is, and which branch a handle on it would work on."""
    graph = call.open(branch)
    ref = graph._state().ref
    return {
        "graph": call.name,
        "id": graph.id,
        "branch": ref.name,
        "incarnation": ref.incarnation,
        "actor": graph.actor,
        "read_only": graph.read_only,
    }


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
    told = call.open().explain(body.query, **given)
    return {"text": str(told), "plan": encode(told.to_json()), "explanation": encode(told)}


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
        "datasets": [encode(table) | {"distinct": encode(distinct.get(table.key, {}))} for table in tables],
    }


@router.post("/export")
@reads_only
def export_graph(call: GraphDep, body: ExportBody) -> Response:
    """Send every node and edge, in the load format."""
    graph = call.open()
    seen = graph.snapshot(body.branch) if body.snapshot is None else graph.snapshot(commit=body.snapshot)
    records = graph.export(snapshot=seen, types=body.type_names)
    return answer_records(records, seen.commit_id)  # type: ignore[arg-type]
