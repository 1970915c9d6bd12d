"""Asking: queries, plans, snapshots, exports."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from omnigraph.server.answers import (
    answer_records,
    answer_result,
    answer_stream,
    ask_stream,
    choose_format,
)
from omnigraph.server.bodies import ExplainBody, ExportBody, QueryBody
from omnigraph.server.calls import GraphDep
from omnigraph.wire.media import JSON
from omnigraph.wire.values import encode

router = APIRouter(tags=["reads"])


@router.post("/query")
def run_query(call: GraphDep, body: QueryBody, accept: Annotated[str | None, Header()] = None) -> Response:
    """Run a read query; `Accept` chooses JSON, NDJSON or an Arrow stream."""
    given = body.model_dump(exclude={"query", "optimise", "engine"}) | {"gq": body.query}
    media_type = choose_format(accept)
    if media_type != JSON:
        return answer_stream(ask_stream(call.open(), given), media_type)
    result = call.open().query(**given, engine=body.engine, optimise=body.optimise)
    return answer_result(result, body.name, {"branch": body.branch, "snapshot": body.snapshot})


@router.post("/explain")
def explain_query(call: GraphDep, body: ExplainBody) -> dict[str, Any]:
    """Return the plan of a read query."""
    told = call.open().explain(body.query, **body.model_dump(exclude={"query"}))
    found: dict[str, Any] = encode(told.to_json())
    return {"text": str(told), "plan": found}


@router.get("/snapshot")
def show_snapshot(
    call: GraphDep,
    branch: str | None = None,
    commit: str | None = None,
    version: Annotated[int | None, Query(ge=0)] = None,
    tag: str | None = None,
) -> dict[str, Any]:
    """Return the tables of a commit, sorted by key."""
    seen = call.open().snapshot(branch, commit, version, tag)
    tables = sorted(seen.tables, key=lambda table: table.key)
    return {
        "branch": seen.branch,
        "commit": seen.commit_id,
        "version": seen.version,
        "datasets": [encode(table) for table in tables],
    }


@router.post("/export")
def export_graph(call: GraphDep, body: ExportBody) -> Response:
    """Send every node and edge, in the load format."""
    graph = call.open()
    seen = graph.snapshot(body.branch) if body.snapshot is None else graph.snapshot(commit=body.snapshot)
    records = graph.export(snapshot=seen, types=body.type_names)
    return answer_records(records, seen.commit_id)  # type: ignore[arg-type]
