"""The change feed: poll it, take a baseline, apply a block of another graph's."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from omnigraph.base.choices import FeedEvents
from omnigraph.server.answers import answer_records
from omnigraph.server.bodies import ApplyBody
from omnigraph.server.calls import GraphDep
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.route_terms import reads_only
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.server.routes.commits import PageSize, WantedDep
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["feed"])


@router.get("/changes")
def poll_changes(
    call: GraphDep,
    wanted: WantedDep,
    branch: str | None = None,
    cursor: str | None = None,
    start: str | None = None,
    page_token: str | None = None,
    limit: PageSize = None,
    max_bytes: PageSize = None,
    commits: PageSize = None,
    events: Annotated[list[FeedEvents] | None, Query()] = None,
) -> dict[str, Any]:
    """Return what a branch committed after a cursor; with `events` also what has happened to proposals."""
    page = call.open().changes.poll(
        branch=branch,
        cursor=cursor,
        start=start,
        page_token=page_token,
        **asdict(wanted),
        limit=limit,
        max_bytes=max_bytes,
        commits=commits,
        events=events,
    )
    data = page.to_json()
    for block, shown in zip(page.blocks, data["blocks"], strict=True):
        shown["version"] = block.version
    found: dict[str, Any] = encode(data | {"version": page.version})
    return found


@router.post("/changes/baseline")
@reads_only
def take_baseline(call: GraphDep, wanted: WantedDep, branch: str | None = None) -> Response:
    """Send every entity of a branch's head, then the cursor from which the feed continues."""
    graph = call.open()
    records = graph.changes.baseline(branch=branch, **asdict(wanted))
    return answer_records(records, graph.snapshot(branch).commit_id)  # type: ignore[arg-type]


@router.post("/changes/apply")
def apply_changes(call: GraphDep, body: ApplyBody) -> dict[str, Any]:
    """Carry out a block of another graph's feed on this one; one that is there already changes nothing."""
    commit = call.open().changes.apply(*body.parts, branch=body.branch, message=body.message)
    return {"commit": commit}
